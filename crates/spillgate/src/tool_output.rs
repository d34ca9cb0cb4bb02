//! The settings of extraction (`[tool_output]`).

use serde::{Deserialize, Deserializer, Serialize};
use spillgate_config::{Member, Naming, Node, NodeKind, read};
use spillgate_extract::ExtractionSettings as Extraction;
use spillgate_llm::{Target, TargetError};

use crate::layers::{first, said};

/// `[tool_output]`: the settings of the extraction crate, and the models.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ToolOutput {
    /// Whether the gateway has the tool `tool_output`.
    pub(crate) enabled: bool,
    /// The models for extraction in order of preference. Without models, an extraction returns the
    /// passages that a search finds.
    #[serde(deserialize_with = "targets")]
    pub(crate) models: Vec<Target>,
    #[serde(flatten)]
    pub(crate) extraction: Extraction,
}

impl Default for ToolOutput {
    fn default() -> Self {
        Self {
            enabled: true,
            models: Vec::new(),
            extraction: Extraction::default(),
        }
    }
}

/// Settings that may be 0, with their maximum.
const FROM_ZERO: [(&str, u64); 2] = [("chunk_tokens", u64::MAX), ("overlap_percent", 50)];

/// Returns the names of all settings.
pub(crate) fn names() -> Vec<String> {
    let all = serde_json::to_value(ToolOutput::default()).unwrap_or_default();
    let members = all.as_object().cloned().unwrap_or_default();
    members.into_iter().map(|(name, _)| name).collect()
}

/// Returns pairs of names, ai-agent's and Spillgate's: one for each name that consists of several
/// words, and one for the store directory.
pub(crate) fn aliases() -> Vec<(String, String)> {
    let names = names().into_iter().chain(["store_dir".to_owned()]);
    let aliases = names.map(|name| (camel(&name), name));
    aliases.filter(|(alias, name)| alias != name).collect()
}

fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |all, word| {
        let (initial, rest) = word.split_at(1);
        all + &initial.to_ascii_uppercase() + rest
    })
}

/// Checks one setting. The error is a message and advice.
pub(crate) fn check(member: &Member) -> Result<(), (String, String)> {
    let (key, names) = (&member.key, names());
    if !names.contains(key) {
        let what = "there is no such setting".to_owned();
        return Err((what, nearest(key, names.iter().map(String::as_str))));
    }
    let alone = Node::new(member.at, NodeKind::Table(vec![member.clone()]));
    let hint = || "docs/configuration.md lists what it can be".to_owned();
    read::<ToolOutput>(&alone, Naming::Exact)
        .map_err(|problems| (said(&first(problems).kind), hint()))?;
    let Some(number) = member.node.value().as_u64() else {
        return Ok(()); // the value is not a number
    };
    let range = FROM_ZERO.iter().find(|(name, _)| name == key);
    let (least, most): (u64, u64) = range.map_or((1, u64::MAX), |&(_, most)| (0, most));
    if (least..=most).contains(&number) {
        return Ok(());
    }
    let allowed = match most {
        u64::MAX => format!("at least {least}"),
        most => format!("from {least} to {most}"),
    };
    Err((format!("must be {allowed}, not {number}"), hint()))
}

/// Returns advice that names the most similar setting.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    const ALIKE: f64 = 0.7;
    let scored = known
        .clone()
        .map(|one| (strsim::jaro_winkler(name, one), one));
    let best = scored.max_by(|one, other| one.0.total_cmp(&other.0));
    match best {
        Some((score, one)) if score >= ALIKE => format!("did you mean `{one}`?"),
        _ => format!("there are {}", known.collect::<Vec<_>>().join(", ")),
    }
}

/// Parses `provider/model` pairs separated by commas (ai-agent).
pub(crate) fn parse_targets(text: &str) -> Result<Vec<Target>, TargetError> {
    let pairs = text.split(',').map(str::trim);
    match text.trim() {
        "" => Ok(Vec::new()),
        _ => pairs.map(str::parse).collect(),
    }
}

fn targets<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Target>, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "`provider/model` pairs: a text with commas between them, or a list"
    )]
    enum Either {
        Text(String),
        List(Vec<String>),
    }
    let parsed = match Either::deserialize(from)? {
        Either::Text(text) => parse_targets(&text),
        Either::List(list) => list.iter().map(|one| one.trim().parse()).collect(),
    };
    parsed.map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ai_agent_are_known() {
        let aliases = aliases();
        for (alias, name) in [
            ("maxChunks", "max_chunks"),
            ("overlapPercent", "overlap_percent"),
            ("avgLineBytesThreshold", "avg_line_bytes_threshold"),
            ("maxToolCallsPerTurn", "max_tool_calls_per_turn"),
            ("storeDir", "store_dir"),
        ] {
            assert!(
                aliases.contains(&(alias.to_owned(), name.to_owned())),
                "{alias}"
            );
        }
    }
}
