//! Finds the secrets of addresses and of cookies.

use std::ops::Range;

use crate::value::{is_placeholder, is_random};

/// The longest header with cookies, in bytes.
const MOST_COOKIES: usize = 4096;

/// Returns the password of an address such as `scheme://user:password@host` whose `://` is at
/// `at`, or the token of `scheme://token@host`.
pub(crate) fn find_in_url(text: &[u8], at: usize) -> Option<Range<usize>> {
    /// The longest user name and password.
    const MOST: usize = 512;
    if !at
        .checked_sub(1)
        .is_some_and(|before| text[before].is_ascii_alphanumeric())
    {
        return None;
    }
    let start = at + 3;
    let rest = &text[start..text.len().min(start + MOST)];
    let ends = |byte: &u8| {
        byte.is_ascii_whitespace()
            || matches!(
                byte,
                b'/' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'?' | b'#' | b'\\' | b',' | b')'
            )
    };
    let end = rest.iter().position(ends).unwrap_or(rest.len());
    let user = &rest[..memchr::memrchr(b'@', &rest[..end])?];
    let colon = user.iter().position(|it| *it == b':');
    let (from, secret) = match colon {
        Some(colon) => (colon + 1, &user[colon + 1..]),
        None => (0, user),
    };
    let known = [
        "password",
        "pass",
        "pwd",
        "passwd",
        "secret",
        "user",
        "x-oauth-basic",
        "token",
    ];
    let accepted = match colon {
        Some(_) => secret.len() >= 4 && !known.iter().any(|it| secret == it.as_bytes()),
        None => secret.len() >= 20 && is_random(secret, 3.0),
    };
    (accepted && !is_placeholder(secret)).then(|| start + from..start + from + secret.len())
}

/// Returns the values of the cookies in the header whose end of the name is at `at`.
pub(crate) fn find_in_cookies(text: &[u8], at: usize) -> Vec<Range<usize>> {
    let rest = &text[at..text.len().min(at + MOST_COOKIES)];
    let Some(colon) = rest.iter().position(|it| *it == b':') else {
        return Vec::new();
    };
    let start = at + colon + 1;
    let quote = text[at..start].contains(&b'"');
    let ends = |it: &u8| *it == b'\n' || *it == b'"' || (*it == b'\'' && !quote);
    let values = text[start..].iter().take(MOST_COOKIES);
    let skipped = values
        .take_while(|it| **it == b' ' || (quote && **it == b'"'))
        .count();
    let start = start + skipped;
    let rest = &text[start..text.len().min(start + MOST_COOKIES)];
    let rest = &rest[..rest.iter().position(ends).unwrap_or(rest.len())];
    let mut from = start;
    let cookies = rest.split(|it| *it == b';').filter_map(|cookie| {
        let first = from;
        from += cookie.len() + 1;
        let equals = cookie.iter().position(|it| *it == b'=')? + 1;
        let value = cookie[equals..].trim_ascii_end();
        let name = cookie[..equals - 1].trim_ascii_start();
        let is_cookie = !name.is_empty() && !name.contains(&b' ') && !value.contains(&b' ');
        let accepted =
            is_cookie && value.len() >= 16 && is_random(value, 3.0) && !is_placeholder(value);
        accepted.then(|| first + equals..first + equals + value.len())
    });
    cookies.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies() {
        let found = |text: &str| {
            let at = text.find("ookie").unwrap();
            let found = find_in_cookies(text.as_bytes(), at).into_iter();
            found.map(|it| text[it].to_owned()).collect::<Vec<_>>()
        };
        let id = "0wch3rvm2d3idxqhdyzqx1ulkpv0xk06";
        assert_eq!(
            found(&format!("Cookie: theme=dark; sessionid={id}; a=b")),
            [id]
        );
        assert_eq!(
            found(&format!("\"cookie\": \"sid={id}\", \"b\": \"sid={id}\"")),
            [id]
        );
        assert_eq!(
            found(&format!("Set-Cookie: sid={id}; Path=/; HttpOnly\nx={id}")),
            [id]
        );
        assert!(found(&format!("dcookie: u32 = {id};")).is_empty());
        assert!(found("Cookie: lang=en; theme=dark-and-very-long-name").is_empty());
    }

    #[test]
    fn addresses() {
        for (text, want) in [
            ("postgres://user:S3cr3t@host/db", Some("S3cr3t")),
            ("redis://:S3cr3t@host", Some("S3cr3t")),
            (
                "https://kJ8sWq2LpZ0aYxVb1c3d@github.com/x",
                Some("kJ8sWq2LpZ0aYxVb1c3d"),
            ),
            ("https://user@host/", None),
            ("https://host/a:b@c", None),
            ("postgres://user:password@host", None),
            ("postgres://user:${PASS}@host", None),
            ("http://host:8080/x@y", None),
        ] {
            let at = text.find("://").unwrap();
            let found = find_in_url(text.as_bytes(), at).map(|it| &text[it]);
            assert_eq!(found, want, "{text}");
        }
    }
}
