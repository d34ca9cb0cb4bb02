//! User templates in minijinja (Jinja2's language).
//!
//! A template receives the result's figures and the same parts as a preview. Its output keeps to
//! the preview's token budget: first the tail, the head and the shape are dropped, then the text is
//! cut.

use std::collections::BTreeMap;
use std::sync::Arc;

#[cfg(feature = "templates")]
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, context};
#[cfg(feature = "templates")]
use spillgate_artifact::{ContentKind, Origin, Stats, Tokens};
#[cfg(feature = "templates")]
use spillgate_lookup::fitting;

#[cfg(feature = "templates")]
use super::holds_as_json;
use super::message::Parts;
use super::preview::{Preview, bounds, parts};
use super::{Message, Profile, Sizes, Strategy, Subject};
use crate::RetrieveError;
use crate::limits::Limits;

#[cfg(feature = "templates")]
/// Maximum rendering steps: a loop over everything a template receives takes some hundreds.
const FUEL: u64 = 50_000;

#[cfg(feature = "templates")]
/// Tokens of the line that says that a text was cut.
const CUT_TOKENS: u64 = 20;

/// The user's templates, by the name that a rule's profile refers to.
#[derive(Debug, Clone, Default)]
pub struct Templates {
    #[cfg(feature = "templates")]
    environment: Arc<Environment<'static>>,
    sources: Arc<BTreeMap<String, String>>,
}

/// An unusable template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// The template has the name of a built-in profile.
    #[error("the template `{0}` has the name of a built-in profile; call it something else")]
    Taken(String),
    /// The template does not parse, or names an undefined value.
    #[error("the template `{name}` is wrong: {message}")]
    Wrong {
        /// The template's name.
        name: String,
        /// The problem and its line.
        message: String,
    },
    /// A rule names a profile that is neither built in nor a template.
    #[error("unknown profile `{name}`; known are {known}")]
    Unknown {
        /// The name in the rule.
        name: String,
        /// The known names.
        known: String,
    },
}

impl Templates {
    #[cfg(feature = "templates")]
    /// Checks `sources`: renders each once with example values, so that a mistake is reported now
    /// and not only when a result has to be shown.
    pub fn new(sources: BTreeMap<String, String>) -> Result<Self, TemplateError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| AutoEscape::None); // it is no HTML
        environment.set_fuel(Some(FUEL));
        let templates = Self {
            environment: Arc::new(environment),
            sources: Arc::new(sources),
        };
        for (name, source) in &*templates.sources {
            if Profile::from(name.as_str()) != Profile::Template(name.as_str().into()) {
                return Err(TemplateError::Taken(name.clone()));
            }
            let rendered = templates.environment.render_str(source, example());
            let rendered = rendered.map_err(|error| told(&error));
            let wrong = match rendered {
                Err(message) => message,
                Ok(text) if !text.contains(EXAMPLE) => {
                    "it names neither `handle` nor `next`: what is stored could not be found from it"
                        .to_owned()
                }
                Ok(_) => continue,
            };
            return Err(TemplateError::Wrong {
                name: name.clone(),
                message: wrong,
            });
        }
        Ok(templates)
    }

    /// Refuses all templates, because this build cannot render them.
    #[cfg(not(feature = "templates"))]
    pub fn new(sources: BTreeMap<String, String>) -> Result<Self, TemplateError> {
        match sources.into_keys().next() {
            None => Ok(Self::default()),
            Some(name) => Err(TemplateError::Wrong {
                name,
                message: "this build has no templates: it lacks the feature `templates`".to_owned(),
            }),
        }
    }

    #[cfg(not(feature = "templates"))]
    #[expect(clippy::unused_self, reason = "the other builds need it")]
    fn render(&self, _: &str, _: &Subject<'_>, _: Parts) -> Option<Message> {
        None
    }

    /// Checks that `profile` is built in or one of these templates.
    pub(crate) fn check(&self, profile: &Profile) -> Result<(), TemplateError> {
        match profile {
            Profile::Template(name) if !self.sources.contains_key(&*name.0) => {
                let built_in = Profile::BUILT_IN.map(|profile| profile.to_string());
                let known = built_in.iter().chain(self.sources.keys());
                let known: Vec<&str> = known.map(String::as_str).collect();
                Err(TemplateError::Unknown {
                    name: name.0.chars().take(40).collect(),
                    known: known.join(", "),
                })
            }
            _ => Ok(()),
        }
    }

    #[cfg(feature = "templates")]
    /// Renders the template `name` for a result; `None` if it fails.
    fn render(&self, name: &str, subject: &Subject<'_>, mut parts: Parts) -> Option<Message> {
        let source = self.sources.get(name)?;
        let give_way: [fn(&mut Parts); 6] = [
            |_| {},
            |parts| parts.tail.clear(),
            |parts| parts.head.clear(),
            |parts| parts.first.clear(),
            |parts| parts.shape.clear(),
            |parts| parts.failure.clear(),
        ];
        let (bounds, counter) = (subject.bounds(subject.budget()), subject.counter());
        let (facts, handle) = (subject.facts(), subject.manifest.handle.to_string());
        let mut text = String::new();
        for give in give_way {
            give(&mut parts);
            let values = values(&facts.origin, &facts.stats, facts.is_error, &handle, &parts);
            text = self.environment.render_str(source, values).ok()?;
            let is_over = counter.exceeds(&text, bounds.tokens.get());
            if !is_over && holds_as_json(&text, bounds.json_bytes) {
                return Some(Message::Text(text, bounds));
            }
        }
        let room = bounds.tokens.less(CUT_TOKENS);
        let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
        text.truncate(fitting(&text, &ends, room, counter));
        text.push_str("\n[cut: the template is over its token budget]");
        Some(Message::Text(text, bounds))
    }
}

/// The name of a user template, used as a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateName(Arc<str>);

impl From<&str> for TemplateName {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

impl Strategy for TemplateName {
    fn name(&self) -> &str {
        &self.0
    }

    fn sizes(&self) -> Sizes {
        Preview.sizes()
    }

    fn is_budgeted(&self) -> bool {
        true
    }

    fn shows_outline(&self, _: &Limits) -> bool {
        true
    }

    fn message(&self, subject: &Subject<'_>) -> Result<Message, RetrieveError> {
        let parts = parts(subject)?;
        let rendered = subject.templates.render(&self.0, subject, parts.clone());
        let bounds = bounds(subject, &parts);
        Ok(rendered.unwrap_or(Message::Parts(Box::new(parts), bounds)))
    }
}

#[cfg(feature = "templates")]
/// Returns the values that a template can name; docs/profiles.md lists them.
fn values(origin: &Origin, stats: &Stats, is_error: bool, handle: &str, parts: &Parts) -> Value {
    context! {
        tool => origin.tool.clone(),
        server => origin.server.clone(),
        arguments => origin.arguments.clone(),
        handle => handle,
        is_error => is_error,
        bytes => stats.bytes,
        lines => stats.lines,
        chars => stats.chars,
        tokens => stats.tokens.count,
        tokens_exact => stats.tokens.exact,
        kind => stats.kind.to_string(),
        shape => [&*parts.failure, &*parts.shape].concat(),
        head => [&*parts.first, &*parts.head].concat(),
        tail => parts.tail.clone(),
        next => parts.next(),
    }
}

#[cfg(feature = "templates")]
/// The handle of the example values.
const EXAMPLE: &str = "session-x/y";

#[cfg(feature = "templates")]
fn example() -> Value {
    let origin = Origin {
        server: Some("server".to_owned()),
        arguments: Some("{}".to_owned()),
        ..Origin::tool("tool")
    };
    let stats = Stats {
        bytes: 1,
        lines: 1,
        chars: 1,
        tokens: Tokens::exact(1),
        kind: ContentKind::Text,
    };
    let line = || vec!["line".to_owned()];
    let next = vec![format!("look {EXAMPLE}")];
    let parts = Parts {
        headline: String::new(),
        failure: Vec::new(),
        shape: line(),
        head: line(),
        tail: line(),
        hints: next,
        ..Parts::default()
    };
    values(&origin, &stats, false, EXAMPLE, &parts)
}

#[cfg(feature = "templates")]
/// Describes the error and its line.
fn told(error: &minijinja::Error) -> String {
    let what = error
        .detail()
        .map_or_else(|| error.kind().to_string(), str::to_owned);
    match error.line() {
        Some(line) => format!("{what} (line {line})"),
        None => what,
    }
}

#[cfg(test)]
#[cfg(feature = "templates")]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn wrong(name: &str, source: &str) -> String {
        let sources = BTreeMap::from([(name.to_owned(), source.to_owned())]);
        Templates::new(sources).unwrap_err().to_string()
    }

    #[test]
    fn a_wrong_template_is_found_at_once() {
        let all = [
            wrong("mine", "{{ handle }"),
            wrong("mine", "{{ handel }}"),
            wrong("mine", "one\ntwo {% for x in shape %}"),
            wrong(
                "mine",
                "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
            ),
            wrong("preview", "x"),
            wrong("mine", "{{ tool }} gave {{ bytes }} bytes"),
        ];
        assert_snapshot!(all.join("\n"), @"
        the template `mine` is wrong: unexpected `}`, expected end of variable block (line 1)
        the template `mine` is wrong: undefined value (line 1)
        the template `mine` is wrong: unexpected end of input, expected end of block (line 2)
        the template `mine` is wrong: engine ran out of fuel (line 1)
        the template `preview` has the name of a built-in profile; call it something else
        the template `mine` is wrong: it names neither `handle` nor `next`: what is stored could not be found from it
        ");
    }
}
