//! The supervisor of a command.
//!
//! It starts one shell, tells how that ended, and ends everything that came of it when
//! nobody wants it any more: when its standard input ends or it is told to terminate.
//! What leaves its group or loses its parent becomes the supervisor's child, so that
//! nothing gets out of its sight. It stays as long as something is there.

mod confine;
mod start;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, PipeReader, Read, Write};
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

/// The argument that makes a supervisor's program the one that becomes the shell.
const START: &str = "start";

/// How long until it is looked again who is left.
const LOOK: Duration = Duration::from_millis(10);

/// Bytes that are read of why a shell was not started.
const WHY: u64 = 4096;

/// Supervises one command: the request stands in standard input, output goes to
/// standard output, reports to standard error. `arguments` are those behind what makes
/// the program a supervisor. Gives the exit code. Only ever called in a process of its
/// own that has one thread.
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

/// Starts this program again, which confines itself and becomes the shell. Until it
/// does, its standard output is where it says why it cannot.
fn spawn(request: &Request, line: &str) -> io::Result<Pid> {
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    let (mut refusal, refuses) = io::pipe()?;
    let mut child = Command::new("/proc/self/exe")
        .args(&request.supervisor)
        .arg(START)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(refuses)
        .stderr(output)
        .spawn()?;
    // The output ends when the last one of the command lets go of it.
    rustix::stdio::dup2_stdout(File::options().write(true).open("/dev/null")?)?;
    let pid = Pid::from_child(&child);
    // Told before anything runs that could end us. That nobody listens any more is told
    // by standard input, too.
    let group = pid.as_raw_nonzero().get();
    drop(report(&Report::Started { group }));
    let mut stdin = child.stdin.take().expect("invariant: it is piped");
    // If it has ended, what it said tells more.
    drop(stdin.write_all(line.as_bytes()));
    drop(stdin);
    let why = read_refusal(&mut refusal)?;
    match why.is_empty() {
        true => Ok(pid),
        false => Err(io::Error::other(why)),
    }
}

fn read_refusal(refusal: &mut PipeReader) -> io::Result<String> {
    let mut why = Vec::new();
    refusal.take(WHY).read_to_end(&mut why)?;
    Ok(String::from_utf8_lossy(&why).into_owned())
}

/// What can happen: a child ended; it is time to end.
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

    /// Waits until something happens; true if it is time to end.
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
        // What was heard is heard; who ended is asked for anyway.
        let mut heard = [0; 64];
        while (&self.child).read(&mut heard).is_ok_and(|n| n > 0) {}
        Ok(is_over)
    }
}

/// What was started.
struct ChildWatch {
    /// The shell, until it has ended.
    shell: Option<Pid>,
}

impl ChildWatch {
    /// Asks how those ended that did, and reports on the shell; false if nobody is left.
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
            // Nobody listens any more: then standard input has ended, too.
            drop(report(&Report::Ended { fate, background }));
        }
        is_left
    }

    /// Ends all that is left: asks first, then does not ask. Gives how many there are
    /// nevertheless: those of another user, say.
    fn end_all(&mut self, events: &Events) -> io::Result<u64> {
        let own = getpid();
        for process in processes::descendants(own)? {
            process.signal(Signal::TERM);
            // One that is stopped would not hear it.
            process.signal(Signal::CONT);
        }
        let patience = Instant::now() + GRACE;
        while self.reap() && Instant::now() < patience {
            events.wait(Some(LOOK))?;
        }
        // One that is killed starts nothing more, so that sooner or later all are.
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
