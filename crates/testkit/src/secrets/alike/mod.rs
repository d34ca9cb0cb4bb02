//! Texts without a secret: the kinds, each with patterns for [`Random::fill`].

mod code;
mod encoded;
mod hashes;
mod ids;
mod science;

use super::encoding::{base64, json, percent};
use super::filler::{Filler, lines};
use super::random::Random;
use super::{LookAlike, is_tuned};

/// How many texts show each kind.
const EACH: usize = 52;

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

type Wrap = fn(&str, &mut Random) -> String;

/// Ways to encode a text of another kind.
const WRAPS: &[(&str, Wrap)] = &[
    ("inside-json-string", |text, random| {
        random.fill("{\"@{word}\":\"@{name}\",\"stdout\":\"") + &json(text) + "\",\"exit_code\":0}"
    }),
    ("inside-json-twice", |text, random| {
        let inner = random.fill("{\"@{word}\":@{1-900},\"content\":\"") + &json(text) + "\"}";
        format!("{{\"stdout\":\"{}\"}}", json(&inner))
    }),
    ("inside-base64", |text, random| {
        let letters = base64(text);
        random.fill("{\"name\":\"@{word}\",\"content\":\"")
            + &letters
            + "\",\"encoding\":\"base64\"}"
    }),
    ("inside-url", |text, random| {
        random.fill("GET https://@{host}/@{word}?id=@{1-900}&text=") + &percent(text) + " 200\n"
    }),
    ("inside-colours", |text, random| {
        let text = text
            .replace('=', "\u{1b}[2m=\u{1b}[0m")
            .replace('\n', "\u{1b}[0m\n\u{1b}[32m");
        random.fill("\u{1b}[2m@{time}\u{1b}[0m \u{1b}[32m") + &text + "\u{1b}[0m\n"
    }),
];

/// Longer outputs: what also stands around the planted secrets.
const LONG: &[(&str, Filler)] = &[
    ("service-log", Filler::Log),
    ("shell-session", Filler::Shell),
    ("source-file", Filler::Code),
    ("environment", Filler::Settings),
];

/// The most bytes of a longer output (it may end a line later).
const LONGEST: usize = 4096;

/// Makes all texts.
pub(super) fn all() -> impl Iterator<Item = LookAlike> {
    let alone = kinds().flat_map(|kind| {
        (0..EACH)
            .map(move |number| look_alike(kind.name, number, |random| fill(kind, number, random)))
    });
    let wrapped = WRAPS.iter().flat_map(|&(name, wrap)| {
        (0..EACH).map(move |number| {
            look_alike(name, number, |random| {
                let kind = &code::KINDS[number % code::KINDS.len()];
                let text = fill(kind, random.below(kind.patterns.len()), random);
                wrap(&text, random)
            })
        })
    });
    let long = LONG.iter().flat_map(|&(name, filler)| {
        (0..EACH).map(move |number| {
            look_alike(name, number, |random| {
                let length = random.between(200, LONGEST);
                lines(filler, length, random)
            })
        })
    });
    alone.chain(wrapped).chain(long)
}

fn kinds() -> impl Iterator<Item = &'static Kind> {
    [
        hashes::KINDS,
        ids::KINDS,
        encoded::KINDS,
        science::KINDS,
        code::KINDS,
    ]
    .into_iter()
    .flatten()
}

fn fill(kind: &Kind, number: usize, random: &mut Random) -> String {
    random.fill(kind.patterns[number % kind.patterns.len()])
}

fn look_alike(
    kind: &'static str,
    number: usize,
    make: impl FnOnce(&mut Random) -> String,
) -> LookAlike {
    let name = format!("{kind}/{number:03}");
    LookAlike {
        text: make(&mut Random::named(&name)),
        kind,
        is_tuned: is_tuned(&name),
        name,
    }
}
