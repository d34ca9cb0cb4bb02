//! Tells the names of secrets from other names.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// What a name promises about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// People choose passwords: short, with few digits.
    Password,
    /// Programs make tokens, secrets and keys: long and random.
    Token,
    /// The value of a header: a scheme and credentials.
    Header,
}

/// Words after which a name does not name a secret itself.
const OTHER: [&[u8]; 64] = [
    b"bos",
    b"bucket",
    b"by",
    b"cache",
    b"cancel",
    b"cancellation",
    b"cls",
    b"collapse",
    b"column",
    b"completion",
    b"continuation",
    b"count",
    b"csrf",
    b"cursor",
    b"dedup",
    b"eos",
    b"foreign",
    b"forgot",
    b"get",
    b"has",
    b"hash",
    b"hide",
    b"id",
    b"idempotency",
    b"index",
    b"invalid",
    b"is",
    b"lexer",
    b"max",
    b"message",
    b"min",
    b"missing",
    b"next",
    b"no",
    b"num",
    b"object",
    b"pad",
    b"page",
    b"partition",
    b"prev",
    b"previous",
    b"pub",
    b"public",
    b"publishable",
    b"range",
    b"registry",
    b"request",
    b"reset",
    b"routing",
    b"row",
    b"sep",
    b"set",
    b"show",
    b"sort",
    b"special",
    b"stop",
    b"sync",
    b"total",
    b"trace",
    b"type",
    b"unk",
    b"use",
    b"wrong",
    b"xsrf",
];

/// Words that make a key a secret.
const KEYS: [&[u8]; 40] = [
    b"access",
    b"account",
    b"admin",
    b"aes",
    b"api",
    b"app",
    b"application",
    b"auth",
    b"cipher",
    b"client",
    b"consumer",
    b"crypto",
    b"decryption",
    b"deploy",
    b"encrypt",
    b"encryption",
    b"functions",
    b"hmac",
    b"ingest",
    b"integration",
    b"jwt",
    b"license",
    b"live",
    b"master",
    b"private",
    b"root",
    b"secret",
    b"security",
    b"server",
    b"service",
    b"session",
    b"shared",
    b"sign",
    b"signature",
    b"signing",
    b"ssh",
    b"storage",
    b"subscription",
    b"webhook",
    b"write",
];

/// Words that make a key a secret wherever they stand in its name.
const OWNERS: [&[u8]; 12] = [
    b"access",
    b"account",
    b"api",
    b"auth",
    b"decryption",
    b"encrypt",
    b"encryption",
    b"private",
    b"secret",
    b"sign",
    b"signature",
    b"signing",
];

/// Words that may follow the word for the secret.
const TAILS: [&[u8]; 30] = [
    b"admin",
    b"b64",
    b"base64",
    b"current",
    b"db",
    b"default",
    b"dev",
    b"development",
    b"encoded",
    b"env",
    b"live",
    b"main",
    b"new",
    b"old",
    b"plain",
    b"plaintext",
    b"primary",
    b"prod",
    b"production",
    b"raw",
    b"root",
    b"secondary",
    b"stage",
    b"staging",
    b"str",
    b"string",
    b"test",
    b"text",
    b"val",
    b"value",
];

/// The most bytes of a name.
const MOST_NAME: usize = 96;
/// The most words of a name.
const MOST_WORDS: usize = 16;

/// A name in lower case, split at separators and where the case changes.
struct Words {
    name: [u8; MOST_NAME],
    /// Where each word begins and ends.
    bounds: [(u8, u8); MOST_WORDS],
    count: usize,
}

impl Words {
    fn new(name: &[u8]) -> Option<Self> {
        let mut words = Self {
            name: [0; MOST_NAME],
            bounds: [(0, 0); MOST_WORDS],
            count: 0,
        };
        let lower = words.name.get_mut(..name.len())?;
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        let mut start = 0;
        for (index, byte) in name.iter().enumerate() {
            let previous = index.checked_sub(1).map_or(b'_', |it| name[it]);
            let next = name.get(index + 1);
            let camel = byte.is_ascii_uppercase()
                && (previous.is_ascii_lowercase()
                    || previous.is_ascii_digit()
                    || (previous.is_ascii_uppercase() && next.is_some_and(u8::is_ascii_lowercase)));
            let separator = !byte.is_ascii_alphanumeric();
            if camel || separator {
                words.push(start, index)?;
                start = index + usize::from(separator);
            }
        }
        words.push(start, name.len())?;
        Some(words)
    }

    fn push(&mut self, start: usize, end: usize) -> Option<()> {
        if start < end {
            let bounds = (u8::try_from(start).ok()?, u8::try_from(end).ok()?);
            *self.bounds.get_mut(self.count)? = bounds;
            self.count += 1;
        }
        Some(())
    }

    fn get(&self, index: usize) -> &[u8] {
        let (start, end) = self.bounds[index];
        &self.name[usize::from(start)..usize::from(end)]
    }
}

/// The lists that contain a word, as bits.
type Lists = u8;
const IS_OTHER: Lists = 1;
const IS_KEY: Lists = 2;
const IS_OWNER: Lists = 4;
const IS_TAIL: Lists = 8;

/// Returns whether a word is in a list.
fn is_in(word: &[u8], list: Lists) -> bool {
    static WORDS: OnceLock<Vec<(u128, Lists)>> = OnceLock::new();
    let words = WORDS.get_or_init(|| {
        let mut words: BTreeMap<u128, Lists> = BTreeMap::new();
        let lists: [(&[&[u8]], Lists); 4] = [
            (&OTHER, IS_OTHER),
            (&KEYS, IS_KEY),
            (&OWNERS, IS_OWNER),
            (&TAILS, IS_TAIL),
        ];
        for (list, bit) in lists {
            for word in list.iter().filter_map(|word| packed(word)) {
                *words.entry(word).or_default() |= bit;
            }
        }
        words.into_iter().collect()
    });
    packed(word).is_some_and(|word| {
        let index = words.binary_search_by_key(&word, |(word, _)| *word);
        index.is_ok_and(|index| words[index].1 & list != 0)
    })
}

/// Returns a word as a number: most texts have many names, and numbers are compared fast.
fn packed(word: &[u8]) -> Option<u128> {
    let mut bytes = [0; 16];
    bytes.get_mut(..word.len())?.copy_from_slice(word);
    Some(u128::from_le_bytes(bytes))
}

fn without_digits(word: &[u8]) -> &[u8] {
    let digits = word.iter().rev().take_while(|it| it.is_ascii_digit());
    &word[..word.len() - digits.count()]
}

/// Returns what a name promises about its value; `None` if it does not name a secret.
pub(crate) fn class_of(name: &[u8]) -> Option<Class> {
    let words = Words::new(name)?;
    let mut last = words.count.checked_sub(1)?;
    for _ in 0..2 {
        let word = words.get(last);
        let tail = is_in(word, IS_TAIL) || word.iter().all(u8::is_ascii_digit);
        last -= usize::from(tail && last > 0);
    }
    let before = || (0..last).map(|index| words.get(index));
    let class = class_of_word(without_digits(words.get(last)), before)?;
    let other = before().any(|word| is_in(word, IS_OTHER));
    (!other).then_some(class)
}

fn class_of_word<'a, I>(word: &'a [u8], before: impl Fn() -> I) -> Option<Class>
where
    I: DoubleEndedIterator<Item = &'a [u8]>,
{
    let ends = |ends: &[&[u8]]| ends.iter().any(|it| word.ends_with(it));
    // The last two letters set most words apart.
    let password: &[&[u8]] = match word {
        [.., b'r' | b'w', b'd'] => &[b"password", b"passwd", b"pwd"],
        [.., b's' | b'd', b'e'] => &[b"passphrase", b"passcode"],
        [.., b'p', b'w'] => &[b"bindpw", b"rootpw"],
        [.., b's', b'k'] => &[b"psk"],
        [.., b's', b's'] | [.., b'e', b'n' | b't' | b'y'] | [.., b'o', b'n'] | [.., b't', b'h'] => {
            &[]
        }
        _ => return None,
    };
    if ends(password) {
        return Some(Class::Password);
    }
    if let Some(owner) = word.strip_suffix(b"pass") {
        let owners: [&[u8]; 13] = [
            b"", b"db", b"user", b"my", b"admin", b"root", b"pg", b"smtp", b"mysql", b"redis",
            b"proxy", b"mail", b"ftp",
        ];
        return owners.contains(&owner).then_some(Class::Password);
    }
    if word.ends_with(b"token") || word.ends_with(b"secret") {
        return Some(Class::Token);
    }
    if let Some(owner) = word.strip_suffix(b"key") {
        let previous = before().next_back().unwrap_or_default();
        let owner = if owner.is_empty() { previous } else { owner };
        let owners: &[&[u8]] = &[
            b"api",
            b"secret",
            b"private",
            b"access",
            b"account",
            b"auth",
            b"encryption",
        ];
        let named = is_in(owner, IS_KEY) || owners.iter().any(|it| owner.ends_with(it));
        let owned = named || before().any(|it| is_in(it, IS_OWNER));
        return owned.then_some(Class::Token);
    }
    match word {
        b"authorization" => Some(Class::Header),
        b"auth" if before().next_back() != Some(b"no") => Some(Class::Token),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_lists_is_known() {
        assert!(OTHER.iter().all(|it| is_in(it, IS_OTHER)));
        assert!(KEYS.iter().all(|it| is_in(it, IS_KEY)));
        assert!(OWNERS.iter().all(|it| is_in(it, IS_OWNER)));
        assert!(TAILS.iter().all(|it| is_in(it, IS_TAIL)));
        assert!(!is_in(b"password", IS_OTHER));
    }

    #[test]
    fn names() {
        for (name, want) in [
            ("password", Some(Class::Password)),
            ("DB_PASSWORD_PROD", Some(Class::Password)),
            ("spring.datasource.password", Some(Class::Password)),
            ("userPass", Some(Class::Password)),
            ("accessToken", Some(Class::Token)),
            ("AWS_SECRET_ACCESS_KEY", Some(Class::Token)),
            ("x-api-key", Some(Class::Token)),
            ("APIKey2", Some(Class::Token)),
            ("Authorization", Some(Class::Header)),
            ("bypass", None),
            ("compass", None),
            ("password_file", None),
            ("tokenizer", None),
            ("nextPageToken", None),
            ("public_key", None),
            ("monkey", None),
            ("primary_key", None),
            ("", None),
            ("_", None),
        ] {
            assert_eq!(class_of(name.as_bytes()), want, "{name}");
        }
    }
}
