//! How is a result kept while it is read?

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::CacheEntry;

/// Stops a reader on another thread when it is dropped: nobody waits any more for
/// what it reads.
#[derive(Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Reads what a tool gave, and writes it into the cache on the way.
pub(crate) struct Teeing {
    body: Box<dyn Read + Send>,
    entry: Option<Box<dyn CacheEntry>>,
    stopped: Arc<AtomicBool>,
}

impl Teeing {
    pub(crate) fn new(
        body: Box<dyn Read + Send>,
        entry: Option<Box<dyn CacheEntry>>,
        stop: &Stop,
    ) -> Self {
        let stopped = Arc::clone(&stop.0);
        Self {
            body,
            entry,
            stopped,
        }
    }

    /// All of it was read.
    pub(crate) fn complete(self) {
        if let Some(Err(error)) = self.entry.map(CacheEntry::commit) {
            tracing::warn!(%error, "the tool cache failed");
        }
    }
}

impl Read for Teeing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stopped.load(Ordering::Relaxed) {
            return Err(io::Error::other("nobody waits for it any more"));
        }
        let bytes = self.body.read(buffer)?;
        let written = self
            .entry
            .as_mut()
            .map(|entry| entry.write(&buffer[..bytes]));
        if let Some(Err(error)) = written {
            if error.kind() == io::ErrorKind::FileTooLarge {
                tracing::debug!("too large for the tool cache");
            } else {
                tracing::warn!(%error, "the tool cache failed");
            }
            self.entry = None;
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_stops_when_nobody_waits() {
        let stop = Stop::default();
        let mut teeing = Teeing::new(Box::new(io::repeat(b'x')), None, &stop);
        let mut buffer = [0; 8];
        assert_eq!(teeing.read(&mut buffer).unwrap(), 8);
        drop(stop);
        assert!(teeing.read(&mut buffer).is_err());
    }
}
