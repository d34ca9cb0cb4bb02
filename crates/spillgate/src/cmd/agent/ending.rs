//! Prints the outcome of a run and computes its exit code.

use serde_json::{Value, json};
use spillgate_agent::{Ending, Report, Source, Trace};

use super::running::TIMED_OUT;
use super::view::harmless;
use super::words::{count, one_line, time, usage};
use crate::failure::{Failure, Fault};
use crate::output::Output;

/// Exit code of SIGINT, used when the signal is unknown.
const INTERRUPTED: u8 = 130;
/// Exit code when a limit of the run was reached.
const USED_UP: u8 = 3;
/// Maximum length of a shown reason and of the model's last words, in characters.
const WORDS: usize = 500;

/// A run that has ended.
#[derive(Debug)]
pub(super) struct Over<'a> {
    pub(super) trace: &'a Trace,
    /// The store session that contains the results of the run.
    pub(super) session: &'a str,
    /// Exit code for the signal that cancelled the run.
    pub(super) signal: Option<u8>,
    /// The run directory, if it is kept.
    pub(super) kept: Option<String>,
    /// The file that holds the trace.
    pub(super) trace_file: Option<String>,
    /// Why the trace was not written.
    pub(super) unwritten: Option<&'a Failure>,
}

impl Over<'_> {
    /// Prints the outcome and, if the trace could not be written, the reason; returns the exit
    /// code.
    pub(super) fn say(&self, is_quiet: bool, out: &Output) -> Result<u8, Failure> {
        if out.json {
            out.object(&self.object())?;
            return Ok(self.code());
        }
        if !is_quiet {
            self.told().iter().for_each(|line| out.note(line));
        }
        match self.failure() {
            None => out.raw(self.report(out.terminal).as_bytes())?,
            Some(failure) => {
                failure.report(out);
            }
        }
        if let Some(unwritten) = self.unwritten {
            unwritten.report(out);
        }
        Ok(self.code())
    }

    /// Returns the lines that are printed in addition to the report.
    fn told(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "{}: {}",
            one_line(&self.trace.agent, WORDS),
            self.summary()
        )];
        let kept = self.kept.as_ref();
        lines.extend(kept.map(|kept| {
            format!("kept: {kept} (`spillgate ls --store {kept}` lists its contents)")
        }));
        lines
    }

    /// Summarizes requests, calls, tokens and time in one line.
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

    /// Returns the model's report with a newline at its end. It is unchanged, except that on a
    /// terminal the control characters that would move the cursor are made visible.
    fn report(&self, is_terminal: bool) -> String {
        let content = self.trace.report.as_ref().map(|report| &report.content);
        let content = content.map_or("", String::as_str);
        let content = match is_terminal {
            true => harmless(content),
            false => content.to_owned(),
        };
        match content.ends_with('\n') {
            true => content,
            false => content + "\n",
        }
    }

    fn code(&self) -> u8 {
        match &self.trace.ending {
            Some(Ending::Success) => u8::from(self.unwritten.is_some()),
            Some(Ending::Cancelled) => self.signal.unwrap_or(INTERRUPTED),
            Some(Ending::TimedOut) => TIMED_OUT,
            Some(Ending::UsedUp(_)) => USED_UP,
            Some(Ending::Failed(_)) | None => 1,
        }
    }

    /// Returns the failure to report when the model gave no report.
    fn failure(&self) -> Option<Failure> {
        let (kind, fault, what) = match &self.trace.ending {
            Some(Ending::Success) => return None,
            Some(Ending::Cancelled) => ("cancelled", Fault::Caller, "cancelled".to_owned()),
            // The upstream side is at fault: the model, or a tool that it called, was too slow.
            Some(Ending::TimedOut) => (
                "timed_out",
                Fault::Upstream,
                "no report: the time limit was reached".to_owned(),
            ),
            Some(Ending::UsedUp(why)) => {
                let what = format!("no report: {}", one_line(why, WORDS));
                let hint = "allow more with --max-requests, --max-total-tokens or --max-cost, \
                            or see in its trace what it asked for";
                let failure = Failure::new("limit_reached", Fault::Caller, what);
                return Some(failure.hint(hint).code(self.code()));
            }
            Some(Ending::Failed(why)) => {
                let what = format!("no report: {}", one_line(why, WORDS));
                ("no_report", Fault::Upstream, what)
            }
            None => ("no_report", Fault::Upstream, "no report".to_owned()),
        };
        let file = self.trace_file.as_ref();
        let hint = match file.filter(|_| self.unwritten.is_none()) {
            Some(file) => format!("`spillgate agent view {file}` shows what it did"),
            None => "`--trace FILE` records what the agent does, and `spillgate agent view FILE` shows the record"
                .to_owned(),
        };
        Some(Failure::new(kind, fault, what).hint(hint).code(self.code()))
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
            "trace": self.trace_file.as_ref().filter(|_| self.unwritten.is_none()),
        });
        let failure = self.failure().map(|failure| failure.to_json());
        let unwritten = || self.unwritten.map(Failure::to_json);
        if let Some(failure) = failure.or_else(unwritten) {
            object["error"] = failure;
        }
        object
    }
}

/// Returns a report for `--json`; content that is JSON becomes a value, not a string.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(report: &str) -> Trace {
        let op = json!({"kind": "agent", "name": "a", "at_ms": 0, "took_ms": 0});
        let account = spillgate_agent::Accounting::of(&spillgate_agent::Op::new(
            spillgate_agent::OpKind::Agent,
            "a",
        ));
        let window = json!({"window": 1, "buffer": 0, "max_output": 0});
        serde_json::from_value(json!({
            "version": 1, "agent": "a", "task": "", "task_bytes": 0, "started": "2026-01-01T00:00:00Z",
            "setup": {
                "models": [], "window": window, "max_turns": 1, "calls_per_turn": 1, "format": "text", "tools": 0,
            },
            "ending": {"status": "success"},
            "report": {"format": "text", "content": report, "source": "tool"},
            "accounting": account,
            "root": op,
        }))
        .unwrap()
    }

    #[test]
    fn a_report_moves_no_cursor() {
        let trace = trace("\u{1b}[31mred\u{9b}2J\r\n\tnext\u{7f}");
        let over = Over {
            trace: &trace,
            session: "",
            signal: None,
            kept: None,
            trace_file: None,
            unwritten: None,
        };
        assert_eq!(
            over.report(false),
            "\u{1b}[31mred\u{9b}2J\r\n\tnext\u{7f}\n"
        );
        assert_eq!(
            over.report(true),
            "⟨U+001B⟩[31mred⟨U+009B⟩2J\n\tnext⟨U+007F⟩\n"
        );
    }
}
