//! The rules for which tools accept arguments by reference.
//!
//! A stored result can come from any server, so the user names each tool that may receive one. By
//! default no tool may.

use globset::{Glob, GlobSet, GlobSetBuilder};

/// Default limit of an argument by reference, in bytes: more than most servers take in one call,
/// and a hundred times what a model types.
pub const DEFAULT_REFERENCE_BYTES: u64 = 1 << 20;

/// The rules for all servers or for one. Unset fields are inherited.
#[derive(Debug, Clone, Default)]
pub struct ByReference {
    tools: Option<GlobSet>,
    most_bytes: Option<u64>,
    secrets: Option<bool>,
}

impl ByReference {
    /// Creates rules from glob patterns of tool names and the maximum size of an argument in bytes.
    /// An empty list allows no tool.
    pub fn new(tools: Option<&[String]>, most_bytes: Option<u64>) -> Result<Self, globset::Error> {
        let set = |patterns: &[String]| {
            let mut set = GlobSetBuilder::new();
            for pattern in patterns {
                set.add(Glob::new(pattern)?);
            }
            set.build()
        };
        Ok(Self {
            tools: tools.map(set).transpose()?,
            most_bytes,
            secrets: None,
        })
    }

    /// Returns a copy that says whether the arguments contain secrets as they were stored. By
    /// default they have marks in their place.
    #[must_use]
    pub fn with_secrets(self, secrets: Option<bool>) -> Self {
        Self { secrets, ..self }
    }

    pub(crate) fn or(self, wider: &Self) -> Self {
        Self {
            tools: self.tools.or_else(|| wider.tools.clone()),
            most_bytes: self.most_bytes.or(wider.most_bytes),
            secrets: self.secrets.or(wider.secrets),
        }
    }

    pub(crate) fn reveals(&self) -> bool {
        self.secrets.unwrap_or(false)
    }

    pub(crate) fn bytes(&self, tool: &str) -> Option<u64> {
        let tools = self.tools.as_ref()?;
        let most = self.most_bytes.unwrap_or(DEFAULT_REFERENCE_BYTES);
        tools.is_match(tool).then_some(most)
    }

    pub(crate) fn allows_any(&self) -> bool {
        self.tools.as_ref().is_some_and(|tools| !tools.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use spillgate_artifact::Origin;

    use super::*;
    use crate::{Policy, Rule};

    #[test]
    fn the_servers_list_is_before_the_one_for_all() {
        let rules = |tools: &[&str], bytes| {
            let tools: Vec<String> = tools.iter().map(|&tool| tool.to_owned()).collect();
            ByReference::new(Some(&tools), bytes).unwrap()
        };
        let server = |name: &str, rules| {
            let policy = Policy::default().with_references(rules);
            (name.to_owned(), policy)
        };
        let of_servers = [
            server("files", rules(&["write_*"], Some(7))),
            server("closed", rules(&[], None)),
            server("silent", ByReference::default()),
        ];
        let policy = Policy::new(Rule::default(), [], of_servers).unwrap();
        assert!(policy.allows_references());
        let policy = policy.with_references(rules(&["send"], Some(9)));
        for (server, tool, want) in [
            (Some("files"), "write_file", Some(7)),
            (Some("files"), "send", None),
            (Some("closed"), "send", None),
            (Some("silent"), "send", Some(9)),
            (Some("silent"), "write_file", None),
            (None, "send", Some(9)),
            (Some("other"), "sender", None),
        ] {
            let origin = Origin {
                server: server.map(str::to_owned),
                ..Origin::tool(tool)
            };
            assert_eq!(policy.by_reference(&origin), want, "{server:?} {tool}");
        }
    }

    #[test]
    fn by_default_none_may() {
        let policy = Policy::default();
        assert_eq!(policy.by_reference(&Origin::tool("send")), None);
        assert!(!policy.allows_references());
    }
}
