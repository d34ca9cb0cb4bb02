//! Starts, watches and ends commands.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines, Take};
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, ChildStderr, ChildStdin, Command};
use tokio::time::timeout;

use super::group::Group;
use super::processes::Process;
use super::protocol::{ExitOutcome, Report, Request};
use super::{GRACE, KILLING, Supervisor};
use crate::tool_result::ToolError;

/// The size of the output pipe in bytes. It is larger than the default of 64 KiB, so that a command
/// can continue to print while we count.
const PIPE: usize = 1 << 20;

/// Longest time that a supervisor takes to end all processes.
const PATIENCE: Duration = Duration::from_secs(2 * GRACE.as_secs() + KILLING.as_secs());

/// Interval between two checks whether a supervisor has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Maximum bytes of all reports of a supervisor.
const REPORTS: u64 = 64 << 10;

/// A running command. Dropping it ends the command and all that it started.
#[derive(Debug)]
pub(crate) enum RunningCommand {
    Supervised(Box<Supervised>),
    Group(Group),
}

/// Which processes of a command were stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopOutcome {
    /// All processes have ended.
    All,
    /// The process group has ended. Processes outside the group were not checked.
    Group,
    /// This many processes could not be ended.
    Left(u64),
    /// The supervisor did not report.
    Unknown,
}

impl RunningCommand {
    /// Starts a command in `directory`. Also returns the read end of the pipe that carries all
    /// of its output.
    pub(crate) async fn start(
        supervisor: Option<&Supervisor>,
        request: &Request,
        directory: &OwnedFd,
    ) -> io::Result<(Self, Receiver)> {
        let (output, writer) = io::pipe()?;
        // This fails if the user's limit for pipes is reached. The pipe then keeps its default
        // size.
        let _ = rustix::pipe::fcntl_setpipe_size(&writer, PIPE);
        let output = Receiver::from_owned_fd(output.into())?;
        let running = match supervisor {
            Some(supervisor) => Self::Supervised(Box::new(
                Supervised::start(supervisor, request, directory, writer.into()).await?,
            )),
            None => Self::Group(Group::start(request, directory, writer)?),
        };
        Ok((running, output))
    }

    /// Waits for the shell to end. Cancel-safe.
    pub(crate) async fn ended(&mut self) -> Result<ExitOutcome, ToolError> {
        match self {
            Self::Supervised(supervised) => supervised.ended().await,
            Self::Group(group) => group.ended().await.map_err(|error| lost(&error)),
        }
    }

    /// Ends the command and all that it started.
    pub(crate) async fn stop(self) -> StopOutcome {
        match self {
            Self::Supervised(supervised) => supervised.stop().await,
            Self::Group(group) => group.stop().await,
        }
    }

    /// Finishes a command whose shell has ended and whose output is closed. With a supervisor,
    /// processes in the background go on, and the command is returned so that the caller can end
    /// them later. Without a supervisor, they are ended now.
    pub(crate) async fn settle(self) -> Option<Supervised> {
        match self {
            Self::Supervised(supervised) if supervised.background => Some(*supervised),
            // The supervisor ends by itself, because no process is left to supervise.
            Self::Supervised(mut supervised) => {
                drop(timeout(GRACE, supervised.child.wait()).await);
                None
            }
            Self::Group(group) => {
                group.stop().await;
                None
            }
        }
    }
}

/// The path through which a child process, between fork and exec, refers to the open directory. The
/// directory's own path could lead to another directory by then.
pub(super) fn in_proc(directory: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", directory.as_raw_fd())
}

/// Makes sure that a supervisor whose lifeline is closed ends. The command may suspend it at any time,
/// so that it would not see that.
fn see_off(supervisor: &Process, shell: Option<&Process>) {
    let patience = Instant::now() + PATIENCE;
    while supervisor.is_alive() && Instant::now() < patience {
        supervisor.signal(Signal::CONT);
        thread::sleep(LOOK);
    }
    if supervisor.is_alive() {
        // While the shell has not been reaped, the id of its group belongs to no other group.
        let group = shell.filter(|shell| shell.now().is_some());
        if let Some(group) = group.and_then(|shell| Pid::from_raw(shell.pid)) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        // The kernel kills the shell when its supervisor ends.
        supervisor.signal(Signal::KILL);
    }
}

/// The error for a program that does not start.
pub(super) fn no_start(program: &Path, error: &io::Error) -> io::Error {
    io::Error::other(format!("{} does not start: {error}", program.display()))
}

fn lost(error: &dyn std::fmt::Display) -> ToolError {
    ToolError::new(format!(
        "The command was started, but how it ended is not known: {error}. \
         Please look at what it did before you run it again."
    ))
}

/// A command with a supervisor.
#[derive(Debug)]
pub(crate) struct Supervised {
    child: Child,
    /// The supervisor's standard input. While it is open, the supervisor lets the command run.
    lifeline: Option<ChildStdin>,
    reports: Lines<BufReader<Take<ChildStderr>>>,
    /// The shell's process group, while the shell runs.
    group: Option<Pid>,
    /// Whether the shell was started at all.
    is_begun: bool,
    /// Whether processes were still running when the shell ended.
    background: bool,
}

impl Supervised {
    async fn start(
        supervisor: &Supervisor,
        request: &Request,
        directory: &OwnedFd,
        output: OwnedFd,
    ) -> io::Result<Self> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        let mut child = Command::new(&supervisor.program)
            .args(&supervisor.arguments)
            .env_clear()
            .current_dir(Path::new(&in_proc(directory)))
            .stdin(Stdio::piped())
            .stdout(output)
            .stderr(Stdio::piped())
            // Keeps signals of our terminal away from the supervisor.
            .process_group(0)
            .spawn()
            .map_err(|error| no_start(&supervisor.program, &error))?;
        let mut lifeline = child.stdin.take().expect("invariant: it is piped");
        let reports = child.stderr.take().expect("invariant: it is piped");
        // An error is ignored: if the supervisor has already ended, its reports give the reason.
        drop(lifeline.write_all(&line).await);
        Ok(Self {
            child,
            lifeline: Some(lifeline),
            reports: BufReader::new(reports.take(REPORTS)).lines(),
            group: None,
            is_begun: false,
            background: false,
        })
    }

    /// Reads the next report. A line that is not a report is taken as an error message of the
    /// supervisor.
    async fn report(&mut self) -> Result<Report, String> {
        let line = match self.reports.next_line().await {
            Ok(Some(line)) => line,
            Ok(None) => return Err("its supervisor ended before it".to_owned()),
            Err(error) => return Err(error.to_string()),
        };
        let strange = |_| {
            format!(
                "its supervisor broke down: {}",
                spillgate_text::clip(&line, 200)
            )
        };
        serde_json::from_str(&line).map_err(strange)
    }

    async fn ended(&mut self) -> Result<ExitOutcome, ToolError> {
        loop {
            match self.report().await {
                Ok(Report::Started { group }) => {
                    (self.group, self.is_begun) = (Pid::from_raw(group), true);
                }
                Ok(Report::Ended { fate, background }) => {
                    (self.group, self.background) = (None, background);
                    return Ok(fate);
                }
                Ok(Report::Refused { why }) => return Err(not_run(&why)),
                Ok(Report::Left { .. }) => {}
                Err(how) if !self.is_begun => return Err(not_run(&how)),
                Err(how) => {
                    self.end_group();
                    return Err(lost(&how));
                }
            }
        }
    }

    /// Kills the shell's process group. The shell is killed with its supervisor, but processes that
    /// it started may survive. The group's id is not reused while a process of the group exists.
    fn end_group(&mut self) {
        if let Some(group) = self.group.take() {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    async fn stop(mut self) -> StopOutcome {
        self.let_go();
        let mut left = 0;
        let told = async {
            while let Ok(Some(line)) = self.reports.next_line().await {
                if let Ok(Report::Left { processes }) = serde_json::from_str(&line) {
                    left = processes;
                }
            }
            self.child.wait().await
        };
        match timeout(PATIENCE + GRACE, told).await {
            Ok(Ok(status)) if status.success() && left == 0 => StopOutcome::All,
            Ok(Ok(status)) if status.success() => StopOutcome::Left(left),
            _ => StopOutcome::Unknown,
        }
    }

    /// Closes the lifeline. The supervisor then ends all processes and itself.
    fn let_go(&mut self) {
        let supervisor = self
            .child
            .id()
            .and_then(|id| Process::read(id.cast_signed()));
        if let (Some(_), Some(supervisor)) = (self.lifeline.take(), supervisor) {
            let shell = self.group.map(|pid| pid.as_raw_nonzero().get());
            let shell = shell.and_then(Process::read);
            thread::spawn(move || see_off(&supervisor, shell.as_ref()));
        }
    }

    /// Whether the command and all that it started have ended.
    pub(crate) fn is_over(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.let_go();
    }
}

/// The error for a command that was not run.
pub(super) fn not_run(why: &str) -> ToolError {
    ToolError::new(format!(
        "The command was not run: {why}. This is a matter of how the tools are set up, \
         not of the command."
    ))
}
