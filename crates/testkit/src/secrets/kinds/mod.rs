//! The kinds of secrets, each with a pattern or a function that makes one.

mod assigned;
mod chat;
mod checked;
mod cloud;
mod forge;
mod headers;
mod keys;
mod models;
mod operations;
mod payment;

use super::marked::Marked;
use super::random::Random;

/// What a detector can know a secret by, which decides where one stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A value that its own text gives away, such as `ghp_…`.
    Token,
    /// A value that only the name beside it gives away.
    Keyed,
    /// A text of one or many lines that says itself what the secret is.
    Whole,
}

/// How a kind makes a secret. In both cases `[[` and `]]` stand around the part that is secret, or
/// all of it is.
#[derive(Debug)]
enum Recipe {
    /// A pattern for [`Random::fill`].
    Pattern(&'static str),
    Made(fn(&mut Random) -> String),
}

/// A kind of secret.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// The name of such a secret in an environment.
    pub(super) key: &'static str,
    pub(super) form: Form,
    recipe: Recipe,
}

impl Kind {
    /// Makes a secret of this kind.
    pub(super) fn make(&self, random: &mut Random) -> Marked {
        let text = match self.recipe {
            Recipe::Pattern(pattern) => random.fill(pattern),
            Recipe::Made(make) => make(random),
        };
        Marked::read(&text)
    }
}

const fn kind(name: &'static str, key: &'static str, form: Form, recipe: Recipe) -> Kind {
    Kind {
        name,
        key,
        form,
        recipe,
    }
}

const fn token(name: &'static str, key: &'static str, pattern: &'static str) -> Kind {
    kind(name, key, Form::Token, Recipe::Pattern(pattern))
}

const fn keyed(name: &'static str, key: &'static str, pattern: &'static str) -> Kind {
    kind(name, key, Form::Keyed, Recipe::Pattern(pattern))
}

const fn whole(name: &'static str, key: &'static str, pattern: &'static str) -> Kind {
    kind(name, key, Form::Whole, Recipe::Pattern(pattern))
}

/// Returns all kinds.
pub(super) fn all() -> impl Iterator<Item = &'static Kind> {
    [
        cloud::KINDS,
        forge::KINDS,
        chat::KINDS,
        payment::KINDS,
        models::KINDS,
        operations::KINDS,
        keys::KINDS,
        headers::KINDS,
        assigned::KINDS,
    ]
    .into_iter()
    .flatten()
}
