//! Opens the standard streams without a helper thread where possible.
//!
//! Clients connect the standard streams to pipes or, as Node does, to socket pairs. Both can be
//! awaited directly, which saves two thread switches per message. All other kinds (a terminal, a
//! file) need a helper thread.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;

use rustix::fs::{FileType, fstat};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// A stream of incoming frames.
pub type Input = Box<dyn AsyncRead + Send + Unpin>;
/// A stream of outgoing frames.
pub type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Opens the process's standard input.
pub fn input() -> io::Result<Input> {
    let fd = io::stdin().as_fd().try_clone_to_owned()?;
    Ok(match kind(&fd)? {
        FileType::Fifo => Box::new(pipe::Receiver::from_owned_fd(fd)?),
        FileType::Socket => Box::new(socket(fd)?),
        _ => Box::new(tokio::io::stdin()),
    })
}

/// Opens the process's standard output.
pub fn output() -> io::Result<Output> {
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
