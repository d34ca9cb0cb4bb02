//! Steps of paths in JSON, and the container that two paths share.

use spillgate_text::push_key;

/// Longest key in bytes that a path may contain; a path through a longer key is left out.
pub(crate) const LONGEST_KEY: usize = 1000;
/// Marks a path that is to be left out; no JSON key contains this byte.
pub(crate) const UNTOLD: char = '\0';

/// Appends the step to a member of an object. `key` is a JSON string with its quotes, or the start
/// of one that is too long.
pub(crate) fn step_key(path: &mut String, key: &str) {
    match key.len() <= LONGEST_KEY {
        true => push_key(path, key),
        false => path.push(UNTOLD),
    }
}

/// Returns the path of the container that two paths share.
pub(crate) fn common_path(one: Option<String>, other: Option<&str>) -> Option<String> {
    let (one, other) = (one?, other?);
    let (mine, others) = (steps(&one), steps(other));
    let shared = mine
        .iter()
        .zip(&others)
        .take_while(|(a, b)| one[a.0..a.1] == other[b.0..b.1]);
    Some(match shared.last() {
        Some((last, _)) => one[..last.1].to_owned(),
        None => ".".to_owned(),
    })
}

/// Splits a path into its steps, each with its dot or bracket; returns their byte ranges.
fn steps(path: &str) -> Vec<(usize, usize)> {
    let (mut steps, mut start) = (Vec::new(), 0);
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, byte) in path.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b'.' | b'[' if !is_quoted && at > start && &path[start..at] != "." => {
                steps.push((start, at));
                start = at;
            }
            _ => {}
        }
    }
    steps.push((start, path.len()));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_share_whole_steps() {
        let cases = [
            (".a.b", ".a.c", ".a"),
            (".a.b", ".a.bc", ".a"),
            (".a[1].b", ".a[1].c[2]", ".a[1]"),
            (".a[1]", ".a[12]", ".a"),
            (r#".x."a.b".c"#, r#".x."a.b".d"#, r#".x."a.b""#),
            (r#".x."a.b""#, r#".x."a.c""#, ".x"),
            (".[0].a", ".[0].b", ".[0]"),
            (".a", ".b", "."),
        ];
        for (one, other, want) in cases {
            assert_eq!(
                common_path(Some(one.to_owned()), Some(other)).unwrap(),
                want,
                "{one} {other}"
            );
        }
    }
}
