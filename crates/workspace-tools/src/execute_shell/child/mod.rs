//! The supervisor of a command.
//!
//! The supervisor starts one shell and reports how it ended. When its standard input closes or a
//! termination signal arrives, the caller no longer waits for the command, and the supervisor ends
//! every process that descends from the shell. It is a subreaper, so it adopts processes that leave
//! the process group or lose their parent, and none of them escapes. The supervisor runs until all
//! of these processes have ended.

mod confine;
mod start;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, set_child_subreaper, wait};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use super::protocol::{ExitOutcome, Report, Request};
use super::{GRACE, KILLING, processes};

/// The argument that makes the program become the shell instead of a supervisor.
const START: &str = "start";

/// Interval between two checks for remaining processes.
const LOOK: Duration = Duration::from_millis(10);

/// Maximum length, in bytes, of the reason why a shell was not started.
const WHY: u64 = 4096;

/// Supervises one command: reads the request from standard input, and sends output to standard
/// output and reports to standard error. `arguments` are the program's arguments after
/// [`Supervisor::arguments`](crate::Supervisor::arguments). Returns the exit code. Must be called
/// in a process of its own that has a single thread.
pub fn shell_child_main(mut arguments: impl Iterator<Item = OsString>) -> u8 {
    match arguments.next() {
        None => u8::from(supervise().is_err()),
        Some(first) if first == START => start::start(),
        Some(_) => 2,
    }
}

fn supervise() -> io::Result<()> {
    let events = Events::listen()?;
    set_child_subreaper(Some(getpid()))?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    let request: Request = serde_json::from_str(&line)?;
    let shell = match spawn(&request, &line) {
        Ok(shell) => shell,
        Err(error) => {
            return report(&Report::Refused {
                why: error.to_string(),
            });
        }
    };
    let mut watch = ChildWatch { shell: Some(shell) };
    loop {
        if !watch.reap() {
            return Ok(());
        }
        if events.wait(None)? {
            break;
        }
    }
    let processes = watch.end_all(&events)?;
    match processes {
        0 => Ok(()),
        _ => report(&Report::Left { processes }),
    }
}

fn report(report: &Report) -> io::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    io::stderr().write_all(&line)
}

/// Starts this program again as the process that confines itself and becomes the shell. If that
/// process fails before it is the shell, it writes the reason to its standard output.
fn spawn(request: &Request, line: &str) -> io::Result<Pid> {
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    let (refusal, refuses) = io::pipe()?;
    let mut child = Command::new("/proc/self/exe")
        .args(&request.supervisor)
        .arg(START)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(refuses)
        .stderr(output)
        .spawn()?;
    // Closes this process's copy of the output pipe, so that the pipe closes when the command's
    // last process closes it.
    rustix::stdio::dup2_stdout(File::options().write(true).open("/dev/null")?)?;
    let pid = Pid::from_child(&child);
    // The report is sent before the command runs, because the command could end this process. An
    // error is ignored: if nobody reads the report, standard input closes, too.
    let group = pid.as_raw_nonzero().get();
    drop(report(&Report::Started { group }));
    let mut stdin = child.stdin.take().expect("invariant: it is piped");
    // An error is ignored: if the process has already ended, its output gives the reason.
    drop(stdin.write_all(line.as_bytes()));
    drop(stdin);
    let mut why = Vec::new();
    refusal.take(WHY).read_to_end(&mut why)?;
    match why.is_empty() {
        true => Ok(pid),
        false => Err(io::Error::other(String::from_utf8_lossy(&why))),
    }
}

/// The events that a supervisor waits for: a child ended, or the supervisor must end.
struct Events {
    child: UnixStream,
    end: UnixStream,
}

impl Events {
    fn listen() -> io::Result<Self> {
        let (child, child_signals) = UnixStream::pair()?;
        let (end, end_signals) = UnixStream::pair()?;
        pipe::register(SIGCHLD, child_signals)?;
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            pipe::register(signal, end_signals.try_clone()?)?;
        }
        child.set_nonblocking(true)?;
        Ok(Self { child, end })
    }

    /// Waits for an event. Returns true if the supervisor must end.
    fn wait(&self, longest: Option<Duration>) -> io::Result<bool> {
        let longest = longest.map(Timespec::try_from).transpose();
        let longest = longest.map_err(io::Error::other)?;
        let stdin = io::stdin();
        let mut waited = vec![PollFd::new(&self.child, PollFlags::IN)];
        if longest.is_none() {
            waited.push(PollFd::new(&self.end, PollFlags::IN));
            waited.push(PollFd::new(&stdin, PollFlags::IN));
        }
        match poll(&mut waited, longest.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        let is_over = waited[1..].iter().any(|one| !one.revents().is_empty());
        // Drains the pipe; `reap` finds out which children ended.
        let mut heard = [0; 64];
        while (&self.child).read(&mut heard).is_ok_and(|n| n > 0) {}
        Ok(is_over)
    }
}

/// The processes under supervision.
struct ChildWatch {
    /// The shell; `None` after it has ended.
    shell: Option<Pid>,
}

impl ChildWatch {
    /// Reaps the children that have ended, and reports the shell's exit. Returns false if no
    /// children are left.
    fn reap(&mut self) -> bool {
        let mut ended = None;
        let is_left = loop {
            match wait(WaitOptions::NOHANG) {
                Ok(None) => break true,
                Ok(Some((pid, status))) if self.shell == Some(pid) => ended = fate(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Err(_) => break false,
            }
        };
        if let Some(fate) = ended {
            self.shell = None;
            let background = is_left;
            // An error is ignored: if nobody reads the report, standard input closes, too.
            drop(report(&Report::Ended { fate, background }));
        }
        is_left
    }

    /// Ends all remaining processes, first with `SIGTERM`, then with `SIGKILL`. Returns the number
    /// of processes that still run, such as processes of another user.
    fn end_all(&mut self, events: &Events) -> io::Result<u64> {
        let own = getpid();
        for process in processes::descendants(own)? {
            process.signal(Signal::TERM);
            // A stopped process would not handle `SIGTERM`.
            process.signal(Signal::CONT);
        }
        let patience = Instant::now() + GRACE;
        while self.reap() && Instant::now() < patience {
            events.wait(Some(LOOK))?;
        }
        // A killed process starts no other processes, so repeated kills eventually reach all of
        // them.
        let patience = Instant::now() + KILLING;
        while self.reap() && Instant::now() < patience {
            for process in processes::descendants(own)? {
                process.signal(Signal::KILL);
            }
            events.wait(Some(LOOK))?;
        }
        let left = processes::descendants(own)?;
        Ok(left.iter().filter(|process| !process.is_zombie).count() as u64)
    }
}

fn fate(status: WaitStatus) -> Option<ExitOutcome> {
    let code = status.exit_status().map(ExitOutcome::Code);
    code.or_else(|| status.terminating_signal().map(ExitOutcome::Signal))
}
