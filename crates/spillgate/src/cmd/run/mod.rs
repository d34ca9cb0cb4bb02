//! `spillgate run`: runs a command and stores its output if it is too large.
//!
//! Standard output and standard error share one pipe, so that the kernel interleaves them in the
//! order of the writes; `--split` gives each a pipe of its own.

mod live;
mod signals;

use std::ffi::OsString;
use std::io::{self, IsTerminal, PipeReader, PipeWriter, Read, Write, pipe};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use serde_json::json;
use spillgate_artifact::{Clock, Ending, Origin, SystemClock, Timestamp};
use spillgate_offload::{Choice, Outcome, PendingResult};
use spillgate_store::keep_key_from;
use spillgate_untrusted::shell_word;

use self::live::{Live, Stream};
use super::outcome;
use crate::args::Run;
use crate::failure::{Failure, Fault};
use crate::output::{Output, Paint};
use crate::progress::CaptureProgress;
use crate::wiring::App;

/// Pipe size in bytes: larger than the default of 64 KB, so that the command can continue while we
/// write.
const PIPE_BYTES: usize = 1 << 20;

pub(crate) fn run(app: &App, run: &Run, out: &Output) -> Result<u8, Failure> {
    match run.split {
        true => split(app, run, out),
        false => merged(app, run, out),
    }
}

fn merged(app: &App, run: &Run, out: &Output) -> Result<u8, Failure> {
    let (reader, writer) = wide_pipe()?;
    let begun = SystemClock.now();
    let running = Running::start(&run.command, writer.try_clone()?, writer)?;
    let live = live(run, out);
    let pending = capture(
        app,
        run,
        reader,
        live.as_ref().map(|live| (live, Stream::Output)),
    )?;
    let status = running.wait()?;
    let took = live.map(Live::end);
    let ending = ending(status, begun);
    let (outcome, code) = (settle(pending, ending), code(status));
    let mut object = match out.json {
        true => outcome::to_json(app, &outcome)?,
        false => json!(null),
    };
    if object.get("duration_ms").is_some() {
        if code != 0 {
            outcome::failed(&mut object, &format!("exit code {code}"));
        }
        object["duration_ms"] = json!(ending.duration_ms);
    }
    if let Some(took) = took {
        finish(&outcome, code, took, out)?;
    } else if !out.json {
        outcome::print(&outcome, out)?;
    }
    app.tidy(outcome::receipt(&outcome));
    let failure = outcome::failure(outcome);
    if out.json {
        object["exit_code"] = json!(code);
        if let Some(failure) = &failure {
            object["error"] = failure.to_json();
        }
        out.object(&object)?;
    } else if let Some(failure) = &failure {
        failure.report(out);
    }
    Ok(code)
}

fn split(app: &App, run: &Run, out: &Output) -> Result<u8, Failure> {
    let ((stdout, stdout_end), (stderr, stderr_end)) = (wide_pipe()?, wide_pipe()?);
    let begun = SystemClock.now();
    let running = Running::start(&run.command, stdout_end, stderr_end)?;
    let live = live(run, out);
    let live_error = live.as_ref().filter(|_| io::stderr().is_terminal());
    let is_error_live = live_error.is_some();
    let (from_stdout, from_stderr) = std::thread::scope(|scope| {
        let from_stderr = scope.spawn(|| {
            let live = live_error.map(|live| (live, Stream::Error));
            capture(app, run, stderr, live)
        });
        let live = live.as_ref().map(|live| (live, Stream::Output));
        let from_stdout = capture(app, run, stdout, live);
        let from_stderr = from_stderr.join().map_err(|_| {
            Failure::new(
                "internal",
                Fault::Us,
                "the thread that reads standard error panicked",
            )
        });
        (from_stdout, from_stderr)
    });
    let (from_stdout, from_stderr) = (from_stdout?, from_stderr??);
    let status = running.wait()?;
    let took = live.map(Live::end);
    let ending = ending(status, begun);
    let [from_stdout, from_stderr] =
        [from_stdout, from_stderr].map(|pending| settle(pending, ending));
    let code = code(status);
    if out.json {
        out.object(&json!({
            "stdout": outcome::to_json(app, &from_stdout)?,
            "stderr": outcome::to_json(app, &from_stderr)?,
            "exit_code": code,
        }))?;
    } else {
        match took {
            Some(took) => finish(&from_stdout, code, took, out)?,
            None => outcome::print(&from_stdout, out)?,
        }
        if !is_error_live || !matches!(from_stderr, Outcome::Inline(_)) {
            print_to_stderr(&from_stderr)?;
        }
    }
    for outcome in [&from_stdout, &from_stderr] {
        app.tidy(outcome::receipt(outcome));
    }
    for failure in [from_stdout, from_stderr]
        .into_iter()
        .filter_map(outcome::failure)
    {
        if !out.json {
            failure.report(out);
        }
    }
    Ok(code)
}

/// Returns the display of the running command if the user sits at a terminal.
fn live(run: &Run, out: &Output) -> Option<Live> {
    (out.terminal && !out.json && !run.quiet).then(Live::start)
}

/// Ends the display of a command: prints what a model would see of a large output, or says that the
/// output was not stored.
fn finish(outcome: &Outcome, code: u8, took: Duration, out: &Output) -> io::Result<()> {
    let painter = out.note_painter();
    match outcome {
        Outcome::Inline(_) => {
            let paint = if code == 0 { Paint::Faint } else { Paint::Bad };
            let took = took.as_secs_f64();
            let line =
                format!("[exit code {code} after {took:.1} s; the output fits and was not stored]");
            out.note(&painter.paint(paint, &line));
        }
        Outcome::Offloaded(offloaded) => {
            out.note(&painter.paint(Paint::Faint, "[what a model sees of it:]"));
            out.text(offloaded.shown.text())?;
        }
        Outcome::NotStored(lost) => {
            out.note(&painter.paint(Paint::Faint, "[what a model sees of it:]"));
            out.text(lost.shown.text())?;
        }
    }
    Ok(())
}

fn print_to_stderr(outcome: &Outcome) -> io::Result<()> {
    let mut to = io::stderr();
    match outcome {
        Outcome::Inline(fits) => fits.write_raw(&mut to),
        Outcome::Offloaded(offloaded) => {
            writeln!(to, "{}", offloaded.shown.text().trim_end_matches('\n'))
        }
        Outcome::NotStored(lost) => {
            writeln!(to, "{}", lost.shown.text().trim_end_matches('\n'))
        }
    }
}

fn capture(
    app: &App,
    run: &Run,
    reader: PipeReader,
    live: Option<(&Live, Stream)>,
) -> Result<PendingResult, Failure> {
    let words: Vec<String> = run
        .command
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let name = std::path::Path::new(&words[0])
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let origin = Origin {
        server: None,
        tool: name.unwrap_or_else(|| words[0].clone()),
        arguments: Some(words.join(" ")),
        call_id: run.call_id.clone(),
    };
    let mut progress = live.is_none().then(CaptureProgress::new);
    let mut reader: Box<dyn Read + '_> = match live {
        Some((live, stream)) => Box::new(live.shown(reader, stream)),
        None => Box::new(reader),
    };
    let submitted = app
        .offloader
        .submit_stream(origin, false, &mut reader, &mut |bytes| {
            if let Some(progress) = &mut progress {
                progress.at(bytes);
            }
        });
    Ok(submitted?)
}

/// Decides what is shown of the output of a command that has ended.
fn settle(pending: PendingResult, ending: Ending) -> Outcome {
    pending
        .ended(ending)
        .settle(Choice::Limits { is_over: None })
}

fn ending(status: ExitStatus, begun: Timestamp) -> Ending {
    let took = begun.age_at(SystemClock.now());
    Ending {
        exit_code: status.code(),
        signal: status.signal(),
        duration_ms: u64::try_from(took.as_millis()).ok(),
    }
}

/// Returns the exit code, or 128 + n if signal n ended the command.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|n| 128 + n));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

fn wide_pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = pipe()?;
    // This fails if the size is above the user's limit for pipes. The default size works, too.
    let _ = rustix::pipe::fcntl_setpipe_size(&writer, PIPE_BYTES);
    Ok((reader, writer))
}

/// A running command that receives our signals.
struct Running {
    child: Child,
    signals: signals::Passing,
}

impl Running {
    fn start(
        command: &[OsString],
        stdout: PipeWriter,
        stderr: PipeWriter,
    ) -> Result<Self, Failure> {
        // Started before the command, so that a signal in between is not lost.
        let signals = signals::Passing::start()?;
        // Only `Command` holds the write ends, and it is dropped when this function returns.
        // Otherwise the readers would never see the end of the pipe.
        let mut program = Command::new(&command[0]);
        keep_key_from(&mut program);
        let child = program
            .args(&command[1..])
            .stdout(stdout)
            .stderr(stderr)
            .spawn()
            .map_err(|error| not_started(&command[0], &error))?;
        signals.to(&child);
        Ok(Self { child, signals })
    }

    /// Waits for the command to end.
    fn wait(mut self) -> Result<ExitStatus, Failure> {
        let status = self.child.wait()?;
        drop(self.signals);
        Ok(status)
    }
}

/// Returns the failure of a command that could not be started, with the exit code that shells use.
fn not_started(program: &OsString, error: &io::Error) -> Failure {
    let message = format!(
        "the command `{}` could not be started: {error}",
        program.display()
    );
    let line = program.to_string_lossy();
    let (code, hint) = match error.kind() {
        io::ErrorKind::NotFound if line.contains([' ', '|', ';', '>', '&']) => (
            127,
            format!(
                "a whole line needs a shell: spillgate run -- sh -c {}",
                shell_word(&line)
            ),
        ),
        io::ErrorKind::NotFound if line.starts_with('-') => (
            127,
            "options of `run` stand before `--`, the command after it: spillgate run --quiet -- ls"
                .to_owned(),
        ),
        io::ErrorKind::NotFound => (
            127,
            format!(
                "check its name and the PATH; an alias or a function needs its shell: spillgate run -- bash -ic {}",
                shell_word(&line)
            ),
        ),
        io::ErrorKind::PermissionDenied if std::path::Path::new(program).is_dir() => {
            (126, "it is a directory; name a program in it".to_owned())
        }
        io::ErrorKind::PermissionDenied => (
            126,
            format!(
                "check that it may be executed: chmod +x {}",
                shell_word(&line)
            ),
        ),
        _ if error.raw_os_error() == Some(libc::ENOEXEC) => (
            126,
            "a script has to begin with a line such as #!/bin/sh".to_owned(),
        ),
        _ => (126, "check that it may be executed".to_owned()),
    };
    Failure::new("command_not_started", Fault::Caller, message)
        .hint(hint)
        .code(code)
}
