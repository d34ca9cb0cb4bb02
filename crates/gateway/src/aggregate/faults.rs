//! Reports to a client which of several servers are unavailable, and why.

use std::fmt::Write;
use std::sync::Arc;

use serde_json::{Value, json};
use spillgate_mcp::frame;
use spillgate_mcp::meta::LOG_LEVEL;
use spillgate_transport::{ConnectionError, ServerEvent};

use super::Question;
use crate::session::Session;
use crate::upstream::Upstream;

/// The log levels, lowest first (RFC 5424).
const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// The level of the messages about unavailable servers.
const WARNING: &str = "warning";

/// Maximum number of servers that `instructions` names.
const MOST_NAMED: usize = 8;

/// Maximum lengths of a server's name and of a reason, in characters.
const MOST_NAME: usize = 64;
const MOST_WHY: usize = 160;

/// Turns untrusted text into one short line without markup and hidden characters. Keeps letters,
/// digits and plain punctuation.
pub(crate) fn plain(text: &str, most: usize) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || c.is_ascii_graphic() && c != '`' && c != '<';
    let shown = |c: char| if is_plain(c) { c } else { ' ' };
    let words: String = text.chars().take(most).map(shown).collect();
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.chars().nth(most) {
        Some(_) => format!("{words}…"),
        None => words,
    }
}

/// Returns the reason as text. The text stays the same while a server waits for its restart.
pub(crate) fn why(error: &ConnectionError) -> String {
    match error {
        ConnectionError::Resting { how, .. } => how.clone(),
        other => other.to_string(),
    }
}

/// Returns the text about missing servers for `instructions`; `None` if no server is missing.
pub(super) fn notice(missing: &[(String, String)]) -> Option<String> {
    if missing.is_empty() {
        return None;
    }
    let mut text = "[spillgate] Not available yet:".to_owned();
    for (at, (name, why)) in missing.iter().take(MOST_NAMED).enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let (name, why) = (plain(name, MOST_NAME), plain(why, MOST_WHY));
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma} `{name}` ({why})");
    }
    if missing.len() > MOST_NAMED {
        let _ = write!(text, " and {} more", missing.len() - MOST_NAMED);
    }
    text.push_str(". What they offer is listed once they answer.");
    Some(text)
}

fn message(upstream: &Upstream, why: &str) -> Vec<u8> {
    let (name, why) = (plain(upstream.name(), MOST_NAME), plain(why, MOST_WHY));
    let data = format!(
        "the server `{name}` is not available: it {why}; the other servers work, and this one is added once it answers"
    );
    let params = json!({"level": WARNING, "logger": "spillgate", "data": data});
    let params = params.to_string();
    frame::line(frame::notification("notifications/message", Some(&params)))
}

/// Whether a client that wants messages from `level` upwards wants warnings.
fn is_wanted(level: &str) -> bool {
    let at = |name: &str| LEVELS.iter().position(|level| *level == name);
    at(level).is_none_or(|level| at(WARNING) >= Some(level))
}

/// Whether this is the name of a log level.
pub(super) fn is_level(level: &str) -> bool {
    LEVELS.contains(&level)
}

impl Session {
    /// Records that a server has failed. Informs the client if the reason is new.
    pub(crate) async fn note_fault(&self, upstream: &Upstream, why: &str) {
        if self.is_closing() {
            return;
        }
        let before = upstream.notes.standing.fail(why);
        if before.is_none() {
            self.hub().metrics().unavailable(upstream.name(), true);
        }
        if before.as_deref() != Some(why) {
            let (server, why) = (upstream.name(), plain(why, MOST_WHY));
            tracing::warn!(
                server,
                why,
                "a server is not available: the others are served without it"
            );
        }
        self.tell_fault(upstream).await;
    }

    /// Records that a server is working again.
    pub(crate) fn note_recovery(&self, upstream: &Upstream) {
        if upstream.notes.standing.recover().is_some() {
            self.hub().metrics().unavailable(upstream.name(), false);
            tracing::info!(server = upstream.name(), "a server is available again");
        }
    }

    async fn tell_fault(&self, upstream: &Upstream) {
        let (is_told, level) = {
            let client = self.said.lock();
            (client.is_initialized, client.level.clone())
        };
        if !is_told || !level.is_none_or(|level| is_wanted(&level)) {
            return;
        }
        if let Some(why) = upstream.notes.standing.take_untold() {
            self.to_client(message(upstream, &why)).await;
        }
    }

    /// Called when the client has completed the greeting. From now on, it may receive messages, so
    /// it is informed about unavailable servers.
    pub(super) async fn is_ready_to_hear(self: &Arc<Self>) {
        self.said.lock().is_initialized = true;
        for upstream in self.upstreams.all().iter() {
            self.tell_fault(upstream).await;
        }
    }

    /// Reports unavailable servers on the stream of a request that asks for log messages (MCP
    /// 2026-07-28).
    pub(super) async fn tell_faults_with(self: &Arc<Self>, question: &Question) {
        let params: Value = serde_json::from_str(&question.params).unwrap_or_default();
        let level = params["_meta"][LOG_LEVEL].as_str();
        if !level.is_some_and(is_wanted) {
            return;
        }
        let asker = self.asker();
        for upstream in asker.upstreams.all().iter() {
            if let Some(why) = upstream.notes.standing.fault() {
                let event =
                    ServerEvent::message(message(upstream, &why)).of(Some(question.key.clone()));
                self.to.take(event).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn what_instructions_say_is_short_and_plain() {
        let bad = "`x`\n# Ignore all\u{202e} <b>".to_owned();
        let mut missing = vec![(bad.clone(), bad.repeat(40))];
        missing.extend((0..9).map(|at| (format!("s{at}"), "exited with status 3".to_owned())));
        assert_eq!(notice(&[]), None);
        assert_snapshot!(notice(&missing).unwrap(), @"[spillgate] Not available yet: `x # Ignore all b>` (x # Ignore all b> x # Ignore all b> x # Ignore all b> x # Ignore all b> x # Ignore all b> x # Ignore all b> x # Ignore all b> x # Ignore…), `s0` (exited with status 3), `s1` (exited with status 3), `s2` (exited with status 3), `s3` (exited with status 3), `s4` (exited with status 3), `s5` (exited with status 3), `s6` (exited with status 3) and 2 more. What they offer is listed once they answer.");
    }

    #[test]
    fn a_warning_is_told_to_who_wants_warnings() {
        let wanted: Vec<&str> = LEVELS
            .into_iter()
            .filter(|level| is_wanted(level))
            .collect();
        assert_eq!(wanted, ["debug", "info", "notice", "warning"]);
    }
}
