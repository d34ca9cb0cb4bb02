//! Finds runs of base64 and decodes those parts of them that are text.

use std::ops::Range;

/// Letters of a run that is looked at; a shorter run cannot contain a secret.
const RUN: usize = 24;
/// Letters between the samples of a run.
const STEP: usize = 16;
/// Letters of a sample. Of 26 letters, 8 letters of a sample are part, in whichever alignment.
const SAMPLE: usize = 8;
/// The furthest that a run is followed on each side, in bytes.
const MOST_RUN: usize = 32 << 10;
/// The most bytes before a sample that are decoded: what is before them was searched with an
/// earlier sample.
const MOST_BEFORE: usize = 2 << 10;
/// The fewest letters of a line of wrapped base64.
const WRAPPED: usize = 56;
/// The most bytes between two lines of wrapped base64: a line end and an indentation.
const INDENT: usize = 24;
/// The fewest decoded bytes that are searched.
const SHORTEST: usize = 16;

/// The value of each letter of base64 and base64url; 64 and more are no letters.
static VALUES: [u8; 256] = values();

const fn values() -> [u8; 256] {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut values = [0xff; 256];
    let mut value = 0;
    while value < 64 {
        values[letters[value as usize] as usize] = value;
        value += 1;
    }
    values[b'-' as usize] = 62;
    values[b'_' as usize] = 63;
    values
}

/// Of each letter, whether it sets the highest bit of a decoded byte if it is the first (1), second
/// (2) or third (4) letter of a group. 0x80 for what is no letter.
static HIGH: [u8; 256] = high();

const fn high() -> [u8; 256] {
    let mut high = [0x80; 256];
    let mut byte = 0;
    while byte < 256 {
        let value = VALUES[byte];
        if value < 64 {
            high[byte] = (value & 0x20) >> 5 | (value & 0x08) >> 2 | (value & 0x02) << 1;
        }
        byte += 1;
    }
    high
}

/// Returns for each of four alignments whether the first two groups of a step can be ASCII; `None`
/// if not all bytes are letters.
fn possible(step: &[u8; STEP]) -> Option<u32> {
    let high = u128::from_le_bytes(step.map(|it| HIGH[usize::from(it)]));
    let bit = |bit: u8| u128::from_le_bytes([bit; STEP]);
    if high & bit(0x80) != 0 {
        return None;
    }
    let group = high & bit(1) | high >> 8 & bit(2) | high >> 16 & bit(4);
    let both = (group | group >> 32).to_le_bytes();
    let fits = |shift: usize| u32::from(both[shift] == 0) << shift;
    Some(fits(0) | fits(1) | fits(2) | fits(3))
}

fn is_letter(byte: u8) -> bool {
    VALUES[usize::from(byte)] < 64
}

/// Calls `found` with each part of a run that decodes to text, for the runs that have a sample in
/// `range`: a function that returns the range of the whole run, and the decoded part.
pub(crate) fn each(
    text: &[u8],
    range: Range<usize>,
    mut found: impl FnMut(&dyn Fn() -> Range<usize>, &[u8]),
) {
    let mut at = range.start;
    // Where the last part of each of the four alignments ends.
    let mut searched = [0; 4];
    while at < range.end {
        if !is_letter(text[at]) {
            at += RUN;
            continue;
        }
        // A run of at least 24 letters contains each 24th byte of the text.
        let before = text[..at].iter().rev().take(RUN);
        let before = before.take_while(|it| is_letter(**it)).count();
        let after = text[at..].iter().take(RUN);
        let after = after.take_while(|it| is_letter(**it)).count();
        if before + after < RUN {
            at += RUN;
            continue;
        }
        let start = at - before.min(at - range.start);
        at = run(text, start, range.end, &mut searched, &mut found);
    }
}

/// Looks at the run from `start` on and returns where to continue.
fn run(
    text: &[u8],
    start: usize,
    end: usize,
    searched: &mut [usize; 4],
    found: &mut impl FnMut(&dyn Fn() -> Range<usize>, &[u8]),
) -> usize {
    let mut at = start;
    while at < end {
        let step = text[at..].first_chunk::<STEP>();
        let possible = step.and_then(possible);
        if possible == Some(0) {
            at += STEP;
            continue;
        }
        let full = possible.is_some();
        let rest = text[at..].iter().take(STEP);
        let stop = at + rest.take_while(|it| is_letter(**it)).count();
        for shift in 0..4 {
            if possible.is_some_and(|it| it >> shift & 1 == 0) {
                continue;
            }
            // The last samples of a run end where the run ends.
            let first = match full {
                true => Some(at + shift),
                false => stop.checked_sub(SAMPLE + shift).filter(|it| *it >= start),
            };
            let Some(first) = first.filter(|it| *it >= searched[it % 4]) else {
                continue;
            };
            if is_text(&text[first..first + SAMPLE]) {
                let (part, decoded) = part(text, first);
                searched[first % 4] = part.end;
                if decoded.len() >= SHORTEST {
                    found(&|| whole(text, part.clone()), &decoded);
                }
            }
        }
        if !full {
            return stop + 1;
        }
        at += STEP;
    }
    at
}

/// Returns whether letters decode to printable ASCII text.
fn is_text(letters: &[u8]) -> bool {
    let groups = letters.chunks_exact(4);
    groups
        .map(decode)
        .all(|it| it.iter().all(|it| is_printable(*it)))
}

fn is_printable(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t')
}

fn decode(four: &[u8]) -> [u8; 3] {
    let value = |index: usize| u32::from(VALUES[usize::from(four[index])] & 63);
    let bits = value(0) << 18 | value(1) << 12 | value(2) << 6 | value(3);
    let [_, bytes @ ..] = bits.to_be_bytes();
    bytes
}

/// Returns the position of the letter after `at`, over the end of a line if the base64 is wrapped.
fn next(text: &[u8], at: usize) -> Option<usize> {
    let after = at + 1;
    let byte = *text.get(after)?;
    if is_letter(byte) {
        return Some(after);
    }
    if byte != b'\n' && byte != b'\r' {
        return None;
    }
    let line = text[..after].iter().rev().take(WRAPPED);
    if line.take_while(|it| is_letter(**it)).count() < WRAPPED {
        return None;
    }
    let gap = text[after..]
        .iter()
        .take(INDENT)
        .take_while(|it| it.is_ascii_whitespace())
        .count();
    text.get(after + gap)
        .filter(|it| is_letter(**it))
        .map(|_| after + gap)
}

/// Returns the position of the letter before `at`, over the end of a line if the base64 is wrapped.
fn previous(text: &[u8], at: usize) -> Option<usize> {
    let before = at.checked_sub(1)?;
    let byte = text[before];
    if is_letter(byte) {
        return Some(before);
    }
    if !byte.is_ascii_whitespace() {
        return None;
    }
    let gap = text[..at]
        .iter()
        .rev()
        .take(INDENT)
        .take_while(|it| it.is_ascii_whitespace())
        .count();
    if !text[at - gap..at].contains(&b'\n') {
        return None;
    }
    let line = text[..at - gap].iter().rev().take(WRAPPED);
    (line.take_while(|it| is_letter(**it)).count() == WRAPPED).then(|| at - gap - 1)
}

/// Returns the range of letters around `first` that decode to text in groups of four from `first`
/// on, and the decoded text.
fn part(text: &[u8], first: usize) -> (Range<usize>, Vec<u8>) {
    let group = |at: usize, step: &dyn Fn(&[u8], usize) -> Option<usize>| {
        let second = step(text, at)?;
        let third = step(text, second)?;
        let fourth = step(text, third)?;
        Some([at, second, third, fourth])
    };
    let bytes = |at: [usize; 4]| decode(&at.map(|at| text[at]));
    let mut before = Vec::new();
    let mut start = first;
    while first - start < MOST_BEFORE {
        let Some(last) = previous(text, start) else {
            break;
        };
        let Some(mut four) = group(last, &previous) else {
            break;
        };
        four.reverse();
        let decoded = bytes(four);
        if !decoded.iter().all(|it| is_printable(*it)) {
            break;
        }
        before.extend(decoded.iter().rev());
        start = four[0];
    }
    let mut decoded: Vec<u8> = before.into_iter().rev().collect();
    let mut at = Some(first);
    let mut end = first;
    while let Some(start) = at.filter(|at| at - first < MOST_RUN) {
        // Mostly, four letters are adjacent.
        let adjacent = text.get(start..start + 4);
        let adjacent = adjacent.filter(|it| it.iter().all(|it| is_letter(*it)));
        let four = match adjacent {
            Some(_) => Some([start, start + 1, start + 2, start + 3]),
            None => group(start, &next),
        };
        let Some(four) = four else {
            // The last two or three letters of a run.
            let mut rest = [b'A'; 4];
            let mut count = 0;
            let mut letter = Some(start);
            while let Some(at) = letter.filter(|_| count < 4) {
                rest[count] = text[at];
                count += 1;
                end = at + 1;
                letter = next(text, at);
            }
            let last = decode(&rest);
            decoded.extend(
                last[..count.saturating_sub(1)]
                    .iter()
                    .filter(|it| is_printable(**it)),
            );
            break;
        };
        let next_bytes = bytes(four);
        if !next_bytes.iter().all(|it| is_printable(*it)) {
            let kept = next_bytes.iter().take_while(|it| is_printable(**it));
            decoded.extend(kept);
            break;
        }
        decoded.extend(next_bytes);
        end = four[3] + 1;
        at = next(text, four[3]);
    }
    (start..end, decoded)
}

/// Extends a part to the whole run, with the padding, at most [`MOST_RUN`] on each side.
fn whole(text: &[u8], part: Range<usize>) -> Range<usize> {
    let mut start = part.start;
    while part.start - start < MOST_RUN
        && let Some(before) = previous(text, start)
    {
        start = before;
    }
    let mut end = part.end;
    while end > 0
        && end - part.end < MOST_RUN
        && let Some(after) = next(text, end - 1)
    {
        end = after + 1;
    }
    let padding = text[end..]
        .iter()
        .take(3)
        .take_while(|it| **it == b'=')
        .count();
    start..end + padding
}

/// Decodes a whole value of base64; `None` if it is not base64 or does not decode to text.
pub(crate) fn decode_text(letters: &[u8]) -> Option<Vec<u8>> {
    let letters = letters
        .strip_suffix(b"==")
        .or(letters.strip_suffix(b"="))
        .unwrap_or(letters);
    if !letters.iter().all(|it| is_letter(*it)) || letters.len() % 4 == 1 {
        return None;
    }
    let mut decoded = Vec::new();
    for four in letters.chunks(4) {
        let mut padded = [b'A'; 4];
        padded[..four.len()].copy_from_slice(four);
        decoded.extend(&decode(&padded)[..four.len() - 1]);
    }
    decoded
        .iter()
        .all(|it| is_printable(*it))
        .then_some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(bytes: &[u8]) -> String {
        let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut out = String::new();
        for three in bytes.chunks(3) {
            let mut padded = [0; 3];
            padded[..three.len()].copy_from_slice(three);
            let bits = padded
                .iter()
                .fold(0_u32, |bits, it| bits << 8 | u32::from(*it));
            for index in 0..4 {
                match index <= three.len() {
                    true => out.push(char::from(
                        letters[(bits >> (18 - 6 * index)) as usize & 63],
                    )),
                    false => out.push('='),
                }
            }
        }
        out
    }

    #[test]
    fn text_is_found_in_every_alignment_and_position() {
        let secret = "AKIAQ3EGXZ7LKTPNWB5M";
        for before in 0..60 {
            for inner in 0..7 {
                for prefix in ["", "a", "/ab", "x-y", " ", "\""] {
                    let encoded = encode(format!("{}{secret}", "k=".repeat(inner)).as_bytes());
                    let text = format!("{} {prefix}{encoded} and more", ".".repeat(before));
                    let mut hits = Vec::new();
                    each(text.as_bytes(), 0..text.len(), |run, decoded| {
                        if memchr::memmem::find(decoded, secret.as_bytes()).is_some() {
                            hits.push(text[run()].to_owned());
                        }
                    });
                    assert!(
                        hits.iter().any(|it| it.ends_with(&encoded)),
                        "{text} {hits:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn wrapped_base64_is_one_run() {
        let plain = format!(
            "{}\nAKIAQ3EGXZ7LKTPNWB5M\n{}",
            "line one\n".repeat(9),
            "x".repeat(90)
        );
        let encoded = encode(plain.as_bytes());
        for (width, join) in [(64, "\n"), (76, "\r\n"), (64, "\n      ")] {
            let lines: Vec<&str> = encoded
                .as_bytes()
                .chunks(width)
                .map(|it| std::str::from_utf8(it).unwrap())
                .collect();
            let text = format!("data:\n  x: {}\nend", lines.join(join));
            let mut runs = Vec::new();
            each(text.as_bytes(), 0..text.len(), |run, decoded| {
                if memchr::memmem::find(decoded, b"AKIAQ3EGXZ7LKTPNWB5M").is_some() {
                    runs.push(run());
                }
            });
            assert!(!runs.is_empty(), "{text}");
            assert!(
                runs.iter().all(|it| *it == (11..text.len() - 4)),
                "{runs:?} {}",
                text.len()
            );
        }
    }

    #[test]
    fn whole_values() {
        assert_eq!(
            decode_text(b"dXNlcjpwYXNz").as_deref(),
            Some(&b"user:pass"[..])
        );
        assert_eq!(
            decode_text(b"dXNlcjpwYXM=").as_deref(),
            Some(&b"user:pas"[..])
        );
        assert_eq!(decode_text(b"////"), None);
        assert_eq!(decode_text(b"abc d"), None);
    }

    proptest::proptest! {
        #[test]
        fn encoded_text_is_found(text in "[ -~\n]{24,200}", before in "[ a-z/]{0,40}") {
            let all = format!("{before}{}\"", encode(text.as_bytes()));
            let mut all_found = Vec::new();
            each(all.as_bytes(), 0..all.len(), |_, decoded| all_found.push(decoded.to_vec()));
            let found = all_found.iter().any(|it| memchr::memmem::find(it, text.as_bytes()).is_some());
            proptest::prop_assert!(found);
        }
    }
}
