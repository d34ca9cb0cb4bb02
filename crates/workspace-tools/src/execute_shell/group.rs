//! Runs a command without a supervisor, in a process group of its own.
//!
//! A command is stopped by signals to its process group. Processes that have left the group
//! (`setsid`) are not stopped.

use std::io::{self, PipeWriter};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use super::processes::living_in;
use super::protocol::{ExitOutcome, Request};
use super::running::{StopOutcome, in_proc, no_start};
use super::{GRACE, KILLING};

/// Interval between two checks for remaining processes.
const LOOK: Duration = Duration::from_millis(10);

/// A shell that leads a process group.
#[derive(Debug)]
pub(crate) struct Group {
    /// The shell. It is reaped only after its group has ended, so that its process id is not reused
    /// before.
    leader: Option<Leader>,
    /// The shell's exit, sent by the thread that waits for it.
    exit: oneshot::Receiver<io::Result<ExitOutcome>>,
}

#[derive(Debug)]
struct Leader {
    child: Child,
    pid: Pid,
}

impl Group {
    pub(crate) fn start(
        request: &Request,
        directory: &OwnedFd,
        output: PipeWriter,
    ) -> io::Result<Self> {
        let child = Command::new(&request.shell)
            .args(["-c", "--", &request.command])
            .env_clear()
            .envs(request.environment.iter().cloned())
            .current_dir(in_proc(directory))
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(0)
            .spawn()
            .map_err(|error| no_start(&request.shell, &error))?;
        let pid = Pid::from_child(&child);
        let leader = Some(Leader { child, pid });
        let (tell, exit) = oneshot::channel();
        // The thread ends when the shell ends, and the shell is ended when this value is dropped.
        thread::spawn(move || drop(tell.send(wait(pid))));
        Ok(Self { leader, exit })
    }

    /// Waits for the shell to end and returns how it ended. Must not be called again after it has
    /// returned.
    pub(crate) async fn ended(&mut self) -> io::Result<ExitOutcome> {
        (&mut self.exit).await.map_err(io::Error::other)?
    }

    /// Ends the whole group.
    pub(crate) async fn stop(mut self) -> StopOutcome {
        let leader = self
            .leader
            .take()
            .expect("invariant: taken here or in drop");
        let ended = spawn_blocking(move || leader.end()).await;
        match ended {
            Ok(0) => StopOutcome::Group,
            Ok(left) => StopOutcome::Left(left),
            Err(_) => StopOutcome::Unknown,
        }
    }
}

/// Waits for the shell without reaping it, so that its process id, which is also its group's id, is
/// not reused.
fn wait(pid: Pid) -> io::Result<ExitOutcome> {
    let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let status = retry_on_intr(|| waitid(WaitId::Pid(pid), how))?;
    let status = status.ok_or(io::ErrorKind::NotFound)?;
    let code = status.exit_status().map(ExitOutcome::Code);
    let fate = code.or_else(|| status.terminating_signal().map(ExitOutcome::Signal));
    fate.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.leader.take() {
            let _ = kill_process_group(leader.pid, Signal::TERM);
            thread::spawn(move || leader.end());
        }
    }
}

impl Leader {
    /// Ends the group, first with `SIGTERM`, then with `SIGKILL`. Returns the number of processes
    /// that still run.
    fn end(mut self) -> u64 {
        for (signal, patience) in [(Signal::TERM, GRACE), (Signal::KILL, KILLING)] {
            let patience = Instant::now() + patience;
            let mut asked = false;
            while self.living() > 0 && Instant::now() < patience {
                if !asked || signal == Signal::KILL {
                    let _ = kill_process_group(self.pid, signal);
                    asked = true;
                }
                thread::sleep(LOOK);
            }
        }
        let left = self.living();
        if left == 0 {
            drop(self.child.wait());
        }
        left
    }

    fn living(&self) -> u64 {
        living_in(self.pid).map_or(0, |living| living.len() as u64)
    }
}
