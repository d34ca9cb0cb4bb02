//! Texts with a planted secret and texts that only look as if they held one: they judge a detector
//! of secrets.
//!
//! A generator makes the secrets from the formats that their issuers publish: the right alphabets,
//! lengths, fixed parts and, where published, checksums. None is or was ever valid. The same
//! version of this crate always gives the same texts.

mod alike;
mod context;
mod encoding;
mod filler;
mod kinds;
mod marked;
mod random;
#[cfg(test)]
mod tests;
mod whole;
mod wrapped;

use std::ops::Range;

use sha2::{Digest, Sha256};

use context::{Context, Sample};
use kinds::{Form, Kind};
use random::Random;

/// How many plain and how many encoded contexts show each kind of secret.
const PLAIN_EACH: usize = 8;
const ENCODED_EACH: usize = 5;

/// A text with one planted secret.
#[derive(Debug, Clone)]
pub struct Planted {
    /// The kind and a number, such as `aws-access-key/003`. Each name stands for one text.
    pub name: String,
    /// What the secret is, such as `aws-access-key`.
    pub kind: &'static str,
    /// The secret, decoded: the part that must not be shown. Of a private key in PEM form this is
    /// the text between the lines `BEGIN` and `END`, of a URL only the password, of a webhook only
    /// the last part of its path. The breaks of a key's lines stay as its file writes them: in the
    /// JSON of a service account they are `\n`.
    pub secret: String,
    /// A text as a tool would print it. It is UTF-8.
    pub text: Vec<u8>,
    /// The bytes of `text` that hold the secret. Where a context encodes it, these are the encoded
    /// bytes: with escapes (JSON, Python, URL), with what the context puts at the start of
    /// each line (indentation, line numbers, `+`), or, in base64, all letters that hold a bit of
    /// the secret, with the line breaks between them.
    pub range: Range<usize>,
    /// Where the secret stands, such as `env` or `base64-wrapped`.
    pub context: &'static str,
    /// Whether the context is an escape, base64, URL encoding or has terminal colours.
    pub is_encoded: bool,
    /// Whether one may look at this case while improving a detector (see [`is_tuned`]).
    pub is_tuned: bool,
}

/// A text that holds no secret but looks as if it might.
#[derive(Debug, Clone)]
pub struct LookAlike {
    /// The kind and a number, such as `git-hash/003`. Each name stands for one text.
    pub name: String,
    /// What the text shows, such as `git-hash`.
    pub kind: &'static str,
    /// A text as a tool would print it.
    pub text: String,
    /// Whether one may look at this case while improving a detector (see [`is_tuned`]).
    pub is_tuned: bool,
}

/// Returns whether the case of this name belongs to the half that one may look at while improving a
/// detector: the first hex digit of the SHA-256 of the name is even.
#[must_use]
pub fn is_tuned(name: &str) -> bool {
    Sha256::digest(name.as_bytes())[0] >> 4 & 1 == 0
}

/// Returns all texts with a planted secret, sorted by kind as the kinds are listed.
#[must_use]
pub fn planted() -> Vec<Planted> {
    kinds::all()
        .enumerate()
        .flat_map(|(at, kind)| {
            contexts(at, kind)
                .enumerate()
                .map(move |(number, context)| plant(kind, number, context))
        })
        .collect()
}

/// Returns all texts without a secret, sorted by kind as the kinds are listed.
#[must_use]
pub fn look_alikes() -> Vec<LookAlike> {
    alike::all().collect()
}

/// Returns the contexts for the kind of secret at this place of the list. Neighbours get different
/// ones.
fn contexts(at: usize, kind: &Kind) -> impl Iterator<Item = &'static Context> {
    let (plain, encoded) = match kind.form {
        Form::Token | Form::Keyed => (context::PLAIN, wrapped::ENCODED),
        Form::Whole => (whole::PLAIN, wrapped::ENCODED),
    };
    let turn = |list: &'static [Context], count: usize| {
        (0..count).map(move |i| &list[(at * (count + 1) + i) % list.len()])
    };
    turn(plain, PLAIN_EACH).chain(turn(encoded, ENCODED_EACH))
}

fn plant(kind: &'static Kind, number: usize, context: &'static Context) -> Planted {
    let name = format!("{}/{number:03}", kind.name);
    let mut random = Random::named(&name);
    let value = kind.make(&mut random);
    let secret = value.secret.clone();
    let sample = Sample {
        key: kind.key,
        form: kind.form,
        value,
    };
    let marked = (context.write)(&sample, &mut random);
    let marked = filler::surround(marked, context.filler, &mut random);
    let start = marked.before.len();
    Planted {
        kind: kind.name,
        range: start..start + marked.secret.len(),
        secret,
        text: (marked.before + &marked.secret + &marked.after).into_bytes(),
        context: context.name,
        is_encoded: context.coding.is_encoded(),
        is_tuned: is_tuned(&name),
        name,
    }
}
