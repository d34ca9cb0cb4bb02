//! Reads and writes the standard streams without a helper thread where possible.
//!
//! Clients connect the standard streams to pipes or, as Node does, to socket pairs. Both can be
//! awaited directly, which saves two thread switches per message. All other kinds (a terminal, a
//! file) need a helper thread.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;

use bytes::Bytes;
use memchr::memchr;
use rustix::fs::{FileType, fstat};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

use crate::{Frame, FrameReader};

/// Maximum number of bytes read from a stream at a time: the usual size of a pipe.
const BUFFER: usize = 64 << 10;

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

/// Reads frames from a stream. In the stdio transport, each frame is a line.
pub struct Frames {
    reader: BufReader<Input>,
}

impl fmt::Debug for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frames").finish_non_exhaustive()
    }
}

impl Frames {
    /// Returns a reader for the frames of a stream.
    #[must_use]
    pub fn new(input: Input) -> Self {
        Self {
            reader: BufReader::with_capacity(BUFFER, input),
        }
    }

    /// Returns the next frame with its newline, which may be missing in the last frame; `None` at
    /// the end. A frame of more than `most` bytes is read to its end and discarded. The call then
    /// returns an error of kind `FileTooLarge`, and the next call returns the frame after it.
    pub async fn next(&mut self, most: usize) -> io::Result<Option<Vec<u8>>> {
        let mut frame = Vec::new();
        let mut is_too_long = false;
        loop {
            let block = self.reader.fill_buf().await?;
            let end = memchr(b'\n', block).map(|at| at + 1);
            let n = end.unwrap_or(block.len());
            is_too_long |= frame.len() + n > most;
            if is_too_long {
                frame = Vec::new();
            } else {
                frame.extend_from_slice(&block[..n]);
            }
            self.reader.consume(n);
            if end.is_some() || n == 0 {
                break;
            }
        }
        if is_too_long {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok((!frame.is_empty()).then_some(frame))
    }

    /// Returns the next frame, of any size that `frame_reader` accepts. Returns an error of kind
    /// `UnexpectedEof` if the stream ends inside a message. Half a message is useless, and the next
    /// output would continue its line. Returns an error of kind `FileTooLarge` with a
    /// [`TooLong`](crate::TooLong) if the message is too large. The rest of the message is not
    /// read, because it may have no end.
    pub async fn take_in(&mut self, frame_reader: &FrameReader) -> io::Result<Option<Frame>> {
        let mut taking = frame_reader.begin();
        let mut is_any = false;
        loop {
            let block = self.reader.fill_buf().await?;
            if block.is_empty() {
                return match is_any {
                    true => last(taking.finish().await).map(Some),
                    false => Ok(None),
                };
            }
            is_any = true;
            let end = memchr(b'\n', block).map(|at| at + 1);
            let n = end.unwrap_or(block.len());
            let fed = taking.feed(&block[..n]).await;
            fed.map_err(|error| io::Error::new(io::ErrorKind::FileTooLarge, error))?;
            self.reader.consume(n);
            if end.is_some() {
                return Ok(Some(taking.finish().await));
            }
        }
    }
}

/// Accepts the last frame of a stream without a newline if the frame is complete.
fn last(frame: Frame) -> io::Result<Frame> {
    match frame.is_whole() {
        true => Ok(frame),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Returns the message as one line with its line end. A message from HTTP may span several lines.
/// In JSON, raw line ends are allowed only outside of strings, so replacing them with spaces does
/// not change the meaning.
#[must_use]
pub fn one_line(frame: Bytes) -> Bytes {
    let text = frame.trim_ascii_end();
    if text.len() + 1 == frame.len() && frame.ends_with(b"\n") && memchr(b'\n', text).is_none() {
        return frame;
    }
    let flat = |&byte: &u8| {
        if matches!(byte, b'\n' | b'\r') {
            b' '
        } else {
            byte
        }
    };
    let mut line: Vec<u8> = match memchr(b'\n', &frame) {
        Some(at) if at < text.len() => text.iter().map(flat).collect(),
        end => frame[..end.unwrap_or(frame.len())].to_vec(),
    };
    line.push(b'\n');
    line.into()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use spillgate_store::MemoryStore;

    use super::*;

    #[tokio::test]
    async fn a_frame_that_is_too_long_is_left_out() {
        let long = "x".repeat(3 * BUFFER);
        for (stream, want) in [
            ("a\nbcd\ne".to_owned(), vec![Some("a\n"), None, Some("e")]),
            ("abc\n".to_owned(), vec![None]),
            ("abc".to_owned(), vec![Some("abc")]),
            ("abcd".to_owned(), vec![None]),
            (format!("{long}\nab\n"), vec![None, Some("ab\n")]),
        ] {
            let mut frames = Frames::new(Box::new(io::Cursor::new(stream.into_bytes())));
            let mut all = Vec::new();
            while let Some(next) = frames.next(3).await.transpose() {
                let kind = io::ErrorKind::FileTooLarge;
                all.push(
                    next.inspect_err(|error| assert_eq!(error.kind(), kind))
                        .ok(),
                );
            }
            let want: Vec<_> = want
                .into_iter()
                .map(|one| one.map(|text| text.as_bytes().to_vec()))
                .collect();
            assert_eq!(all, want);
        }
    }

    #[tokio::test]
    async fn half_a_message_is_none() {
        let frame_reader = FrameReader::new(Arc::new(MemoryStore::default())).spooling_at(20);
        let half = "{\"id\":1,\"result\":{\"text\":\"0123456789";
        for (stream, frames, is_whole) in [
            ("", 0, true),
            ("{}\n{}\n", 2, true),
            ("{}\nnonsense\n", 2, true),
            ("{}\n{\"id\":1}", 2, true),
            ("{}\n{\"id\":", 1, false),
            ("{}\nnonsense", 1, false),
            (&format!("{{}}\n{half}\"}}}}"), 2, true),
            (&format!("{{}}\n{half}"), 1, false),
        ] {
            let bytes = io::Cursor::new(stream.as_bytes().to_vec());
            let mut all = Frames::new(Box::new(bytes));
            let mut count = 0;
            let is_end = loop {
                match all.take_in(&frame_reader).await {
                    Ok(Some(_)) => count += 1,
                    Ok(None) => break true,
                    Err(error) => break error.kind() != io::ErrorKind::UnexpectedEof,
                }
            };
            assert_eq!((count, is_end), (frames, is_whole), "{stream}");
        }
    }

    #[test]
    fn a_message_is_one_line() {
        for (frame, line) in [
            ("{\"a\":1}\n", "{\"a\":1}\n"),
            ("{\"a\":1}", "{\"a\":1}\n"),
            ("{\"a\":1}\r\n", "{\"a\":1}\r\n"),
            ("{\r\n  \"a\": 1\n}\n", "{    \"a\": 1 }\n"),
            ("{\"a\":1}\r\n\n\n", "{\"a\":1}\r\n"),
            ("\n\n", "\n"),
            ("", "\n"),
        ] {
            assert_eq!(
                one_line(Bytes::from_static(frame.as_bytes())),
                line,
                "{frame:?}"
            );
        }
    }
}
