//! Finds the bodies of PEM private keys.

use std::ops::Range;

use memchr::memmem;

/// The most bytes of a key, from its first line to its last.
pub(crate) const MOST: usize = 32 << 10;
/// What stands before the private part of a key in the format of `PuTTY`.
const PUTTY: &[u8] = b"Private-Lines: ";
/// Letters of base64 in a line that is not the last line of a key.
const LINE: usize = 20;

/// Returns the ranges of the body of the private key whose `-----BEGIN ` is at `at`. There are
/// several if each line has a prefix, such as a line number, or is a string of its own. A key that
/// is cut off at the end of the text is found as well.
pub(crate) fn find(text: &[u8], at: usize) -> Vec<Range<usize>> {
    if text[at..].starts_with(PUTTY) {
        return putty(text, at + PUTTY.len());
    }
    let label_at = at + b"-----BEGIN ".len();
    let label = &text[label_at..text.len().min(label_at + 64)];
    let Some(dashes) = memmem::find(label, b"-----") else {
        return Vec::new();
    };
    if memmem::find(&label[..dashes], b"PRIVATE KEY").is_none() {
        return Vec::new();
    }
    let start = label_at + dashes + 5;
    let body = &text[start..text.len().min(start + MOST)];
    let next = memmem::find(body, b"-----BEGIN ");
    let body = &body[..next.unwrap_or(body.len())];
    let closed = memmem::find(body, b"-----END ");
    let body = &body[..closed.unwrap_or(body.len())];
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut strays = 0;
    for token in tokens(body) {
        // A prefix such as `key.pem:12:` is no part of the key.
        let letters = body[token.clone()]
            .iter()
            .rev()
            .take_while(|it| is_base64(**it))
            .count();
        let token = token.end - letters..token.end;
        let rest = &body[token.end..];
        let last = closed.is_some() && rest.len() < 64 && tokens(rest).all(|it| it.len() < LINE);
        let accepted = letters >= LINE
            || (letters > 0 && !ranges.is_empty() && (last || body[token.start] == b'='));
        if !accepted {
            strays += 1;
            // Without an end, other text follows the key sooner or later.
            if closed.is_none() && strays > 8 {
                break;
            }
            continue;
        }
        strays = 0;
        let token = start + token.start..start + token.end;
        match ranges.last_mut() {
            Some(range)
                if text[range.end..token.start]
                    .iter()
                    .all(u8::is_ascii_whitespace) =>
            {
                range.end = token.end;
            }
            _ => ranges.push(token),
        }
    }
    ranges
}

/// Returns the lines of the private part of a key of `PuTTY`, after `Private-Lines: `.
fn putty(text: &[u8], at: usize) -> Vec<Range<usize>> {
    let body = &text[at..text.len().min(at + MOST)];
    let end = memmem::find(body, b"Private-MAC").unwrap_or(body.len());
    let count = body.iter().take_while(|it| it.is_ascii_digit());
    let count = count.fold(0_usize, |count, it| {
        count
            .saturating_mul(10)
            .saturating_add(usize::from(it - b'0'))
    });
    let mut lines = tokens(&body[..end]).skip(1).filter_map(|token| {
        let line = body[token.clone()].iter().rev();
        let letters = line.take_while(|it| is_base64(**it)).count();
        (letters >= LINE).then(|| at + token.end - letters..at + token.end)
    });
    lines.by_ref().take(count.min(MOST)).collect()
}

fn is_between(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b',' | b'`' | b';' | b'\\')
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

fn tokens(body: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        at += body[at..].iter().take_while(|it| is_between(**it)).count();
        let length = body[at..].iter().take_while(|it| !is_between(**it)).count();
        let token = at..at + length;
        at = token.end;
        (length > 0).then_some(token)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: [&str; 3] = [
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7",
        "VJTUt9Us8cKjMzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDu",
        "9Us8=",
    ];

    #[test]
    fn bodies() {
        let key = |begin: &str, join: &str, end: &str| format!("{begin}{}{end}", LINES.join(join));
        let begin = "-----BEGIN RSA PRIVATE KEY-----";
        let end = "-----END RSA PRIVATE KEY-----";
        let cases = [
            (key(&format!("{begin}\n"), "\n", &format!("\n{end}\n")), 1),
            (
                key(&format!("{begin} "), " ", &format!(" {end} and more words")),
                1,
            ),
            (
                key(
                    &format!("[\"{begin}\",\""),
                    "\",\"",
                    &format!("\",\"{end}\"]"),
                ),
                3,
            ),
            (
                key(&format!("1: {begin}\n2: "), "\n3: ", &format!("\n5: {end}")),
                3,
            ),
            (
                key(
                    &format!("a.pem:1:{begin}\na.pem:2:"),
                    "\na.pem:3:",
                    &format!("\na.pem:5:{end}"),
                ),
                3,
            ),
            (
                key(
                    &format!("{begin}\nProc-Type: 4,ENCRYPTED\n\n"),
                    "\n",
                    &format!("\n{end}"),
                ),
                1,
            ),
            (key(&format!("{begin}\n"), "\n", ""), 1),
            (
                format!(
                    "Private-Lines: 2\n{}\n> {}\nPrivate-MAC: {}",
                    LINES[0], LINES[1], LINES[0]
                ),
                2,
            ),
            (format!("{begin}\n{end}"), 0),
            (
                key(
                    "-----BEGIN CERTIFICATE-----\n",
                    "\n",
                    "\n-----END CERTIFICATE-----",
                ),
                0,
            ),
            (
                key(
                    "-----BEGIN PUBLIC KEY-----\n",
                    "\n",
                    "\n-----END PUBLIC KEY-----",
                ),
                0,
            ),
        ];
        for (text, count) in cases {
            let at = text
                .find("-----BEGIN")
                .or(text.find("Private-Lines"))
                .unwrap();
            let ranges = find(text.as_bytes(), at);
            assert_eq!(ranges.len(), count, "{text}");
            if let Some(first) = ranges.first() {
                assert!(text[first.clone()].starts_with(LINES[0]), "{text}");
                let shown: String = ranges.iter().map(|it| &text[it.clone()]).collect();
                assert!(shown.contains(LINES[1]), "{text}");
            }
        }
    }
}
