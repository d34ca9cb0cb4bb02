//! The rules: those of `rules.toml`, with the user's rules added and some rules left out.

use std::fmt;
use std::sync::{Arc, OnceLock};

use regex::bytes::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::beginning::Beginning;
use crate::literals::Literals;

/// A rule of `rules.toml`.
struct BuiltIn {
    id: &'static str,
    literals: &'static [&'static str],
    finder: BuiltInFinder,
    before: usize,
    reach: Option<usize>,
    entropy: Option<f64>,
    credentials: bool,
    random: bool,
}

/// How a rule of `rules.toml` finds its secrets.
enum BuiltInFinder {
    Pattern(&'static str),
    Assignment,
    Cookie,
    PrivateKey,
    Url,
}

// The table `BUILT_IN`, made by the build script.
include!(concat!(env!("OUT_DIR"), "/rules.rs"));

/// The text of the rules that come with the program.
const SOURCE: &str = include_str!("rules.toml");
/// The version of the code that finds secrets. Raise it when the code finds more or less than before,
/// so that stored outputs are scanned again.
const SCANNER: u32 = 2;
/// Bits per byte that a secret has at least, unless its rule says otherwise.
const ENTROPY: f64 = 2.5;
/// Bytes from the literal on that a pattern may cover, unless its rule says otherwise.
const REACH: usize = 256;
/// The longest match of a user's rule, in bytes.
pub(crate) const USER_REACH: usize = 16 << 10;
/// The most bytes of a rule's id.
pub(crate) const MOST_ID: usize = 48;
/// The largest compiled pattern, in bytes.
const MOST_COMPILED: usize = 4 << 20;

/// A set of rules. A clone shares the rules.
#[derive(Clone)]
pub struct Rules(Set);

#[derive(Clone)]
enum Set {
    /// The rules that come with the program. They are made when they are first needed: a command
    /// whose result fits needs none.
    BuiltIn,
    /// Rules that a user changed.
    Changed(Arc<Compiled>),
}

pub(crate) struct Compiled {
    pub(crate) rules: Vec<Rule>,
    pub(crate) literals: Literals,
    /// The indices of the user's rules. They have no literals and are tried everywhere.
    pub(crate) user: Vec<u16>,
    fingerprint: u64,
}

pub(crate) struct Rule {
    pub(crate) id: Arc<str>,
    pub(crate) finder: Finder,
}

/// How a rule finds its secrets.
pub(crate) enum Finder {
    Pattern(Pattern),
    Assignment,
    Cookie,
    PrivateKey,
    Url,
}

pub(crate) struct Pattern {
    source: String,
    /// Compiled when it is first needed: a short command needs few of the patterns.
    compiled: OnceLock<Option<Regex>>,
    beginning: OnceLock<Beginning>,
    pub(crate) before: usize,
    pub(crate) reach: usize,
    pub(crate) entropy: f64,
    /// The secret is the base64 of `user:password`.
    pub(crate) credentials: bool,
    /// The secret must not be made of words.
    pub(crate) random: bool,
}

impl Pattern {
    fn new(source: &str, before: usize, reach: usize, entropy: f64) -> Self {
        Self {
            source: match before {
                0 => format!(r"\A(?:{source})"),
                _ => source.to_owned(),
            },
            compiled: OnceLock::new(),
            beginning: OnceLock::new(),
            before,
            reach,
            entropy,
            credentials: false,
            random: false,
        }
    }

    /// Returns whether the pattern can match at the beginning of a text. Ask this before the pattern is
    /// compiled.
    pub(crate) fn can_match(&self, text: &[u8]) -> bool {
        let beginning = || Beginning::of(&self.source);
        self.beginning.get_or_init(beginning).fits(text)
    }

    /// Returns the compiled pattern. A test checks that all built-in patterns compile.
    pub(crate) fn regex(&self) -> Option<&Regex> {
        self.compiled
            .get_or_init(|| compile(&self.source).ok())
            .as_ref()
    }
}

fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern)
        .unicode(false)
        .size_limit(MOST_COMPILED)
        .dfa_size_limit(MOST_COMPILED)
        .build()
}

/// A rule that a user adds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserRule {
    /// The name in marks and in counts: lower-case letters, digits and hyphens.
    pub id: String,
    /// The regular expression. If it has a group, the first group is the secret, otherwise the
    /// whole match is. It sees the text with JSON escapes, URL encoding and colours removed.
    pub pattern: String,
    /// Bits per byte that a secret has at least; 0 if not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entropy: Option<f64>,
}

/// The error for rules that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// The id does not fit into a mark.
    #[error(
        "the rule id {id:?} is not valid: use 1 to {MOST_ID} lower-case letters, digits and hyphens"
    )]
    Id {
        /// The id as it was given.
        id: String,
    },
    /// Two rules have the same id.
    #[error("there are two rules with the id {id:?}: rename one of them")]
    Duplicate {
        /// The id.
        id: String,
    },
    /// The pattern is not a regular expression, or too large.
    #[error("the pattern of the rule {id:?} is not valid: {source}")]
    Pattern {
        /// The rule.
        id: String,
        /// The reason.
        source: Box<regex::Error>,
    },
    /// The pattern matches the empty text and so would match everywhere.
    #[error(
        "the pattern of the rule {id:?} matches the empty text: make it match at least one byte"
    )]
    Empty {
        /// The rule.
        id: String,
    },
    /// The bound for the entropy is not between 0 and 8.
    #[error(
        "the entropy of the rule {id:?} is {entropy}: it must be between 0 and 8 bits per byte"
    )]
    Entropy {
        /// The rule.
        id: String,
        /// The bound as it was given.
        entropy: f64,
    },
    /// A rule that is to be left out does not exist.
    #[error("there is no rule with the id {id:?}: `spillgate redact --list-rules` lists all rules")]
    Unknown {
        /// The id as it was given.
        id: String,
    },
    /// There are too many rules.
    #[error("there are {count} rules: at most {most} are possible")]
    TooMany {
        /// The number of rules.
        count: usize,
        /// The largest possible number.
        most: usize,
    },
}

impl Rules {
    /// Returns the rules that come with the program.
    #[must_use]
    pub fn builtin() -> Self {
        Self(Set::BuiltIn)
    }

    /// Returns the rules, ready for a search.
    pub(crate) fn compiled(&self) -> &Compiled {
        static BUILT_IN_SET: OnceLock<Compiled> = OnceLock::new();
        match &self.0 {
            Set::BuiltIn => BUILT_IN_SET.get_or_init(|| Compiled::new(built_in(), &[])),
            Set::Changed(rules) => rules,
        }
    }

    /// Returns the built-in rules without the rules with the ids `disabled`, and with the user's
    /// rules.
    ///
    /// # Errors
    ///
    /// Fails if a rule of the user is not valid or a disabled rule does not exist.
    pub fn with(user_rules: &[UserRule], disabled: &[String]) -> Result<Self, RuleError> {
        if user_rules.is_empty() && disabled.is_empty() {
            return Ok(Self::builtin());
        }
        let mut rules = built_in();
        for id in disabled {
            let known = rules.iter().any(|(rule, _)| *rule.id == **id);
            if !known {
                return Err(RuleError::Unknown { id: id.clone() });
            }
        }
        rules.retain(|(rule, _)| !disabled.iter().any(|id| **id == *rule.id));
        let most = usize::from(u16::MAX);
        let count = rules.len() + user_rules.len();
        if count > most {
            return Err(RuleError::TooMany { count, most });
        }
        let mut user = Vec::new();
        for rule in user_rules {
            let taken = rules.iter().map(|(rule, _)| rule).chain(&user);
            let taken: Vec<&str> = taken.map(|rule: &Rule| &*rule.id).collect();
            user.push(checked(rule, &taken)?);
        }
        Ok(Self(Set::Changed(Arc::new(Compiled::with_user(
            rules, user,
        )))))
    }

    /// Returns the ids of all rules, the built-in rules first.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.compiled().rules.iter().map(|rule| &*rule.id)
    }

    /// Returns a number that differs between different sets of rules. Findings that were stored
    /// with another number are out of date.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.compiled().fingerprint
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules")
            .field("count", &self.compiled().rules.len())
            .finish()
    }
}

impl Compiled {
    fn new(rules: Vec<(Rule, RuleLiterals)>, user: &[u16]) -> Self {
        let mut fingerprint = Sha256::new();
        fingerprint.update(SCANNER.to_le_bytes());
        fingerprint.update(SOURCE);
        for (rule, _) in &rules {
            fingerprint.update(&*rule.id);
            fingerprint.update([0]);
            if let Finder::Pattern(pattern) = &rule.finder {
                fingerprint.update(&pattern.source);
                fingerprint.update([0]);
                fingerprint.update(pattern.entropy.to_bits().to_le_bytes());
            }
        }
        let fingerprint = fingerprint.finalize();
        let fingerprint = fingerprint
            .first_chunk()
            .map_or(0, |first| u64::from_le_bytes(*first));
        let literals = rules.iter().enumerate().flat_map(|(index, (_, literals))| {
            let index = u16::try_from(index).unwrap_or(u16::MAX);
            literals.iter().map(move |literal| (*literal, index))
        });
        Self {
            literals: Literals::new(literals),
            rules: rules.into_iter().map(|(rule, _)| rule).collect(),
            user: user.to_vec(),
            fingerprint,
        }
    }

    fn with_user(mut rules: Vec<(Rule, RuleLiterals)>, user: Vec<Rule>) -> Self {
        let first = rules.len();
        rules.extend(user.into_iter().map(|rule| (rule, &[][..])));
        let indices = first..rules.len();
        let indices: Vec<u16> = indices.filter_map(|index| index.try_into().ok()).collect();
        Self::new(rules, &indices)
    }
}

/// Checks a rule of a user and compiles its pattern.
fn checked(rule: &UserRule, taken: &[&str]) -> Result<Rule, RuleError> {
    let id = &rule.id;
    if !fits_a_mark(id) {
        return Err(RuleError::Id { id: id.clone() });
    }
    if taken.contains(&id.as_str()) {
        return Err(RuleError::Duplicate { id: id.clone() });
    }
    let entropy = rule.entropy.unwrap_or(0.0);
    if !(0.0..=8.0).contains(&entropy) {
        return Err(RuleError::Entropy {
            id: id.clone(),
            entropy,
        });
    }
    let regex = compile(&rule.pattern).map_err(|source| RuleError::Pattern {
        id: id.clone(),
        source: Box::new(source),
    })?;
    if regex.is_match(b"") {
        return Err(RuleError::Empty { id: id.clone() });
    }
    let mut pattern = Pattern::new("", 1, USER_REACH, entropy);
    pattern.source.clone_from(&rule.pattern);
    let _ = pattern.compiled.set(Some(regex));
    Ok(Rule {
        id: id.as_str().into(),
        finder: Finder::Pattern(pattern),
    })
}

fn fits_a_mark(id: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=MOST_ID).contains(&id.len())
        && id.bytes().all(inner)
        && !id.starts_with('-')
        && !id.ends_with('-')
}

/// The literals of a rule.
type RuleLiterals = &'static [&'static str];

/// Returns the rules that come with the program.
fn built_in() -> Vec<(Rule, RuleLiterals)> {
    let rules = BUILT_IN.iter().map(|rule| {
        let finder = match rule.finder {
            BuiltInFinder::Assignment => Finder::Assignment,
            BuiltInFinder::Cookie => Finder::Cookie,
            BuiltInFinder::PrivateKey => Finder::PrivateKey,
            BuiltInFinder::Url => Finder::Url,
            BuiltInFinder::Pattern(pattern) => Finder::Pattern(Pattern {
                credentials: rule.credentials,
                random: rule.random,
                ..Pattern::new(
                    pattern,
                    rule.before,
                    rule.reach.unwrap_or(REACH),
                    rule.entropy.unwrap_or(ENTROPY),
                )
            }),
        };
        let id = rule.id.into();
        (Rule { id, finder }, rule.literals)
    });
    rules.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_rule_compiles() {
        let rules = Rules::builtin();
        for (rule, _) in built_in() {
            assert!(fits_a_mark(&rule.id), "{}", rule.id);
            if let Finder::Pattern(pattern) = rule.finder {
                compile(&pattern.source).expect(&rule.id);
            }
        }
        let mut ids: Vec<&str> = rules.ids().collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), rules.ids().count());
    }

    #[test]
    fn rules_that_cannot_be_used_are_refused() {
        let rule = |id: &str, pattern: &str, entropy| UserRule {
            id: id.into(),
            pattern: pattern.into(),
            entropy,
        };
        let none: &[String] = &[];
        let cases: [(UserRule, &[String], &str); 8] = [
            (rule("a b", "x", None), none, "not valid: use 1 to 48"),
            (rule("", "x", None), none, "not valid: use 1 to 48"),
            (rule("x]", "x", None), none, "not valid: use 1 to 48"),
            (
                rule("jwt", "x", None),
                none,
                "two rules with the id \"jwt\"",
            ),
            (rule("x", "(", None), none, "pattern of the rule \"x\""),
            (rule("x", "y*", None), none, "matches the empty text"),
            (rule("x", "y", Some(9.0)), none, "between 0 and 8 bits"),
            (rule("x", "y", None), &["z".into()], "no rule with the id"),
        ];
        for (rule, disabled, want) in cases {
            let error = Rules::with(&[rule], disabled).unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
        }
        let rules = Rules::with(&[rule("jwt", "x", None)], &["jwt".into()]).unwrap();
        assert_eq!(rules.ids().last(), Some("jwt"));
        assert_ne!(rules.fingerprint(), Rules::builtin().fingerprint());
    }
}
