//! The rules for all results, for servers and for tools, from which the limits of a result follow.

use std::collections::BTreeMap;

use globset::{Glob, GlobMatcher};
use spillgate_artifact::Origin;

use crate::limits::{Limits, Rule};
use crate::present::{Profile, TemplateError, Templates};
use crate::redaction::Redaction;
use crate::references::ByReference;

/// Rules for all results, for servers and for tools.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    over: Rule,
    base: Rule,
    tools: Vec<(GlobMatcher, Rule)>,
    clients: Vec<(GlobMatcher, Rule)>,
    servers: BTreeMap<String, Policy>,
    templates: Templates,
    by_reference: ByReference,
}

impl Policy {
    /// Creates a policy from the rule for all results, rules for tools by glob patterns of their
    /// names, and rules for servers.
    pub fn new(
        base: Rule,
        tools: impl IntoIterator<Item = (String, Rule)>,
        servers: impl IntoIterator<Item = (String, Policy)>,
    ) -> Result<Self, globset::Error> {
        Ok(Self {
            over: Rule::default(),
            base,
            tools: by_pattern(tools)?,
            clients: Vec::new(),
            servers: servers.into_iter().collect(),
            templates: Templates::default(),
            by_reference: ByReference::default(),
        })
    }

    /// Returns a copy with rules for clients, by glob patterns of their names.
    pub fn with_clients(
        self,
        clients: impl IntoIterator<Item = (String, Rule)>,
    ) -> Result<Self, globset::Error> {
        let clients = by_pattern(clients)?;
        Ok(Self { clients, ..self })
    }

    /// Returns a copy with rules for arguments by reference, which name the tools that accept them.
    #[must_use]
    pub fn with_references(self, by_reference: ByReference) -> Self {
        Self {
            by_reference,
            ..self
        }
    }

    /// Returns the maximum bytes of each argument by reference in a call; `None` if the tool
    /// accepts none. The server's rules take precedence over the rules for all.
    #[must_use]
    pub fn by_reference(&self, origin: &Origin) -> Option<u64> {
        self.references(origin).bytes(&origin.tool)
    }

    /// Returns whether arguments by reference to this server contain secrets as they were stored.
    #[must_use]
    pub fn reveals_secrets(&self, origin: &Origin) -> bool {
        self.references(origin).reveals()
    }

    /// Returns the rules for arguments by reference to a server.
    fn references(&self, origin: &Origin) -> ByReference {
        let name = origin.server.as_ref();
        let server = name.and_then(|name| self.servers.get(name));
        let nearest = server.map_or_else(ByReference::default, |one| one.by_reference.clone());
        nearest.or(&self.by_reference)
    }

    /// Returns whether any tool may be called with arguments by reference.
    #[must_use]
    pub fn allows_references(&self) -> bool {
        let of_servers = self.servers.values().map(|server| &server.by_reference);
        let mut all = std::iter::once(&self.by_reference).chain(of_servers);
        all.any(ByReference::allows_any)
    }

    /// Returns a copy with the templates that its profiles may name. Fails if a profile names an
    /// unknown template.
    pub fn with_templates(self, templates: Templates) -> Result<Self, TemplateError> {
        for rule in self.rules() {
            rule.profile
                .iter()
                .try_for_each(|one| templates.check(one))?;
        }
        Ok(Self { templates, ..self })
    }

    /// Returns the templates that profiles may name.
    #[must_use]
    pub fn templates(&self) -> &Templates {
        &self.templates
    }

    /// Returns whether texts that belong to no result, such as errors, are redacted.
    pub(crate) fn redacts(&self) -> bool {
        let is_on = |redact: Option<Redaction>| redact.unwrap_or_default() != Redaction::Off;
        let of_some = |rule: &&Rule| rule.redact.is_some() && is_on(rule.redact);
        is_on(self.over.redact.or(self.base.redact)) || self.rules().iter().any(of_some)
    }

    /// Returns whether any rule uses the profile.
    #[must_use]
    pub fn uses(&self, profile: &Profile) -> bool {
        self.rules()
            .iter()
            .any(|rule| rule.profile.as_ref() == Some(profile))
    }

    /// Returns whether no rule uses another profile.
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

    /// Returns whether a binary block of any result of the server may become a link.
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

    /// Returns a copy with a rule that takes precedence for every result.
    #[must_use]
    pub fn under(self, over: Rule) -> Self {
        Self { over, ..self }
    }

    /// Returns the limits for a result. A rule for the tool of a server precedes the rule for the
    /// server, then a rule for the tool on any server, then the base rule.
    #[must_use]
    pub fn limits(&self, origin: &Origin) -> Limits {
        self.limits_for(origin, None)
    }

    /// Like [`limits`](Self::limits), for a client with this name. A rule for the client precedes
    /// only the base rule.
    #[must_use]
    pub fn limits_for(&self, origin: &Origin, client: Option<&str>) -> Limits {
        self.rule(origin, client).resolve()
    }

    fn rule(&self, origin: &Origin, client: Option<&str>) -> Rule {
        let server = origin
            .server
            .as_ref()
            .and_then(|name| self.servers.get(name));
        let of_server = server
            .map(|server| server.rule(origin, None))
            .unwrap_or_default();
        let of_tool = matching(&self.tools, &origin.tool);
        let of_client = client.map(|client| matching(&self.clients, client));
        let over = self.over.clone();
        over.or(of_server)
            .or(of_tool)
            .or(of_client.unwrap_or_default())
            .or(self.base.clone())
    }
}

/// Returns rules in the order of their precedence: a longer pattern is more specific.
fn by_pattern(
    rules: impl IntoIterator<Item = (String, Rule)>,
) -> Result<Vec<(GlobMatcher, Rule)>, globset::Error> {
    let mut rules = rules
        .into_iter()
        .map(|(pattern, rule)| Ok((Glob::new(&pattern)?.compile_matcher(), rule)))
        .collect::<Result<Vec<_>, globset::Error>>()?;
    rules.sort_by_key(|(glob, _)| std::cmp::Reverse(glob.glob().glob().len()));
    Ok(rules)
}

/// Returns the rules whose patterns match a name, combined.
fn matching(rules: &[(GlobMatcher, Rule)], name: &str) -> Rule {
    let matching = rules.iter().filter(|(glob, _)| glob.is_match(name));
    matching.fold(Rule::default(), |rule, (_, wider)| rule.or(wider.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ResultMode;

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
    fn a_client_precedes_only_the_rule_for_all() {
        let results = |results| Rule {
            results: Some(results),
            ..Rule::default()
        };
        let [preview, structured, whole] = [
            ResultMode::Preview,
            ResultMode::Structured,
            ResultMode::Whole,
        ];
        let server = Policy::new(results(preview), [("rows".into(), results(whole))], []);
        let policy = Policy::new(
            Rule::default(),
            [("read_*".into(), results(preview))],
            [("files".to_owned(), server.unwrap())],
        );
        let clients = [
            ("pctx*".into(), results(whole)),
            ("pctx-old".into(), results(structured)),
        ];
        let policy = policy.unwrap().with_clients(clients).unwrap();
        for (client, server, tool, want) in [
            (None, None, "list", preview),
            (Some("codex"), None, "list", preview),
            (Some("pctx"), None, "list", whole),
            (Some("pctx-old"), None, "list", structured),
            (Some("pctx"), None, "read_file", preview),
            (Some("pctx"), Some("files"), "list", preview),
            (Some("pctx"), Some("other"), "list", whole),
            (None, Some("files"), "rows", whole),
        ] {
            let limits = policy.limits_for(&origin(server, tool), client);
            assert_eq!(limits.results, want, "{client:?} {server:?} {tool}");
        }
    }

    #[test]
    fn a_rule_for_every_result_is_over_all() {
        let policy = Policy::new(tokens(10), [("read_*".into(), tokens(20))], []).unwrap();
        let limits = policy.under(tokens(0)).limits(&origin(None, "read_file"));
        assert_eq!(limits.tokens, None);
    }
}
