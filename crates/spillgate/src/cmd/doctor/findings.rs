//! The findings of `doctor`, each with its fix.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::json;
use spillgate_clients::Client;

use crate::failure::{Failure, plain};
use crate::output::{Output, Paint, folded};

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    Good,
    /// Worth knowing, but nothing is broken.
    Note,
    Broken,
}

/// The result of one check.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Finding {
    pub(super) client: Option<Client>,
    pub(super) file: Option<PathBuf>,
    pub(super) server: Option<String>,
    pub(super) level: Level,
    pub(super) what: String,
    /// How to fix the problem; `None` if there is no problem.
    pub(super) fix: Option<String>,
}

impl Finding {
    pub(super) fn of(client: Option<Client>, file: Option<&PathBuf>) -> Self {
        Self {
            client,
            file: file.cloned(),
            server: None,
            level: Level::Good,
            what: String::new(),
            fix: None,
        }
    }

    pub(super) fn server(self, name: &str) -> Self {
        let server = Some(name.to_owned());
        Self { server, ..self }
    }

    fn says(self, level: Level, what: impl Into<String>) -> Self {
        let what = plain(&what.into()).into_owned();
        Self {
            level,
            what,
            ..self
        }
    }

    pub(super) fn good(self, what: impl Into<String>) -> Self {
        self.says(Level::Good, what)
    }

    pub(super) fn note(self, what: impl Into<String>) -> Self {
        self.says(Level::Note, what)
    }

    pub(super) fn broken(self, what: impl Into<String>) -> Self {
        self.says(Level::Broken, what)
    }

    pub(super) fn fix(self, fix: impl Into<String>) -> Self {
        let fix = Some(fix.into());
        Self { fix, ..self }
    }
}

/// All findings.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    pub(super) fn add(&mut self, finding: Finding) {
        self.0.push(finding);
    }

    pub(super) fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        self.0.extend(findings);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Prints the findings, ordered by client, file and server; returns the exit code.
    pub(super) fn print(mut self, out: &Output) -> Result<u8, Failure> {
        let broken = self
            .0
            .iter()
            .filter(|one| one.level == Level::Broken)
            .count();
        let code = u8::from(broken > 0);
        self.0.sort_by(|left, right| {
            let key = |one: &Finding| (one.client, one.file.clone(), one.server.clone());
            key(left).cmp(&key(right))
        });
        if out.json {
            out.object(&json!({"ok": broken == 0, "broken": broken, "findings": self.0}))?;
            return Ok(code);
        }
        let mut text = String::new();
        let (mut client, mut file) = (None, None);
        for one in &self.0 {
            if client != Some(one.client) {
                client = Some(one.client);
                file = None;
                let title = one.client.map_or("This machine", Client::title);
                text.push_str(&format!("\n{}\n", out.painter.paint(Paint::Strong, title)));
            }
            if one.file != file {
                file.clone_from(&one.file);
                let path = file.as_deref().unwrap_or(Path::new("")).display();
                text.push_str(&format!("{path}\n"));
            }
            text.push_str(&line(one, out));
        }
        let (paint, verdict) = match broken {
            0 => (Paint::Good, "all is well".to_owned()),
            1 => (Paint::Bad, "1 thing is broken".to_owned()),
            many => (Paint::Bad, format!("{many} things are broken")),
        };
        text.push_str(&format!("\n{}\n", out.painter.paint(paint, &verdict)));
        out.raw(text.trim_start_matches('\n').as_bytes())?;
        Ok(code)
    }
}

fn line(one: &Finding, out: &Output) -> String {
    /// Columns before the text of a finding.
    const INDENT: usize = 9;
    let (paint, level) = match one.level {
        Level::Good => (Paint::Good, "ok"),
        Level::Note => (Paint::Warning, "note"),
        Level::Broken => (Paint::Bad, "broken"),
    };
    let server = one.server.as_ref();
    let server = server.map(|name| format!("{}: ", name.escape_debug()));
    let what = format!(
        "{}{}",
        server.unwrap_or_default(),
        one.what.replace('\n', " ")
    );
    let fix = one.fix.as_ref().map(|fix| format!("\n         fix: {fix}"));
    let text = format!("  {level:<7}{what}{}", fix.unwrap_or_default());
    let text = out
        .width()
        .map_or(text.clone(), |width| folded(&text, width, INDENT));
    let level = format!("  {level}");
    let rest = text.strip_prefix(&level).unwrap_or(&text);
    format!("{}{rest}\n", out.painter.paint(paint, &level))
}
