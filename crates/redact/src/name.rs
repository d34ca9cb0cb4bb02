//! Tells the names of secrets from other names.

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
const OTHER: [&str; 64] = [
    "public",
    "publishable",
    "pub",
    "page",
    "next",
    "prev",
    "previous",
    "continuation",
    "sync",
    "csrf",
    "xsrf",
    "cursor",
    "max",
    "min",
    "num",
    "count",
    "total",
    "foreign",
    "cache",
    "sort",
    "partition",
    "range",
    "hash",
    "idempotency",
    "dedup",
    "type",
    "by",
    "is",
    "has",
    "use",
    "get",
    "set",
    "reset",
    "forgot",
    "show",
    "hide",
    "invalid",
    "wrong",
    "missing",
    "stop",
    "eos",
    "bos",
    "pad",
    "unk",
    "sep",
    "cls",
    "special",
    "cancellation",
    "cancel",
    "lexer",
    "completion",
    "id",
    "request",
    "trace",
    "object",
    "bucket",
    "row",
    "column",
    "index",
    "message",
    "routing",
    "collapse",
    "no",
    "registry",
];

/// Words that make a key a secret.
const KEYS: [&str; 40] = [
    "api",
    "access",
    "secret",
    "private",
    "account",
    "auth",
    "signing",
    "sign",
    "signature",
    "encryption",
    "encrypt",
    "decryption",
    "master",
    "session",
    "storage",
    "shared",
    "app",
    "application",
    "client",
    "license",
    "service",
    "admin",
    "ssh",
    "deploy",
    "webhook",
    "hmac",
    "jwt",
    "root",
    "server",
    "consumer",
    "subscription",
    "ingest",
    "write",
    "live",
    "integration",
    "functions",
    "aes",
    "security",
    "crypto",
    "cipher",
];

/// Words that may follow the word for the secret.
const TAILS: [&str; 30] = [
    "value",
    "val",
    "prod",
    "production",
    "dev",
    "development",
    "staging",
    "stage",
    "test",
    "live",
    "new",
    "old",
    "current",
    "primary",
    "secondary",
    "default",
    "b64",
    "base64",
    "encoded",
    "plain",
    "plaintext",
    "text",
    "string",
    "str",
    "main",
    "root",
    "admin",
    "db",
    "env",
    "raw",
];

/// Splits a name into its words: at separators and where the case changes.
fn words(name: &[u8]) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for (index, byte) in name.iter().enumerate() {
        let previous = index.checked_sub(1).map(|it| name[it]);
        let next = name.get(index + 1);
        let camel = byte.is_ascii_uppercase()
            && (previous.is_some_and(|it| it.is_ascii_lowercase() || it.is_ascii_digit())
                || (previous.is_some_and(|it| it.is_ascii_uppercase())
                    && next.is_some_and(u8::is_ascii_lowercase)));
        if camel || !byte.is_ascii_alphanumeric() {
            words.extend(Some(std::mem::take(&mut word)).filter(|it| !it.is_empty()));
        }
        if byte.is_ascii_alphanumeric() {
            word.push(char::from(byte.to_ascii_lowercase()));
        }
    }
    words.extend(Some(word).filter(|it| !it.is_empty()));
    words
}

/// Returns what a name promises about its value; `None` if it does not name a secret.
pub(crate) fn class_of(name: &[u8]) -> Option<Class> {
    let words = words(name);
    let is_tail = |word: &&String| {
        TAILS.contains(&word.as_str()) || word.bytes().all(|it| it.is_ascii_digit())
    };
    let tails = words.iter().rev().take_while(is_tail).count();
    let tails = tails.min(words.len().saturating_sub(1)).min(2);
    let (last, before) = words[..words.len() - tails].split_last()?;
    if before.iter().any(|word| OTHER.contains(&word.as_str())) {
        return None;
    }
    let previous = before.last().map_or("", String::as_str);
    let last = last.trim_end_matches(|it: char| it.is_ascii_digit());
    if [
        "password",
        "passwd",
        "passphrase",
        "passcode",
        "pwd",
        "bindpw",
        "rootpw",
        "psk",
    ]
    .iter()
    .any(|it| last.ends_with(it))
    {
        return Some(Class::Password);
    }
    if let Some(owner) = last.strip_suffix("pass") {
        let owners = [
            "", "db", "user", "my", "admin", "root", "pg", "smtp", "mysql", "redis", "proxy",
            "mail", "ftp",
        ];
        return owners.contains(&owner).then_some(Class::Password);
    }
    if last.ends_with("token") || last.ends_with("secret") {
        return Some(Class::Token);
    }
    if let Some(owner) = last.strip_suffix("key") {
        let owner = if owner.is_empty() { previous } else { owner };
        let known = KEYS.contains(&owner)
            || [
                "api",
                "secret",
                "private",
                "access",
                "account",
                "auth",
                "encryption",
            ]
            .iter()
            .any(|it| owner.ends_with(it));
        let vendor = before.iter().any(|it| KEYS[..12].contains(&it.as_str()));
        return (known || vendor).then_some(Class::Token);
    }
    match last {
        "authorization" => Some(Class::Header),
        "auth" => (previous != "no" && !name.is_empty()).then_some(Class::Token),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
