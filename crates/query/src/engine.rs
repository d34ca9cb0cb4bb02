//! Starts, monitors and ends the child process that runs a filter.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use spillgate_artifact::ByteSource;

use crate::QueryError;
use crate::protocol::{Message, REQUEST, Request};
use crate::source::Source;

/// How often the parent checks whether the caller still waits for the answer.
const CHECK_EVERY: Duration = Duration::from_millis(100);

/// Maximum number of bytes at the end of the child's standard error that are examined for the cause
/// of a failure.
const LAST_WORDS: usize = 4096;

/// Maximum number of characters of the child's standard error that an error quotes.
const QUOTED_WORDS: usize = 200;

/// Bytes of a block that is copied to a child.
const BLOCK: usize = 256 << 10;

/// Settings of glibc's allocator in the child; other systems ignore them. jq frees its values one
/// by one, by the thousands. By default, glibc would merge the freed memory again and again (fast
/// bins), return it to the system (trimming), and keep only seven freed blocks of a size at hand
/// (thread cache). With these settings, a filter on half a million values takes a third less time.
/// Large pages are worse: the system compacts memory for them, which tripled the time of a filter on
/// a busy machine.
const ALLOCATOR: &str = "glibc.malloc.mxfast=0:glibc.malloc.tcache_count=65535\
    :glibc.malloc.top_pad=67108864:glibc.malloc.trim_threshold=4294967296";

/// The program that runs filters. It must call [`child_main`](crate::child_main) with the value of
/// the environment variable [`REQUEST`](crate::REQUEST).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    /// The program, usually the one that is running.
    pub program: PathBuf,
    /// The arguments that make it run as the child.
    pub arguments: Vec<OsString>,
}

/// Limits of one filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryLimits {
    /// Maximum memory in addition to the data, in bytes. jaq's values take about nine times as many
    /// bytes as their JSON.
    pub memory: u64,
    /// Processor time, in whole seconds.
    pub cpu: Duration,
    /// Wall-clock time.
    pub wall: Duration,
    /// Time limit for counting the results after the page.
    pub counting: Duration,
    /// Maximum number of results after the page that are counted.
    pub counted: u64,
    /// Maximum nesting depth of a document.
    pub depth: usize,
}

impl Default for QueryLimits {
    /// Returns the default limits: 2 GiB of memory, which is enough for a document of 200 MB; 10 s
    /// of processor time and of wall-clock time; one second and a million results for counting; 512
    /// levels.
    fn default() -> Self {
        Self {
            memory: 2 << 30,
            cpu: Duration::from_secs(10),
            wall: Duration::from_secs(10),
            counting: Duration::from_secs(1),
            counted: 1_000_000,
            depth: 512,
        }
    }
}

/// Runs filters in child processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engine {
    /// The program that the child processes run.
    pub child: Child,
    /// The limits of each filter.
    pub limits: QueryLimits,
}

impl Engine {
    /// Creates an engine for this child with the default limits.
    #[must_use]
    pub fn new(child: Child) -> Self {
        Self {
            child,
            limits: QueryLimits::default(),
        }
    }

    /// Runs a request and passes the child's messages to `take`, until the last message or until
    /// the time for counting is over. The child has ended when this returns.
    pub(crate) fn run(
        &self,
        request: &Request,
        source: &Source<'_>,
        take: &mut dyn FnMut(Message),
    ) -> Result<(), QueryError> {
        let failed = OnceLock::new();
        let ran = std::thread::scope(|scope| {
            let mut guard = self.start(request, source)?;
            if let Some(mut stdin) = guard.child.stdin.take() {
                // The thread ends when the child has read everything or has ended, which it has
                // when the guard is dropped.
                let (bytes, failed) = (source.bytes, &failed);
                scope.spawn(move || {
                    if let Err(error) = copy(bytes, &mut stdin) {
                        drop(failed.set(error));
                    }
                });
            }
            self.follow(guard, request, source, take)
        });
        match failed.into_inner() {
            Some(error) => Err(io::Error::into(error)),
            None => ran,
        }
    }

    /// Passes the messages of a child to `take`.
    fn follow(
        &self,
        mut guard: ChildGuard,
        request: &Request,
        source: &Source<'_>,
        take: &mut dyn FnMut(Message),
    ) -> Result<(), QueryError> {
        let mut lines = MessageReader {
            bytes: Vec::new(),
            // One byte of text takes up to six bytes in JSON.
            limit: request.window * 6 + (64 << 10),
        };
        let mut deadline = Instant::now() + self.limits.wall;
        let mut full = false;
        loop {
            let Some(more) = guard.read(deadline, source.bytes)? else {
                return match full {
                    true => Ok(()),
                    false => Err(QueryError::Timeout {
                        limit: self.limits.wall,
                    }),
                };
            };
            if more.is_empty() {
                return match full {
                    true => Ok(()),
                    false => Err(self.diagnosis(guard, source.bytes)?),
                };
            }
            for message in lines.feed(more)? {
                let is_last = matches!(message, Message::End(_) | Message::Refused(_));
                if message.only_counts() && !full {
                    full = true;
                    deadline = deadline.min(Instant::now() + self.limits.counting);
                }
                take(message);
                if is_last {
                    return Ok(());
                }
            }
        }
    }

    fn start(&self, request: &Request, source: &Source<'_>) -> Result<ChildGuard, QueryError> {
        let request = serde_json::to_string(request).map_err(io::Error::from)?;
        let stdin = match source.bytes.file() {
            // The child reads the same open file, so nothing is copied.
            Some(file) => Stdio::from(file.try_clone()?),
            None => Stdio::piped(),
        };
        let mut child = Command::new(&self.child.program)
            .args(&self.child.arguments)
            .env_clear()
            .env(REQUEST, request)
            .env("GLIBC_TUNABLES", ALLOCATOR)
            .current_dir("/")
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(QueryError::Spawn)?;
        let out = child.stdout.take().expect("invariant: it is piped");
        Ok(ChildGuard { child, out })
    }

    /// Returns why the child ended without its last message.
    fn diagnosis(&self, mut guard: ChildGuard, source: &dyn ByteSource) -> io::Result<QueryError> {
        let status = guard.child.wait()?;
        let mut words = Vec::new();
        if let Some(stderr) = guard.child.stderr.take() {
            // The child has ended, so at most the content of a pipe's buffer remains to be read.
            stderr.take(1 << 20).read_to_end(&mut words)?;
        }
        // The cause of the failure is at the end.
        let words = String::from_utf8_lossy(&words[words.len().saturating_sub(LAST_WORDS)..]);
        let is_signal = |signal: Signal| status.signal() == Some(signal.as_raw());
        Ok(if words.contains("overflowed its stack") {
            QueryError::Recursed
        } else if words.contains("memory allocation of") || words.contains("capacity overflow") {
            QueryError::Memory {
                limit: self.limits.memory,
            }
        } else if is_signal(Signal::XCPU) {
            QueryError::Timeout {
                limit: self.limits.cpu,
            }
        } else {
            // If the file has become shorter, the child has read too little, and this read fails.
            if let Some(last) = source.len().checked_sub(1) {
                source.read_exact_at(&mut [0], last)?;
            }
            QueryError::Died {
                how: exit_text(status, words.trim()),
            }
        })
    }
}

fn exit_text(status: ExitStatus, words: &str) -> String {
    let mut how = status.to_string();
    if !words.is_empty() {
        how.push_str(": ");
        let skipped = words.chars().count().saturating_sub(QUOTED_WORDS);
        how.extend(words.chars().skip(skipped));
    }
    how
}

/// Copies all bytes of a source to the input of a child. A child that reads no more is no error.
fn copy(source: &dyn ByteSource, stdin: &mut ChildStdin) -> io::Result<()> {
    let mut buffer = Vec::new();
    for start in (0..source.len()).step_by(BLOCK) {
        let block = source.window(start, start + BLOCK as u64, &mut buffer)?;
        match stdin.write_all(block) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            written => written?,
        }
    }
    Ok(())
}

/// When dropped, kills the child and waits for its end.
#[derive(Debug)]
struct ChildGuard {
    child: std::process::Child,
    out: std::process::ChildStdout,
}

impl ChildGuard {
    /// Returns the next bytes of the child's output; no bytes at the end of the output, `None`
    /// after the deadline.
    ///
    /// # Errors
    ///
    /// Fails if the work on `source` is cancelled.
    fn read(&mut self, deadline: Instant, source: &dyn ByteSource) -> io::Result<Option<Vec<u8>>> {
        loop {
            source.check()?;
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left.min(CHECK_EVERY)).map_err(io::Error::other)?;
            let mut waited = [PollFd::new(&self.out, PollFlags::IN)];
            match poll(&mut waited, Some(&timeout)) {
                Ok(0) if left <= CHECK_EVERY => return Ok(None),
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                ready => {
                    ready?;
                    break;
                }
            }
        }
        let mut bytes = vec![0; 64 << 10];
        let n = self.out.read(&mut bytes)?;
        bytes.truncate(n);
        Ok(Some(bytes))
    }
}

impl Drop for ChildGuard {
    fn drop(&mut self) {
        // Both calls fail only if the child has already ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Assembles messages from the bytes that the child sends.
struct MessageReader {
    bytes: Vec<u8>,
    limit: usize,
}

impl MessageReader {
    fn feed(&mut self, more: Vec<u8>) -> Result<Vec<Message>, QueryError> {
        self.bytes.extend(more);
        let strange = |how: String| QueryError::Died { how };
        if self.bytes.len() > self.limit {
            return Err(strange("it said more than it was asked for".to_owned()));
        }
        let end = self.bytes.iter().rposition(|&byte| byte == b'\n');
        let rest = self.bytes.split_off(end.map_or(0, |newline| newline + 1));
        let lines = std::mem::replace(&mut self.bytes, rest);
        let messages = serde_json::Deserializer::from_slice(&lines).into_iter();
        messages
            .collect::<Result<_, _>>()
            .map_err(|error| strange(format!("it said what is no answer: {error}")))
    }
}
