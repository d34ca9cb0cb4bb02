//! What is printed of a run, and with which code does it exit?

use serde_json::{Value, json};
use spillgate_agent::{Ending, Report, Source, Trace};

use super::words::{count, one_line, time, usage};
use crate::failure::{Failure, Fault};
use crate::output::Output;

/// The code of `timeout(1)`, too.
const TIMED_OUT: u8 = 124;
/// That of SIGINT, where nobody knows which signal it was.
const INTERRUPTED: u8 = 130;
/// Characters of a reason and of the model's last words.
const WORDS: usize = 500;

/// A run that is over.
#[derive(Debug)]
pub(super) struct Over<'a> {
    pub(super) trace: &'a Trace,
    /// The session in the store that its results were in.
    pub(super) session: String,
    /// The exit code of the signal that cancelled it.
    pub(super) signal: Option<u8>,
    /// The directory that is kept.
    pub(super) kept: Option<String>,
    /// The file that has the trace.
    pub(super) trace_file: Option<String>,
}

impl Over<'_> {
    /// Prints what came of it; gives the exit code.
    pub(super) fn print(&self, out: &Output) -> Result<u8, Failure> {
        if out.json {
            out.object(&self.object())?;
            return Ok(self.code());
        }
        match self.failure() {
            None => out.raw(self.report().as_bytes())?,
            Some(failure) => {
                failure.report(out);
            }
        }
        Ok(self.code())
    }

    /// What is said beside the report.
    pub(super) fn told(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "{}: {}",
            one_line(&self.trace.agent, WORDS),
            self.summary()
        )];
        let kept = self.kept.as_ref();
        lines.extend(kept.map(|kept| {
            format!("kept: {kept} (`spillgate ls --store {kept}` lists what is in it)")
        }));
        lines
    }

    /// In a line: how long, how often, how much.
    fn summary(&self) -> String {
        let accounting = &self.trace.accounting;
        let calls: u64 = accounting.tools.iter().map(|tool| tool.calls).sum();
        let stored: u64 = accounting.tools.iter().map(|tool| tool.stored).sum();
        format!(
            "{}, {} ({} stored), {}, {}",
            count(accounting.total.calls, "request", "requests"),
            count(calls, "call", "calls"),
            stored,
            usage(&accounting.total.usage),
            time(self.trace.root.took_ms)
        )
    }

    /// A model's report, with a newline at its end.
    fn report(&self) -> String {
        let content = self.trace.report.as_ref().map(|report| &report.content);
        let content = content.map_or("", String::as_str);
        match content.ends_with('\n') {
            true => content.to_owned(),
            false => format!("{content}\n"),
        }
    }

    fn code(&self) -> u8 {
        match &self.trace.ending {
            Some(Ending::Success) => 0,
            Some(Ending::Cancelled) => self.signal.unwrap_or(INTERRUPTED),
            Some(Ending::TimedOut) => TIMED_OUT,
            Some(Ending::Failed(_)) | None => 1,
        }
    }

    /// What there is to say if there is no report of the model's.
    fn failure(&self) -> Option<Failure> {
        let (kind, what) = match &self.trace.ending {
            Some(Ending::Success) => return None,
            Some(Ending::Cancelled) => ("cancelled", "cancelled".to_owned()),
            Some(Ending::TimedOut) => ("timed_out", "no report: the time was over".to_owned()),
            Some(Ending::Failed(why)) => {
                ("no_report", format!("no report: {}", one_line(why, WORDS)))
            }
            None => ("no_report", "no report".to_owned()),
        };
        let hint = match &self.trace_file {
            Some(file) => format!("`spillgate agent view {file}` shows what it did"),
            None => "`--trace FILE` writes down what it does, `spillgate agent view FILE` shows it"
                .to_owned(),
        };
        Some(
            Failure::new(kind, Fault::Caller, what)
                .hint(hint)
                .code(self.code()),
        )
    }

    fn object(&self) -> Value {
        let mut object = json!({
            "agent": self.trace.agent,
            "session": self.session,
            "ending": self.trace.ending,
            "report": self.trace.report.as_ref().map(shown),
            "accounting": self.trace.accounting,
            "took_ms": self.trace.root.took_ms,
            "directory": self.kept,
            "trace": self.trace_file,
        });
        if let Some(failure) = self.failure() {
            object["error"] = failure.to_json();
        }
        object
    }
}

/// A report of JSON is no text.
fn shown(report: &Report) -> Value {
    let is_json = report.format == "json" && report.source != Source::Synthetic;
    let value = serde_json::from_str(&report.content).ok();
    let content = value.filter(|_| is_json);
    json!({
        "format": report.format,
        "content": content.unwrap_or_else(|| json!(report.content)),
        "source": report.source,
    })
}
