//! Decide: does it fit, and if not, what then?
//!
//! Pure: no clock, no randomness; the same result under the same rules gets the
//! same decision.

use std::collections::BTreeMap;

use globset::{Glob, GlobMatcher};
use serde::{Deserialize, Serialize};
use spillgate_artifact::{Origin, TokenBudget};
use spillgate_measure::ScanFacts;

use crate::measured::Measured;
use crate::present::{Profile, Sizes, TemplateError, Templates};
use crate::references::ByReference;

/// Tokens of a preview unless configured otherwise (wire.md).
pub const DEFAULT_PREVIEW_TOKENS: u64 = 600;

/// The least that a preview needs: its first line and two ways on, each with
/// the handle's some 50 tokens.
pub const LEAST_PREVIEW_TOKENS: u64 = 300;

/// Bytes of an image unless configured otherwise: it is sent to be seen, and a
/// screenshot of a large screen has fewer.
pub const DEFAULT_IMAGE_BYTES: u64 = 1 << 20;

/// Bytes of any other binary block unless configured otherwise. Clients that do
/// not know what to do with one give the model its base64, a third longer, of
/// which Codex cuts the middle beyond 10,000 bytes (deps.md).
pub const DEFAULT_BINARY_BYTES: u64 = 4 << 10;

/// Rules as they are written: for everything, a server or a tool. What is not
/// set is inherited.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rule {
    /// Offload results of more tokens; 0 is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Offload results of more bytes; 0 is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// Offload results of more lines; 0 is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_lines: Option<u64>,
    /// Offload results of more characters; 0 is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_chars: Option<u64>,
    /// How an oversized result is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Tokens that a preview may cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview_tokens: Option<u64>,
    /// Bytes over which an image, a sound or another binary block becomes a
    /// link; 0 is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_binary_bytes: Option<u64>,
    /// Whether an error of the `reject` profile ends with what is there and with calls
    /// that go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detailed_recovery: Option<bool>,
}

impl Rule {
    /// This rule, with what it leaves open taken from `wider`.
    #[must_use]
    pub fn or(self, wider: Self) -> Self {
        Self {
            max_tokens: self.max_tokens.or(wider.max_tokens),
            max_bytes: self.max_bytes.or(wider.max_bytes),
            max_lines: self.max_lines.or(wider.max_lines),
            max_chars: self.max_chars.or(wider.max_chars),
            profile: self.profile.or(wider.profile),
            preview_tokens: self.preview_tokens.or(wider.preview_tokens),
            max_binary_bytes: self.max_binary_bytes.or(wider.max_binary_bytes),
            detailed_recovery: self.detailed_recovery.or(wider.detailed_recovery),
        }
    }

    /// The rule that holds, with defaults for what nobody set.
    #[must_use]
    pub fn resolve(self) -> Limits {
        let on = |limit: Option<u64>| limit.filter(|&limit| limit > 0);
        let set = [
            self.max_tokens,
            self.max_bytes,
            self.max_lines,
            self.max_chars,
        ];
        let profile = self.profile.unwrap_or_default();
        // A limit of any kind that somebody set takes the place of the
        // profile's own.
        let sizes = match set.iter().all(Option::is_none) {
            true => profile.strategy().sizes(),
            false => Sizes {
                tokens: on(self.max_tokens),
                bytes: on(self.max_bytes),
                lines: on(self.max_lines),
                chars: on(self.max_chars),
            },
        };
        let preview = self.preview_tokens.unwrap_or(DEFAULT_PREVIEW_TOKENS);
        Limits {
            tokens: sizes.tokens,
            bytes: sizes.bytes,
            lines: sizes.lines,
            chars: sizes.chars,
            profile,
            preview: TokenBudget::new(preview.max(LEAST_PREVIEW_TOKENS)),
            image_bytes: on(self.max_binary_bytes.or(Some(DEFAULT_IMAGE_BYTES))),
            binary_bytes: on(self.max_binary_bytes.or(Some(DEFAULT_BINARY_BYTES))),
            detailed_recovery: self.detailed_recovery.unwrap_or(false),
        }
    }
}

/// The limits in force for one result; `None` is no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Most tokens.
    pub tokens: Option<u64>,
    /// Most bytes.
    pub bytes: Option<u64>,
    /// Most lines.
    pub lines: Option<u64>,
    /// Most characters.
    pub chars: Option<u64>,
    /// How an oversized result is shown.
    pub profile: Profile,
    /// What a preview may cost.
    pub preview: TokenBudget,
    /// Most bytes of an image.
    pub image_bytes: Option<u64>,
    /// Most bytes of any other binary block.
    pub binary_bytes: Option<u64>,
    /// Whether errors of the `reject` profile end with what is there (seed 004, 6.3).
    pub detailed_recovery: bool,
}

impl Limits {
    /// Whether so many bytes fit whatever they are: a character, a token or a
    /// line is at least a byte. The gateway's fast path.
    #[must_use]
    pub fn admit_any(&self, bytes: u64) -> bool {
        [self.tokens, self.bytes, self.lines, self.chars]
            .into_iter()
            .flatten()
            .all(|limit| bytes < limit)
    }

    /// Whether a message of so many bytes fits whatever is in it, binary blocks
    /// included: their bytes are fewer than those on the wire.
    #[must_use]
    pub fn admit_message(&self, bytes: u64) -> bool {
        let binary = [self.image_bytes, self.binary_bytes];
        self.admit_any(bytes) && binary.into_iter().flatten().all(|limit| bytes <= limit)
    }
}

/// Rules for everything, for servers and for tools.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    over: Rule,
    base: Rule,
    tools: Vec<(GlobMatcher, Rule)>,
    servers: BTreeMap<String, Policy>,
    templates: Templates,
    by_reference: ByReference,
}

impl Policy {
    /// The same rule for all results, then rules for tools by the pattern of
    /// their name and rules for servers.
    pub fn new(
        base: Rule,
        tools: impl IntoIterator<Item = (String, Rule)>,
        servers: impl IntoIterator<Item = (String, Policy)>,
    ) -> Result<Self, globset::Error> {
        let mut tools = tools
            .into_iter()
            .map(|(pattern, rule)| Ok((Glob::new(&pattern)?.compile_matcher(), rule)))
            .collect::<Result<Vec<_>, globset::Error>>()?;
        // The longer pattern says more.
        tools.sort_by_key(|(glob, _)| std::cmp::Reverse(glob.glob().glob().len()));
        Ok(Self {
            over: Rule::default(),
            base,
            tools,
            servers: servers.into_iter().collect(),
            templates: Templates::default(),
            by_reference: ByReference::default(),
        })
    }

    /// The same rules, with those for arguments by reference: which tools may
    /// be called with them.
    #[must_use]
    pub fn with_references(self, by_reference: ByReference) -> Self {
        Self {
            by_reference,
            ..self
        }
    }

    /// Bytes that each argument of a call may have that is given by reference,
    /// where such may be given: what the server's rules leave open, those for
    /// everything say.
    #[must_use]
    pub fn by_reference(&self, origin: &Origin) -> Option<u64> {
        let name = origin.server.as_ref();
        let server = name.and_then(|name| self.servers.get(name));
        let nearest = server.map_or_else(ByReference::default, |one| one.by_reference.clone());
        nearest.or(&self.by_reference).bytes(&origin.tool)
    }

    /// Whether any tool may be called with arguments by reference.
    #[must_use]
    pub fn allows_references(&self) -> bool {
        let of_servers = self.servers.values().map(|server| &server.by_reference);
        let mut all = std::iter::once(&self.by_reference).chain(of_servers);
        all.any(ByReference::allows_any)
    }

    /// The same rules, with the templates that their profiles may name. An
    /// error names one that there is not.
    pub fn with_templates(self, templates: Templates) -> Result<Self, TemplateError> {
        for rule in self.rules() {
            rule.profile
                .iter()
                .try_for_each(|one| templates.check(one))?;
        }
        Ok(Self { templates, ..self })
    }

    /// The templates that profiles may name.
    #[must_use]
    pub fn templates(&self) -> &Templates {
        &self.templates
    }

    /// Whether any rule shows results by that profile.
    #[must_use]
    pub fn uses(&self, profile: &Profile) -> bool {
        self.rules()
            .iter()
            .any(|rule| rule.profile.as_ref() == Some(profile))
    }

    /// Whether no rule shows results by any other profile.
    #[must_use]
    pub fn uses_only(&self, profile: &Profile) -> bool {
        let of_all = self.over.profile.as_ref();
        if let Some(one) = of_all.or(self.base.profile.as_ref())
            && one == profile
        {
            let mut others = self
                .rules()
                .into_iter()
                .filter_map(|rule| rule.profile.as_ref());
            return of_all.is_some() || others.all(|one| one == profile);
        }
        false
    }

    /// Whether a binary block of any result of that server may become a link.
    #[must_use]
    pub fn makes_links(&self, server: &str) -> bool {
        let nearest = [
            Some(&self.over),
            self.servers.get(server).map(|one| &one.base),
        ];
        let mut whole = nearest.into_iter().flatten().chain([&self.base]);
        let limit = whole.find_map(|rule| rule.max_binary_bytes);
        let mut rules = self.rules().into_iter();
        limit != Some(0) || rules.any(|rule| rule.max_binary_bytes.is_some_and(|limit| limit > 0))
    }

    fn rules(&self) -> Vec<&Rule> {
        let of_tools = self.tools.iter().map(|(_, rule)| rule);
        let of_servers = self.servers.values().flat_map(Self::rules);
        let own = [&self.over, &self.base];
        own.into_iter().chain(of_tools).chain(of_servers).collect()
    }

    /// The same rules, beneath one that holds for every result.
    #[must_use]
    pub fn under(self, over: Rule) -> Self {
        Self { over, ..self }
    }

    /// The limits for a result: a server's tool before the server, before a
    /// tool of any server, before the rest.
    #[must_use]
    pub fn limits(&self, origin: &Origin) -> Limits {
        self.rule(origin).resolve()
    }

    fn rule(&self, origin: &Origin) -> Rule {
        let server = origin
            .server
            .as_ref()
            .and_then(|name| self.servers.get(name));
        let of_server = server.map(|server| server.rule(origin)).unwrap_or_default();
        let matching = self
            .tools
            .iter()
            .filter(|(glob, _)| glob.is_match(&origin.tool));
        let of_tool = matching.fold(Rule::default(), |rule, (_, wider)| rule.or(wider.clone()));
        let over = self.over.clone();
        over.or(of_server).or(of_tool).or(self.base.clone())
    }
}

/// What happens to a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It passes through as it is.
    Inline {
        /// It is over a limit, but what could be shown instead is not clearly smaller.
        never_worse: bool,
    },
    /// It is stored, and something smaller is shown.
    Offload,
}

/// Decides about a result. `is_over` says whether it is over the limits where
/// that is not a matter of its stored text.
pub(crate) fn decide(measured: &Measured, limits: &Limits, is_over: Option<bool>) -> Decision {
    if measured.is_lost() {
        return Decision::Offload;
    }
    if !is_over.unwrap_or_else(|| is_oversized(measured, limits)) {
        return Decision::Inline { never_worse: false };
    }
    // What is shown takes at most half of the tokens, and has a least size.
    if limits.profile.is_budgeted() && !measured.exceeds_tokens(2 * LEAST_PREVIEW_TOKENS) {
        return Decision::Inline { never_worse: true };
    }
    Decision::Offload
}

/// Whether any set limit is strictly exceeded (SPEC 2.3).
pub(crate) fn is_oversized(measured: &Measured, limits: &Limits) -> bool {
    let scan = measured.sanitized.captured.scan;
    is_over(limits, &scan, |limit| measured.exceeds_tokens(limit))
}

/// The same of any text with that many bytes, lines and characters.
pub(crate) fn is_over(
    limits: &Limits,
    scan: &ScanFacts,
    exceeds_tokens: impl Fn(u64) -> bool,
) -> bool {
    let over = |limit: Option<u64>, size: u64| limit.is_some_and(|limit| size > limit);
    let strategy = limits.profile.strategy();
    let over_tokens = |limit| {
        let told = strategy.exceeds_tokens(scan, limit);
        told.unwrap_or_else(|| exceeds_tokens(limit))
    };
    over(limits.bytes, scan.bytes)
        || over(limits.lines, scan.lines())
        || over(limits.chars, scan.chars)
        || limits.tokens.is_some_and(over_tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::present::DEFAULT_MAX_TOKENS;

    fn tokens(max: u64) -> Rule {
        Rule {
            max_tokens: Some(max),
            ..Rule::default()
        }
    }

    fn origin(server: Option<&str>, tool: &str) -> Origin {
        Origin {
            server: server.map(str::to_owned),
            ..Origin::tool(tool)
        }
    }

    #[test]
    fn the_nearest_rule_holds() {
        let of_server = Policy::new(tokens(30), [("read_*".into(), tokens(40))], []).unwrap();
        let policy = Policy::new(
            tokens(10),
            [
                ("read_*".into(), tokens(20)),
                ("read_text_*".into(), tokens(25)),
            ],
            [("files".to_owned(), of_server)],
        )
        .unwrap();
        for (server, tool, want) in [
            (None, "list", 10),
            (None, "read_file", 20),
            (None, "read_text_file", 25),
            (Some("other"), "read_file", 20),
            (Some("files"), "list", 30),
            (Some("files"), "read_file", 40),
        ] {
            let limits = policy.limits(&origin(server, tool));
            assert_eq!(limits.tokens, Some(want), "{server:?} {tool}");
        }
    }

    #[test]
    fn a_rule_for_every_result_is_over_all() {
        let policy = Policy::new(tokens(10), [("read_*".into(), tokens(20))], []).unwrap();
        let limits = policy.under(tokens(0)).limits(&origin(None, "read_file"));
        assert_eq!(limits.tokens, None);
    }

    #[test]
    fn a_set_limit_takes_the_place_of_the_default() {
        let limits = |rule: Rule| {
            let limits = rule.resolve();
            (limits.tokens, limits.bytes)
        };
        assert_eq!(limits(Rule::default()), (Some(DEFAULT_MAX_TOKENS), None));
        assert_eq!(limits(tokens(0)), (None, None));
        let bytes = Rule {
            max_bytes: Some(7),
            ..Rule::default()
        };
        assert_eq!(limits(bytes.clone()), (None, Some(7)));
        assert_eq!(limits(bytes.or(tokens(9))), (Some(9), Some(7)));
    }

    #[test]
    fn few_bytes_are_admitted_unseen() {
        let limits = tokens(100).resolve();
        assert!(limits.admit_any(99) && !limits.admit_any(100));
        let unlimited = tokens(0).resolve();
        assert!(unlimited.admit_any(u64::MAX));
        assert!(unlimited.admit_message(4096) && !unlimited.admit_message(4097));
        assert!(!limits.admit_message(100));
        let all = Rule {
            max_binary_bytes: Some(0),
            ..tokens(0)
        };
        assert!(all.resolve().admit_message(u64::MAX));
    }

    #[test]
    fn one_limit_for_every_binary_block() {
        let limits = |max_binary_bytes| {
            let rule = Rule {
                max_binary_bytes,
                ..Rule::default()
            };
            let limits = rule.resolve();
            (limits.image_bytes, limits.binary_bytes)
        };
        assert_eq!(limits(None), (Some(1 << 20), Some(4 << 10)));
        assert_eq!(limits(Some(9)), (Some(9), Some(9)));
        assert_eq!(limits(Some(0)), (None, None));
    }
}
