//! Tells secrets from placeholders, names and other ordinary values.

use std::sync::OnceLock;

use aho_corasick::AhoCorasick;

/// What the bytes of a value are.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) lower: usize,
    pub(crate) upper: usize,
    pub(crate) digits: usize,
    /// Neither letters nor digits nor the separators `-`, `_`, `.` and `/`.
    pub(crate) symbols: usize,
    pub(crate) spaces: usize,
}

impl Shape {
    pub(crate) fn of(value: &[u8]) -> Self {
        let mut shape = Self::default();
        for byte in value {
            match byte {
                b'a'..=b'z' => shape.lower += 1,
                b'A'..=b'Z' => shape.upper += 1,
                b'0'..=b'9' => shape.digits += 1,
                b' ' | b'\t' => shape.spaces += 1,
                b'-' | b'_' | b'.' | b'/' => {}
                _ => shape.symbols += 1,
            }
        }
        shape
    }

    pub(crate) fn letters(self) -> usize {
        self.lower + self.upper
    }
}

/// Returns the entropy of a value in bits per byte.
pub(crate) fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value {
        counts[usize::from(*byte)] += 1;
    }
    let all = value.len() as f64;
    let bits = counts.iter().filter(|count| **count > 0).map(|count| {
        let share = f64::from(*count) / all;
        -share * share.log2()
    });
    bits.sum()
}

/// Parts of values that stand in place of a secret in documents, examples and templates.
const PLACEHOLDERS: [&str; 27] = [
    "example",
    "changeme",
    "change_me",
    "change-me",
    "placeholder",
    "replace",
    "your_",
    "your-",
    "yourp",
    "yours",
    "yourt",
    "youra",
    "redacted",
    "insert",
    "dummy",
    "xxxx",
    "****",
    "....",
    "todo",
    "fixme",
    "<your",
    "not-a-",
    "${",
    "{{",
    "#{",
    "$(",
    "<%",
];

/// Values that are no secrets as a whole.
const WORDS: [&str; 44] = [
    "true",
    "false",
    "null",
    "none",
    "nil",
    "undefined",
    "string",
    "number",
    "integer",
    "boolean",
    "bool",
    "object",
    "array",
    "password",
    "passwd",
    "secret",
    "token",
    "apikey",
    "api_key",
    "required",
    "optional",
    "hidden",
    "masked",
    "secure",
    "unset",
    "empty",
    "default",
    "missing",
    "invalid",
    "expired",
    "enabled",
    "disabled",
    "prompt",
    "sensitive",
    "encrypted",
    "unknown",
    "pass",
    "text",
    "admin",
    "root",
    "user",
    "username",
    "bearer",
    "basic",
];

/// Returns whether a value stands in place of a secret: a variable, a template, stars, a word such
/// as `changeme`.
pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    let Some(first) = value.first() else {
        return true;
    };
    if value.iter().all(|byte| byte == first) {
        return true;
    }
    let has = |part: &[u8]| memchr::memmem::find(value, part).is_some();
    let variable = match first {
        b'$' => {
            has(b"{")
                || value
                    .get(1)
                    .is_some_and(|it| matches!(it, b'{' | b'(' | b'$'))
                || value[1..]
                    .iter()
                    .all(|it| it.is_ascii_alphabetic() || *it == b'_')
        }
        b'<' => value.last() == Some(&b'>') || has(b"> "),
        b'%' => {
            value.len() <= 3
                || (value.last() == Some(&b'%') && value.len() > 2)
                || matches!(value.get(1), Some(b'(' | b'{'))
        }
        b'{' => has(b"}"),
        b'[' => value.last() == Some(&b']') || has(b"[redacted"),
        b'@' => value.get(1) == Some(&b'{') || value.last() == Some(&b'@'),
        b'#' => value.get(1) == Some(&b'{'),
        b'!' => value.get(1).is_some_and(u8::is_ascii_uppercase) && has(b" "),
        _ => false,
    };
    if variable {
        return true;
    }
    let word = |word: &&str| value.eq_ignore_ascii_case(word.as_bytes());
    WORDS.iter().any(word)
        || placeholders().is_some_and(|it| it.is_match(&value[..value.len().min(64)]))
}

fn placeholders() -> Option<&'static AhoCorasick> {
    static PARTS: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    let build = || {
        let mut builder = AhoCorasick::builder();
        builder
            .ascii_case_insensitive(true)
            .build(PLACEHOLDERS)
            .ok()
    };
    PARTS.get_or_init(build).as_ref()
}

/// Returns whether a value is made of words: an identifier, a path, a name with a number at its
/// end. Such values name a secret rather than being one.
pub(crate) fn is_wordy(value: &[u8]) -> bool {
    let separator =
        |byte: &u8| matches!(byte, b'_' | b'-' | b'.' | b'/' | b':' | b' ' | b'@' | b',');
    let mut parts = 0;
    let all = value
        .split(separator)
        .filter(|part| !part.is_empty())
        .all(|part| {
            parts += 1;
            let digits = part.iter().filter(|it| it.is_ascii_digit()).count();
            let trailing = part
                .iter()
                .rev()
                .take_while(|it| it.is_ascii_digit())
                .count();
            (digits == trailing && digits <= 2 && reads_like_words(&part[..part.len() - digits]))
                || (digits == part.len() && digits <= 4)
        });
    all && parts > 0
}

/// Returns whether a value is a name of code that contains one or two numbers, such as
/// `x25519_private_key`.
pub(crate) fn is_identifier(value: &[u8]) -> bool {
    let digit = |it: &u8| it.is_ascii_digit();
    let separator = |it: &u8| matches!(it, b'_' | b'.');
    let mut numbers = 0;
    value
        .first()
        .is_some_and(|it| it.is_ascii_alphabetic() || *it == b'_')
        && value
            .iter()
            .all(|it| it.is_ascii_alphanumeric() || separator(it))
        && value.iter().any(separator)
        && value.split(separator).all(|part| {
            let before = part.iter().take_while(|it| !digit(it)).count();
            let digits = part[before..].iter().take_while(|it| digit(it)).count();
            let (first, last) = (&part[..before], &part[before + digits..]);
            numbers += usize::from(digits > 0);
            digits <= 5 && numbers <= 2 && reads_like_words(first) && reads_like_words(last)
        })
}

/// Returns whether a value is the version of a package, such as `1:4.13+dfsg1-1+deb12u1`, `v1.2.3`
/// or `0.80-14.fc39`.
pub(crate) fn is_version(value: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|it| it.is_ascii_digit()).count();
    // Debian writes an epoch before the version, others a `v`.
    let value = match digits(value) {
        epoch @ 1.. if value.get(epoch) == Some(&b':') => &value[epoch + 1..],
        _ => value.strip_prefix(b"v").unwrap_or(value),
    };
    let major = digits(value);
    let minor = value.get(major + 1..).map_or(0, digits);
    let sign = |it: &u8| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'-' | b'+' | b'~');
    major > 0 && value.get(major) == Some(&b'.') && minor > 0 && value.iter().all(sign)
}

/// Returns whether letters are in the order of words: `userName`, `HTTPServer`, `password`. Random
/// letters change their case often or have few vowels.
pub(crate) fn reads_like_words(letters: &[u8]) -> bool {
    if letters.is_empty() {
        return true;
    }
    if !letters.iter().all(u8::is_ascii_alphabetic) {
        return false;
    }
    let vowel = |byte: &u8| {
        matches!(
            byte.to_ascii_lowercase(),
            b'a' | b'e' | b'i' | b'o' | b'u' | b'y'
        )
    };
    let vowels = letters.iter().filter(|it| vowel(it)).count();
    let changes = letters
        .windows(2)
        .filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let changes = changes.count();
    let longest = letters.split(|it| vowel(it)).map(<[u8]>::len).max();
    let pronounceable =
        letters.len() < 5 || (vowels * 5 >= letters.len() && longest.unwrap_or(0) <= 5);
    let upper = letters.iter().filter(|it| it.is_ascii_uppercase()).count();
    pronounceable && changes * 4 <= letters.len() + 4 && (changes < 3 || upper * 3 <= letters.len())
}

/// Returns whether a value is random enough for a token: letters and digits, mixed.
pub(crate) fn is_random(value: &[u8], least: f64) -> bool {
    let shape = Shape::of(value);
    let mixed = (shape.digits > 0 && shape.letters() > 0)
        || (shape.lower > 2 && shape.upper > 2 && value.len() >= 16);
    mixed && entropy(value) >= least && !is_wordy(value)
}

/// Returns whether a value is a UUID.
pub(crate) fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders() {
        for value in [
            "",
            "xxxxxxxx",
            "********",
            "${DB_PASSWORD}",
            "$PASSWORD",
            "$(cat x)",
            "{{ secret }}",
            "<your-token>",
            "<token>",
            "changeme",
            "YOUR_API_KEY",
            "true",
            "%s",
            "%(password)s",
            "%DB_PASS%",
            "[redacted: password]",
            "#{ENV}",
            "my-example-key",
            "!Ref Secret x",
        ] {
            assert!(is_placeholder(value.as_bytes()), "{value}");
        }
        for value in ["hunter2", "S3cr3t!pass", "$ecret99", "a1b2c3", "%Tg7!x"] {
            assert!(!is_placeholder(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn words_and_random_values() {
        for value in [
            "user_password",
            "accessTokenSecret",
            "my-app-secret-v2",
            "config/secrets/db.yaml",
            "process.env.TOKEN",
            "HTTPServer2",
            "next page",
        ] {
            assert!(is_wordy(value.as_bytes()), "{value}");
        }
        for value in [
            "hunter2x9",
            "kJ8sWq2LpZ",
            "9f86d081884c7d65",
            "aGVsbG8gd29ybGQ",
            "xkcdqwrtzp",
        ] {
            assert!(!is_wordy(value.as_bytes()), "{value}");
        }
        for (value, want) in [
            ("x25519_private_key", true),
            ("generate_p256_key", true),
            ("a1b2_c3d4", false),
            ("kJ8sWq2LpZ0a_YxVb", false),
            ("hunter2", false),
        ] {
            assert_eq!(is_identifier(value.as_bytes()), want, "{value}");
        }
        for (value, want) in [
            ("1:4.13+dfsg1-1+deb12u1", true),
            ("v1.2.3", true),
            ("2.38", true),
            ("1.", false),
            ("12", false),
            (".5", false),
            ("1:x2.3", false),
            ("8.k9Xq", false),
            ("9.4x!Qz7", false),
        ] {
            assert_eq!(is_version(value.as_bytes()), want, "{value}");
        }
        assert!(is_random(b"kJ8sWq2LpZ0aYxVb", 3.0));
        assert!(!is_random(b"access_token_secret", 3.0));
        assert!(entropy(b"aaaa") < 0.01 && entropy(b"abcd") > 1.99);
    }
}
