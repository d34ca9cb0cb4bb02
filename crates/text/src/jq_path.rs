//! Writes positions in JSON as paths that jq understands.

/// Returns whether jq accepts a key without quotes.
#[must_use]
pub fn is_plain_key(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Appends the step that leads to a member of an object. `key` is a JSON string with its quotes,
/// which jq accepts unchanged.
pub fn push_key(path: &mut String, key: &str) {
    let name = key.strip_prefix('"').and_then(|key| key.strip_suffix('"'));
    path.push('.');
    path.push_str(name.filter(|name| is_plain_key(name)).unwrap_or(key));
}

/// Appends the step that leads to the elements `from..to` of an array, or to the single element
/// `from`.
pub fn push_elements(path: &mut String, from: u64, to: u64) {
    if path.is_empty() {
        path.push('.');
    }
    path.push_str(&match to.saturating_sub(from) {
        0 | 1 => format!("[{from}]"),
        _ => format!("[{from}:{to}]"),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps() {
        for (key, want) in [
            (r#""a""#, ".a"),
            (r#""_a1""#, "._a1"),
            (r#""1a""#, r#"."1a""#),
            (r#""a-b""#, r#"."a-b""#),
            ("\"\"", ".\"\""),
            (r#""ä""#, r#"."ä""#),
            (r#""a\"""#, r#"."a\"""#),
            (r#""\u0061""#, r#"."\u0061""#),
        ] {
            let mut path = String::new();
            push_key(&mut path, key);
            assert_eq!(path, want);
        }
        let mut path = String::new();
        push_elements(&mut path, 0, 1);
        push_key(&mut path, r#""a""#);
        push_elements(&mut path, 2, 5);
        assert_eq!(path, ".[0].a[2:5]");
    }
}
