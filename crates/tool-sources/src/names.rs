//! Chooses the names under which tools are offered to a model.
//!
//! A tool keeps its own name if possible. The APIs of models accept names of up to 64 letters,
//! digits, `_` and `-`. If two hosts have tools of the same name, or a name belongs to the
//! session's own tools, the host's name is put in front. Once a tool has a name, the name never
//! changes, because the model may use it at any time.

use std::collections::{BTreeMap, BTreeSet};

use spillgate_agent::RESERVED;

/// Maximum length of a name that the APIs of models accept, in characters.
const MOST: usize = 64;

/// Separates the host's name from the tool's name.
const JOINT: &str = "__";

/// Returns `name` with only the characters that the APIs of models accept, cut to their maximum
/// length.
pub(crate) fn fitting(name: &str) -> String {
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() || c == '-' || c == '_' => c,
        _ => '_',
    };
    let fitting: String = name.chars().map(plain).take(MOST).collect();
    match fitting.is_empty() {
        true => "_".to_owned(),
        false => fitting,
    }
}

/// A tool: the index of its host, and its own name.
type Tool = (usize, String);

/// The names that were given to tools so far.
#[derive(Debug, Default)]
pub(crate) struct ToolNames {
    /// Names that tools of several hosts have, or that are reserved. No tool gets such a name
    /// without a prefix.
    contested: BTreeSet<String>,
    given: BTreeMap<Tool, String>,
    owners: BTreeMap<String, Tool>,
}

impl ToolNames {
    /// Prepares names. `hosts` are the tools that each host has at first.
    pub(crate) fn new(hosts: &[Vec<String>]) -> Self {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let mut contested: BTreeSet<String> = RESERVED.iter().map(ToString::to_string).collect();
        for (host, tools) in hosts.iter().enumerate() {
            for tool in tools {
                let before = seen.insert(fitting(tool), host);
                if before.is_some_and(|before| before != host) {
                    contested.insert(fitting(tool));
                }
            }
        }
        Self {
            contested,
            ..Self::default()
        }
    }

    /// Returns the name of the tool `tool` of the host `host`, which has the index `place`.
    pub(crate) fn of(&mut self, place: usize, host: &str, tool: &str) -> String {
        let key = (place, tool.to_owned());
        if let Some(known) = self.given.get(&key) {
            return known.clone();
        }
        let is_free =
            |name: &String| !self.owners.contains_key(name) && !self.contested.contains(name);
        let alone = Some(fitting(tool)).filter(&is_free);
        let name = alone.unwrap_or_else(|| {
            let prefixed = fitting(&format!("{host}{JOINT}{tool}"));
            let numbered = (2..).map(|n: u32| {
                let end = format!("_{n}");
                let start: String = prefixed.chars().take(MOST - end.len()).collect();
                start + &end
            });
            let mut all = std::iter::once(prefixed.clone()).chain(numbered);
            all.find(is_free)
                .expect("invariant: there are more numbers than names")
        });
        self.given.insert(key.clone(), name.clone());
        self.owners.insert(name.clone(), key);
        name
    }

    /// Returns the host's own name of the tool that a model knows as `name`; `None` if the tool
    /// does not belong to the host with the index `place`.
    pub(crate) fn own(&self, place: usize, name: &str) -> Option<&str> {
        let (owner, own) = self.owners.get(name)?;
        (*owner == place).then_some(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit() {
        for (name, want) in [
            ("read_file", "read_file"),
            ("a.b/c d", "a_b_c_d"),
            ("größe", "gr__e"),
            ("", "_"),
            (&"x".repeat(80), &"x".repeat(64)),
        ] {
            assert_eq!(fitting(name), want);
        }
    }

    #[test]
    fn a_name_is_of_one_tool() {
        let hosts: [(&str, &[&str]); 4] = [
            ("git", &["log", "show", "a.b", "a/b"]),
            ("svn", &["log", "blame", "tool_output"]),
            ("svn", &["log"]),
            ("rest", &["a_b"]),
        ];
        let own = hosts.map(|(_, tools)| tools.iter().map(ToString::to_string).collect());
        let mut names = ToolNames::new(&own);
        let mut given = Vec::new();
        for (place, (host, tools)) in hosts.iter().enumerate() {
            for tool in *tools {
                let name = names.of(place, host, tool);
                assert_eq!(names.of(place, host, tool), name);
                assert_eq!(names.own(place, &name), Some(*tool));
                assert_eq!(names.own(place + 1, &name), None);
                given.push(name);
            }
        }
        assert_eq!(
            given.join(" "),
            "git__log show git__a_b git__a_b_2 svn__log blame svn__tool_output svn__log_2 rest__a_b"
        );
        // A later tool does not get a name that was already given.
        assert_eq!(names.of(3, "rest", "show"), "rest__show");
    }
}
