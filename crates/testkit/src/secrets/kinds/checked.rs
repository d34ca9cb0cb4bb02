//! Values with a part that follows from the rest: checksums, and base64 of a text.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

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

/// Returns random bytes in base64, with the padding.
pub(super) fn random_base64(bytes: usize, random: &mut Random) -> String {
    STANDARD.encode(random.bytes(bytes))
}

/// Returns a text in base64, with the padding.
pub(super) fn base64(text: &str) -> String {
    STANDARD.encode(text)
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
