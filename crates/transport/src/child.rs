//! A server that runs as a child process: starting it, its standard streams, ending it.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::stderr_tail::StderrTail;
use crate::{
    Connection, ConnectionError, FrameReader, Frames, Item, Message, ServerEvent, Sink, one_line,
};
use spillgate_mcp::RequestId;
use spillgate_store::keep_key_from;

/// How long a server may take to end after its input is closed. MCP requires a server to end then.
const GRACE: Duration = Duration::from_secs(4);

/// How long a server may take to end after SIGTERM. This must stay below two seconds: clients such
/// as the SDKs send SIGTERM to the gateway and kill it two seconds later. A server that is still
/// running then would never be ended.
const TERM_GRACE: Duration = Duration::from_millis(1500);

/// How long to wait for the exit status of a server that has closed its output.
const MOMENT: Duration = Duration::from_millis(500);

/// Size of the pipes, in bytes. It exceeds the default of 64 KB, so a server needs fewer writes for
/// a large result.
const PIPE_BYTES: usize = 1 << 20;

/// How to start a server. `Debug` does not print arguments and variables, because they may contain
/// secrets.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct ServerCommand {
    /// The program.
    pub program: String,
    /// The program's arguments.
    pub arguments: Vec<String>,
    /// Variables added to the environment.
    pub env: BTreeMap<String, String>,
    /// The working directory; `None` means the working directory of this process.
    pub directory: Option<PathBuf>,
    /// What happens to the server's standard error.
    pub log: ServerLog,
}

/// What happens to a server's standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ServerLog {
    /// The server's standard error is written to the standard error of this process.
    #[default]
    Ours,
    /// The server's standard error is discarded, except that its last lines are reported when the
    /// server ends.
    StderrTail,
}

impl fmt::Debug for ServerCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.env.keys().collect();
        f.debug_struct("ServerCommand")
            .field("program", &self.program)
            .field("arguments", &self.arguments.len())
            .field("env", &names)
            .field("directory", &self.directory)
            .field("log", &self.log)
            .finish()
    }
}

/// A running server. The process leads its own process group, so that the children of a launcher
/// such as `npx` are ended with it.
#[derive(Debug)]
pub struct ChildConnection {
    stdin: Mutex<Option<ChildStdin>>,
    /// Cancelled to stop a write that waits because the server does not read its input.
    given_up: CancellationToken,
    child: Arc<Mutex<Child>>,
    group: Option<Pid>,
    pump: Mutex<Option<JoinHandle<()>>>,
}

impl ChildConnection {
    /// Starts the server. Its messages are delivered to `sink`.
    pub fn start(
        command: &ServerCommand,
        frame_reader: FrameReader,
        sink: Arc<dyn Sink>,
    ) -> Result<Self, ConnectionError> {
        let failed = |error: io::Error| {
            let program = command.program.escape_debug();
            ConnectionError::Start(format!("`{program}`: {error}"))
        };
        let (mut child, stdin, stdout) = spawn(command).map_err(failed)?;
        let words = child.stderr.take().map(StderrTail::of);
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let child = Arc::new(Mutex::new(child));
        let pump = tokio::spawn(pump(stdout, words, Arc::clone(&child), frame_reader, sink));
        Ok(Self {
            stdin: Mutex::new(Some(stdin)),
            given_up: CancellationToken::new(),
            child,
            group,
            pump: Mutex::new(Some(pump)),
        })
    }

    async fn write(&self, message: Message) -> Result<(), ConnectionError> {
        let mut stdin = self.stdin.lock().await;
        let Some(to) = &mut *stdin else {
            return Err(ConnectionError::Gone("has ended".to_owned()));
        };
        let line = one_line(message.frame);
        let written = tokio::select! {
            biased;
            written = to.write_all(&line) => written.map_err(|_| "closed its input"),
            () = self.given_up.cancelled() => Err("did not read its input"),
        };
        written.map_err(|how| {
            *stdin = None; // `pump` reports how the server ended
            ConnectionError::Gone(how.to_owned())
        })
    }

    /// Ends the server and waits until it has ended. Closes its input first, then sends SIGTERM,
    /// then kills it.
    async fn end(&self, hurried: bool) {
        let ended = async {
            drop(self.stdin.lock().await.take());
            self.child.lock().await.wait().await
        };
        if !hurried {
            drop(timeout(GRACE, ended).await);
        }
        // A pending write locks the input; cancelling ends the write.
        self.given_up.cancel();
        drop(self.stdin.lock().await.take());
        // Signal the whole group, because the server may have left children running.
        self.signal(Signal::TERM);
        let mut child = self.child.lock().await;
        if timeout(TERM_GRACE, child.wait()).await.is_err() {
            self.signal(Signal::KILL);
            // Wait without a limit, because a killed process always ends.
            let _ = child.wait().await;
        }
        drop(child);
        if let Some(pump) = self.pump.lock().await.take()
            && !hurried
        {
            // Wait until the pump has delivered the last output.
            drop(timeout(MOMENT, pump).await);
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // An error is ignored: the process may already have ended.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Connection for ChildConnection {
    fn send(&self, message: Message) -> BoxFuture<'_, Result<(), ConnectionError>> {
        self.write(message).boxed()
    }

    fn listen(&self, _: Option<String>) -> BoxFuture<'_, Result<(), ConnectionError>> {
        std::future::ready(Ok(())).boxed()
    }

    fn abandon(&self, _: &RequestId) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }

    fn close(&self, hurried: bool) -> BoxFuture<'_, ()> {
        self.end(hurried).boxed()
    }
}

fn spawn(command: &ServerCommand) -> io::Result<(Child, ChildStdin, ChildStdout)> {
    let mut builder = Command::new(&command.program);
    // A server gets the key only if its settings name the variable.
    keep_key_from(builder.as_std_mut());
    builder
        .args(&command.arguments)
        .envs(&command.env)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    if command.log == ServerLog::StderrTail {
        builder.stderr(Stdio::piped());
    }
    if let Some(directory) = &command.directory {
        builder.current_dir(directory);
    }
    let mut child = builder.spawn()?;
    let missing = || io::Error::other("it has no standard streams");
    let stdin = child.stdin.take().ok_or_else(missing)?;
    let stdout = child.stdout.take().ok_or_else(missing)?;
    for pipe in [stdin.as_fd(), stdout.as_fd()] {
        // The call fails if the size exceeds the user's limit. The pipe then keeps its default
        // size.
        let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_BYTES);
    }
    Ok((child, stdin, stdout))
}

/// Delivers messages from the server to the sink until the server closes its output.
async fn pump(
    stdout: ChildStdout,
    words: Option<StderrTail>,
    child: Arc<Mutex<Child>>,
    frame_reader: FrameReader,
    sink: Arc<dyn Sink>,
) {
    let mut frames = Frames::new(Box::new(stdout));
    let mut to = Arc::clone(&sink);
    let mut too_long = None;
    let event = |item| ServerEvent {
        of: None,
        event: None,
        item,
    };
    loop {
        match frames.take_in(&frame_reader).await {
            Ok(Some(frame)) => {
                while let Some(direct) = to.direct() {
                    to = direct;
                }
                to.take(event(Item::Message(frame))).await;
            }
            Ok(None) => break,
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                too_long = Some(format!("{error} and was ended"));
                break;
            }
            Err(error) => {
                tracing::warn!(%error, "the output of a server could not be read");
                break;
            }
        }
    }
    if let Some(how) = too_long {
        tracing::warn!("a server {how}");
        // The rest of the output cannot be split into messages. If nobody reads it, the server
        // blocks on the full pipe, so the server is killed.
        let _ = child.lock().await.start_kill();
        sink.take(event(Item::Gone(how))).await;
        return;
    }
    let ended = async { child.lock().await.wait().await };
    let how = match timeout(MOMENT, ended).await {
        Ok(Ok(status)) => how_it_ended(status),
        _ => "closed its output".to_owned(),
    };
    let said = match words {
        Some(words) => words.told(MOMENT).await,
        None => None,
    };
    let how = match said {
        Some(said) => format!("{how} (its last words: {said})"),
        None => how,
    };
    sink.take(event(Item::Gone(how))).await;
}

fn how_it_ended(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}
