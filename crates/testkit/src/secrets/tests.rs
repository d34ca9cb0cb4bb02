//! Tests of the planted secrets and of the texts without one.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::context::{self, Coding};
use super::{Planted, is_tuned, look_alikes, planted, whole, wrapped};

fn coding(planted: &Planted) -> Coding {
    let all = [context::PLAIN, whole::PLAIN, wrapped::ENCODED].concat();
    // `diff` and `stack-trace` exist for values and for whole texts; one coding contains the other.
    let mut found = all.iter().filter(|context| context.name == planted.context);
    let coding = found.next().expect("a known context").coding;
    found.next().map_or(coding, |second| second.coding)
}

/// Returns whether the bytes of the range hold the secret and nothing else.
fn holds(planted: &Planted) -> bool {
    let text = std::str::from_utf8(&planted.text).expect("UTF-8");
    let marked = &text[planted.range.clone()];
    let secret = &planted.secret;
    match coding(planted) {
        Coding::Plain => marked == secret,
        Coding::Prefixed => {
            let (got, want): (Vec<_>, Vec<_>) =
                (marked.lines().collect(), secret.lines().collect());
            got.len() == want.len()
                && got[0] == want[0]
                && got.iter().zip(&want).all(|(got, want)| got.ends_with(want))
        }
        Coding::Colours => {
            marked.replace("\u{1b}[m\n\u{1b}[32m+\u{1b}[m\u{1b}[32m", "\n") == *secret
        }
        Coding::Json(depth) => {
            let mut read = marked.to_owned();
            for _ in 0..depth {
                read = unescaped_json(&read);
            }
            read == *secret
        }
        Coding::Percent => unescaped_url(marked) == *secret,
        Coding::JsonInUrl => unescaped_json(&unescaped_url(marked)) == *secret,
        Coding::Python => unescaped_json(marked) == *secret,
        Coding::Base64 => in_base64(text, &planted.range, secret),
    }
}

fn unescaped_json(text: &str) -> String {
    serde_json::from_str(&format!("\"{text}\"")).expect("a JSON string")
}

fn unescaped_url(text: &str) -> String {
    let mut bytes = text.bytes();
    let mut read = vec![];
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
            let digits = std::str::from_utf8(&digits).unwrap();
            read.push(u8::from_str_radix(digits, 16).unwrap());
        } else {
            read.push(byte);
        }
    }
    String::from_utf8(read).unwrap()
}

/// Returns whether the letters of base64 around the range decode to a text in which the secret has
/// exactly the place that the range covers.
fn in_base64(text: &str, range: &std::ops::Range<usize>, secret: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "+/-_\n".contains(c);
    let start = text[..range.start]
        .rfind(|c| !is_letter(c))
        .map_or(0, |at| at + 1);
    let start = text[..range.start]
        .rfind("\n\n")
        .map_or(start, |at| start.max(at + 2));
    let end = range.end + text[range.end..].find(|c| !is_letter(c)).unwrap();
    let breaks = ["\n\n", "\ntype"].map(|next| {
        text[range.end..]
            .find(next)
            .unwrap_or(usize::MAX - range.end)
    });
    let end = breaks.iter().fold(end, |end, at| end.min(range.end + at));
    let letters = |part: &str| -> String {
        let letters = part.chars().filter(|c| *c != '\n');
        letters
            .map(|c| {
                if c == '-' {
                    '+'
                } else if c == '_' {
                    '/'
                } else {
                    c
                }
            })
            .collect()
    };
    let (before, marked) = (
        letters(&text[start..range.start]),
        letters(&text[range.clone()]),
    );
    let mut all = letters(&text[start..end]);
    while all.len() % 4 != 0 {
        all.push('=');
    }
    let bytes = STANDARD.decode(all).expect("base64");
    let decoded = String::from_utf8(bytes).expect("UTF-8");
    decoded.match_indices(secret).any(|(at, _)| {
        let (from, to) = (at * 8 / 6, ((at + secret.len()) * 8).div_ceil(6));
        from == before.len() && to == before.len() + marked.len()
    })
}

#[test]
fn every_range_holds_the_secret_or_its_encoding() {
    for case in planted() {
        assert!(!case.secret.is_empty(), "{}: no secret", case.name);
        let marked = String::from_utf8_lossy(&case.text[case.range.clone()]).into_owned();
        assert!(
            holds(&case),
            "{} ({}): {marked}\nis not\n{}",
            case.name,
            case.context,
            case.secret
        );
    }
}

#[test]
fn there_are_enough_secrets_in_enough_contexts() {
    let all = planted();
    assert!(all.len() >= 900, "{} secrets", all.len());
    let mut contexts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for case in &all {
        contexts.entry(case.kind).or_default().insert(case.context);
    }
    assert!(contexts.len() >= 40, "{} kinds", contexts.len());
    for (kind, contexts) in contexts {
        assert!(contexts.len() >= 8, "{kind}: {} contexts", contexts.len());
    }
    let encoded = all.iter().filter(|case| case.is_encoded).count();
    assert!(
        encoded * 5 >= all.len(),
        "{encoded} of {} are encoded",
        all.len()
    );
    let longest = all
        .iter()
        .map(|case| case.text.len() - case.range.len())
        .max();
    assert!(
        longest.is_some_and(|bytes| bytes > 2000 && bytes < 8192),
        "{longest:?} bytes of filler"
    );
}

#[test]
fn every_secret_stands_once_in_its_text() {
    for case in planted()
        .iter()
        .filter(|case| coding(case) == Coding::Plain)
    {
        let text = std::str::from_utf8(&case.text).unwrap();
        assert_eq!(text.matches(&case.secret).count(), 1, "{}", case.name);
    }
}

#[test]
fn no_hole_or_mark_of_a_pattern_is_left() {
    for case in planted() {
        assert!(
            !case.secret.contains("[[") && !case.secret.contains("]]"),
            "{}",
            case.name
        );
        assert!(
            !String::from_utf8_lossy(&case.text).contains("@{"),
            "{}",
            case.name
        );
    }
    for case in look_alikes() {
        assert!(!case.text.contains("@{"), "{}", case.name);
    }
}

#[test]
fn there_are_enough_texts_without_a_secret() {
    let all = look_alikes();
    assert!(all.len() >= 3000, "{} texts", all.len());
    let kinds: BTreeSet<&str> = all.iter().map(|case| case.kind).collect();
    assert!(kinds.len() >= 30, "{} kinds", kinds.len());
    assert!(all.iter().all(|case| !case.text.trim().is_empty()));
}

#[test]
fn names_are_unique_and_both_halves_are_large() {
    let planted: Vec<String> = planted().into_iter().map(|case| case.name).collect();
    let without: Vec<String> = look_alikes().into_iter().map(|case| case.name).collect();
    for names in [&planted, &without] {
        let unique: BTreeSet<&String> = names.iter().collect();
        assert_eq!(unique.len(), names.len());
        let tuned = names.iter().filter(|name| is_tuned(name)).count();
        let of = names.len();
        assert!(
            tuned * 5 >= of * 2 && (of - tuned) * 5 >= of * 2,
            "{tuned} of {of} are tuned"
        );
    }
    let both: BTreeSet<&String> = planted.iter().chain(&without).collect();
    assert_eq!(both.len(), planted.len() + without.len());
}

#[test]
fn the_first_digit_of_the_hash_chooses_the_half() {
    for name in ["a", "b", "c", "aws-access-key/000"] {
        let hash = format!("{:02x}", Sha256::digest(name.as_bytes())[0]);
        let first = hash.chars().next().and_then(|digit| digit.to_digit(16));
        assert_eq!(
            is_tuned(name),
            first.is_some_and(|digit| digit % 2 == 0),
            "{name}"
        );
    }
}

#[test]
fn all_texts_are_the_same_in_every_run() {
    let mut hash = Sha256::new();
    for case in planted() {
        hash.update(&case.name);
        hash.update(&case.text);
        hash.update(format!("{:?}", case.range));
    }
    for case in look_alikes() {
        hash.update(&case.name);
        hash.update(&case.text);
    }
    let digest: String = hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    insta::assert_snapshot!(digest, @"54b1aff9bd736ed1bda6ce0cbd00016afbabbe945a98f3a3fb4dee1517fa8072");
}
