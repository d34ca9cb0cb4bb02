//! The answers of `execute_shell`.

use std::io::Read;
use std::time::Duration;

use signal_hook::low_level::signal_name;
use spillgate_offload::{Rejection, estimated_tokens};

use super::ShellRules;
use super::output::CommandOutput;
use super::protocol::ExitOutcome;
use super::running::StopOutcome;
use crate::rules::{OnOverflow, Rules};
use crate::tool_result::{Body, OversizedOutput, Reply, ToolError};

/// The result of a command.
#[derive(Debug)]
pub(crate) struct CommandResult {
    pub(crate) output: CommandOutput,
    pub(crate) ending: CommandEnding,
    /// A note on the command's arguments.
    pub(crate) note: Option<String>,
}

/// How a command ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CommandEnding {
    /// The command ended by itself.
    Ended(ExitOutcome),
    /// The command exceeded its time limit.
    TimedOut {
        /// The time limit.
        after: Duration,
        /// The exit of the shell, if it had ended while another process kept the output open.
        shell: Option<ExitOutcome>,
        /// Which processes were stopped.
        stopped: StopOutcome,
    },
    /// The command printed more bytes than the rules allow.
    TooMuch {
        /// The limit in bytes.
        most: u64,
        /// Which processes were stopped.
        stopped: StopOutcome,
    },
}

/// Maximum size, in bytes, of the notes on an output: the exit and a note on the timeout.
pub(crate) const NOTES: u64 = 1000;

/// Returns the answer to a call. The recovery block `block` is appended if the output is refused
/// because it is too large.
pub(crate) fn reply(ran: CommandResult, block: &str, rules: &Rules, shell: &ShellRules) -> Reply {
    match ran.ending {
        CommandEnding::Ended(fate) => {
            let is_silent = ran.output.bytes == 0;
            let notes = [note_of(fate, is_silent), ran.note.clone()];
            ended(ran.output, &joined(notes), block, rules)
        }
        CommandEnding::TimedOut {
            after,
            shell: fate,
            stopped,
        } => {
            let what = format!(
                "Command timed out after {} s{}.{}",
                after.as_secs_f64(),
                stopped_words(stopped),
                held_words(fate)
            );
            timed_out(ran, (&what, block), after, rules, shell)
        }
        CommandEnding::TooMuch { most, stopped } => {
            let what = format!(
                "The command had printed more than {most} bytes{}.",
                stopped_words(stopped)
            );
            too_much(ran.output, (&what, block), ran.note.as_deref(), rules)
        }
    }
}

fn ended(output: CommandOutput, notes: &str, block: &str, rules: &Rules) -> Reply {
    let is_blank = |text: &&String| !text.trim().is_empty();
    let text = match &output.text {
        Some(text) => match (Some(text).filter(is_blank), notes) {
            (None, "") => "Command executed successfully (no output)".to_owned(),
            (None, notes) if notes.starts_with("[exit") || notes.starts_with("[killed") => {
                notes.to_owned()
            }
            (None, notes) => format!("Command executed successfully (no output)\n{notes}"),
            (Some(text), "") => text.clone(),
            (Some(text), notes) => format!("{}\n{notes}", text.trim_end_matches('\n')),
        },
        None => return overflow(output, notes, block, rules),
    };
    match rules.exceeds(text.len() as u64) {
        true => overflow(output, notes, block, rules),
        false => Ok(Body::Text(text)),
    }
}

/// The answer for output that exceeds the limit.
fn overflow(output: CommandOutput, notes: &str, block: &str, rules: &Rules) -> Reply {
    let bytes = output.bytes + notes.len() as u64;
    let tokens = estimated_tokens(bytes);
    if rules.on_overflow == OnOverflow::Reject {
        return Err(ToolError::from(Rejection::Command { tokens })
            .with(notes)
            .with(block));
    }
    match output.whole() {
        Some(Ok(whole)) => Ok(Body::Oversized(OversizedOutput {
            whole,
            notes: notes.to_owned(),
            has_failed: false,
        })),
        kept => {
            let why = match kept {
                Some(Err(error)) => error.to_string(),
                _ => "there is nowhere to keep it".to_owned(),
            };
            let refused = ToolError::new(format!(
                "Command output (~{tokens} tokens) could not be kept: {why}. This is our \
                 machine's fault, not the command's, which ran to its end. Please pipe output \
                 through head/tail/grep if it is run again."
            ));
            Err(refused.with(notes))
        }
    }
}

fn timed_out(
    ran: CommandResult,
    (what, block): (&str, &str),
    after: Duration,
    rules: &Rules,
    shell: &ShellRules,
) -> Reply {
    let most = shell.longest();
    let more = match after < most {
        true => format!("Please set timeout to more (up to {}), or", most.as_secs()),
        false => "Please".to_owned(),
    };
    let refused = ToolError::new(format!(
        "{what} {more} run it in the background with its output in a file: \
         (command) > out.log 2>&1 &"
    ));
    let refused = refused.with(ran.note.as_deref().unwrap_or_default());
    let bytes = ran.output.bytes;
    let until_then = match &ran.output.text {
        Some(text) if text.trim().is_empty() => "It had printed nothing.".to_owned(),
        Some(text) => format!("Its output until then:\n{}", text.trim_end_matches('\n')),
        None => String::new(),
    };
    let full = refused.clone().with(&until_then);
    if ran.output.text.is_some() && !rules.exceeds(full.to_string().len() as u64) {
        return Err(full);
    }
    if rules.on_overflow == OnOverflow::Offload
        && let Some(Ok(whole)) = ran.output.whole()
    {
        return Ok(failed(whole, &refused));
    }
    let too_much = format!(
        "Its output until then (~{} tokens) is too much to be shown.",
        estimated_tokens(bytes)
    );
    Err(refused.with(&too_much).with(block))
}

fn too_much(
    output: CommandOutput,
    (what, block): (&str, &str),
    note: Option<&str>,
    rules: &Rules,
) -> Reply {
    let tokens = estimated_tokens(output.bytes);
    if rules.on_overflow == OnOverflow::Offload
        && let Some(Ok(whole)) = output.whole()
    {
        let refused = ToolError::new(format!("{what} Please have it print less."));
        return Ok(failed(whole, &refused.with(note.unwrap_or_default())));
    }
    let notes = joined([Some(format!("[{what}]")), note.map(ToOwned::to_owned)]);
    Err(ToolError::from(Rejection::Command { tokens })
        .with(&notes)
        .with(block))
}

/// The whole output of a command that failed, for the offload pipeline.
fn failed(whole: Box<dyn Read + Send>, refused: &ToolError) -> Body {
    Body::Oversized(OversizedOutput {
        whole,
        notes: refused.to_string(),
        has_failed: true,
    })
}

fn joined(notes: [Option<String>; 2]) -> String {
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    notes.join("\n")
}

/// The note on how a shell ended, if there is anything to note.
fn note_of(fate: ExitOutcome, is_silent: bool) -> Option<String> {
    match fate {
        ExitOutcome::Code(0) => None,
        ExitOutcome::Code(1) if is_silent => Some(
            "[exit 1: no output; from grep and the like that means no match, from a test false]"
                .to_owned(),
        ),
        ExitOutcome::Code(code) => Some(format!("[exit {code}]")),
        ExitOutcome::Signal(signal) => Some(match signal_name(signal) {
            Some(name) => format!("[killed by signal {signal} ({name})]"),
            None => format!("[killed by signal {signal}]"),
        }),
    }
}

/// Says which processes were stopped, as the end of a sentence.
fn stopped_words(stopped: StopOutcome) -> String {
    match stopped {
        StopOutcome::All => " and was stopped with everything it had started".to_owned(),
        StopOutcome::Group => " and was stopped with its process group".to_owned(),
        StopOutcome::Left(left) => {
            format!(" and was stopped, but of what it had started {left} could not be ended")
        }
        StopOutcome::Unknown => {
            " and was told to stop, but whether all that it had started did is not known".to_owned()
        }
    }
}

fn held_words(fate: Option<ExitOutcome>) -> String {
    let Some(fate) = fate else {
        return String::new();
    };
    let how = note_of(fate, false).unwrap_or_else(|| "[exit 0]".to_owned());
    format!(
        " Its shell had ended before {how}, but something that it left in the background \
         still held its output."
    )
}
