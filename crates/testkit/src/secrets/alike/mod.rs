//! Texts without a secret: the kinds, each with patterns for [`Random::fill`].

mod hashes;

use super::random::Random;
use super::{LookAlike, is_tuned};

/// How many texts show each kind.
const EACH: usize = 50;

/// A kind of text without a secret.
#[derive(Debug)]
struct Kind {
    name: &'static str,
    /// The texts of the kind take turns with these patterns.
    patterns: &'static [&'static str],
}

const fn kind(name: &'static str, patterns: &'static [&'static str]) -> Kind {
    Kind { name, patterns }
}

/// Makes all texts.
pub(super) fn all() -> impl Iterator<Item = LookAlike> {
    [hashes::KINDS]
        .into_iter()
        .flatten()
        .flat_map(|kind| (0..EACH).map(move |number| make(kind, number)))
}

fn make(kind: &Kind, number: usize) -> LookAlike {
    let name = format!("{}/{number:03}", kind.name);
    let mut random = Random::named(&name);
    let pattern = kind.patterns[number % kind.patterns.len()];
    LookAlike {
        text: random.fill(pattern),
        kind: kind.name,
        is_tuned: is_tuned(&name),
        name,
    }
}
