//! The server behind the gateway: started, waited for, ended.

use std::io;
use std::os::fd::AsFd;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::GatewayError;

/// How long a server may take to end after its input was closed, as the
/// protocol asks of it.
const GRACE: Duration = Duration::from_secs(4);

/// The same after SIGTERM. Clients send it to the gateway and kill it two
/// seconds later (the SDKs do), and who would end the server then?
const TERM_GRACE: Duration = Duration::from_millis(1500);

/// Larger than the default 64 KB, so that a server writes a large result in
/// fewer turns.
const PIPE_BYTES: usize = 1 << 20;

/// How a server is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerCommand {
    /// What the server is called in messages and in per-server rules.
    pub name: String,
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// How a server was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It had all the time that it may take.
    InTime,
    /// The waiting was cut short.
    Hurried,
}

/// A running server. It leads a process group of its own, so that what a
/// launcher such as `npx` started ends with it.
pub(crate) struct Upstream {
    child: Child,
    group: Option<Pid>,
}

impl Upstream {
    pub(crate) fn start(
        command: &ServerCommand,
    ) -> Result<(Self, ChildStdin, ChildStdout), GatewayError> {
        let failed = |source| GatewayError::Spawn {
            server: command.program.clone(),
            source,
        };
        let mut child = Command::new(&command.program)
            .args(&command.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let missing = || failed(io::Error::other("it has no standard streams"));
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        for pipe in [stdin.as_fd(), stdout.as_fd()] {
            // Refused over the user's limit: then the default has to do.
            let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_BYTES);
        }
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        Ok((Self { child, group }, stdin, stdout))
    }

    /// How it ended, if it did within a moment: said to the client.
    pub(crate) async fn how_it_ended(&mut self) -> String {
        const MOMENT: Duration = Duration::from_millis(500);
        match timeout(MOMENT, self.child.wait()).await {
            Ok(Ok(status)) => ended(status),
            _ => "closed its output".to_owned(),
        }
    }

    /// Waits for its end until `hurry` comes; asks for it, then forces it, when
    /// it does not come.
    pub(crate) async fn end(mut self, hurry: impl Future) -> Ended {
        let ended = tokio::select! {
            _ = timeout(GRACE, self.child.wait()) => Ended::InTime,
            _ = hurry => Ended::Hurried,
        };
        // Also for what it may have left behind.
        self.signal(Signal::TERM);
        if timeout(TERM_GRACE, self.child.wait()).await.is_err() {
            self.signal(Signal::KILL);
            // Killed, it cannot but end.
            let _ = self.child.wait().await;
        }
        ended
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // It may have ended meanwhile, which is what is wanted.
            let _ = kill_process_group(group, signal);
        }
    }
}

fn ended(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}
