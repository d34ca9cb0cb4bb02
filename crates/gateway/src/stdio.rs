//! How are the standard streams read and written without a thread in between?
//!
//! Clients connect them to pipes or, as Node does, to socket pairs; both can be
//! awaited directly, which saves two thread hops a message. Anything else (a
//! terminal, a file) goes through a helper thread.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;

use rustix::fs::{FileType, fstat};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// Bytes read from a stream at a time: a pipe's usual size.
const BUFFER: usize = 64 << 10;

/// A stream of frames coming in.
pub(crate) type Input = Box<dyn AsyncRead + Send + Unpin>;
/// A stream of frames going out.
pub(crate) type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// The process's standard input.
pub(crate) fn input() -> io::Result<Input> {
    let fd = io::stdin().as_fd().try_clone_to_owned()?;
    Ok(match kind(&fd)? {
        FileType::Fifo => Box::new(pipe::Receiver::from_owned_fd(fd)?),
        FileType::Socket => Box::new(socket(fd)?),
        _ => Box::new(tokio::io::stdin()),
    })
}

/// The process's standard output.
pub(crate) fn output() -> io::Result<Output> {
    let fd = io::stdout().as_fd().try_clone_to_owned()?;
    Ok(match kind(&fd)? {
        FileType::Fifo => Box::new(pipe::Sender::from_owned_fd(fd)?),
        FileType::Socket => Box::new(socket(fd)?),
        _ => Box::new(tokio::io::stdout()),
    })
}

fn kind(fd: &OwnedFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(fd)?.st_mode))
}

fn socket(fd: OwnedFd) -> io::Result<UnixStream> {
    let stream = StdUnixStream::from(fd);
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

/// Reads frames: lines, in the stdio transport.
pub(crate) struct Frames {
    reader: BufReader<Input>,
}

impl Frames {
    pub(crate) fn new(input: Input) -> Self {
        Self {
            reader: BufReader::with_capacity(BUFFER, input),
        }
    }

    /// The next frame with its newline; the last may have none. `None` at the
    /// end.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut frame = Vec::new();
        let n = self.reader.read_until(b'\n', &mut frame).await?;
        Ok((n > 0).then_some(frame))
    }
}
