//! Values with a part that follows from the rest, and the layout of keys.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::secrets::random::{ALNUM, Random};

/// Returns 30 letters and the six digits in base 62 of their CRC-32, as GitHub and npm publish.
pub(super) fn with_crc(prefix: &str, random: &mut Random) -> String {
    let letters = random.letters(ALNUM, 30);
    let check = base62(crc32fast::hash(letters.as_bytes()), 6);
    format!("{prefix}{letters}{check}")
}

/// Returns a token of a service account of Grafana: 32 letters and the CRC-32 of the rest, the
/// lowest byte first.
pub(super) fn grafana(random: &mut Random) -> String {
    let letters = random.letters(ALNUM, 32);
    let check = crc32fast::hash(format!("glsa_{letters}").as_bytes()).swap_bytes();
    format!("glsa_{letters}_{check:08x}")
}

fn base62(mut number: u32, digits: usize) -> String {
    let mut reversed = vec![];
    for _ in 0..digits {
        let digit = usize::try_from(number % 62).expect("a digit");
        reversed.push(char::from(ALNUM.as_bytes()[digit]));
        number /= 62;
    }
    reversed.iter().rev().collect()
}

/// Returns a text in base64 for URLs, without the padding.
pub(super) fn base64_url(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(text)
}

/// Breaks a text of ASCII letters into lines of so many.
pub(super) fn in_columns(text: &str, columns: usize) -> String {
    let lines: Vec<&str> = text
        .as_bytes()
        .chunks(columns)
        .map(|line| std::str::from_utf8(line).expect("ASCII"))
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::base62;

    #[test]
    fn base62_counts_digits_then_capitals_then_small_letters() {
        for (number, text) in [
            (0, "000000"),
            (9, "000009"),
            (10, "00000A"),
            (61, "00000z"),
            (62, "000010"),
            (u32::MAX, "4gfFC3"),
        ] {
            assert_eq!(base62(number, 6), text);
        }
    }
}
