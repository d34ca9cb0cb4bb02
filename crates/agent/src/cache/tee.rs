//! Writes a result into the tool cache while it is read.

use std::io::{self, Read};

use spillgate_artifact::Interrupt;

use super::CacheEntry;

/// A reader of a tool's result that also writes it into the cache.
pub(crate) struct Teeing {
    body: Box<dyn Read + Send>,
    entry: Option<Box<dyn CacheEntry>>,
    stop: Interrupt,
}

impl Teeing {
    pub(crate) fn new(
        body: Box<dyn Read + Send>,
        entry: Option<Box<dyn CacheEntry>>,
        stop: Interrupt,
    ) -> Self {
        Self { body, entry, stop }
    }

    /// Completes the cache entry. Call it only after the whole result was read.
    pub(crate) fn complete(self) {
        if let Some(Err(error)) = self.entry.map(CacheEntry::commit) {
            tracing::warn!(%error, "a result could not be written to the tool cache");
        }
    }
}

impl Read for Teeing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() {
            return Err(io::Error::other("nobody waits for it any more"));
        }
        let bytes = self.body.read(buffer)?;
        let written = self
            .entry
            .as_mut()
            .map(|entry| entry.write(&buffer[..bytes]));
        if let Some(Err(error)) = written {
            if error.kind() == io::ErrorKind::FileTooLarge {
                tracing::debug!("a result is too large for the tool cache and is not cached");
            } else {
                tracing::warn!(%error, "a result could not be written to the tool cache");
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
        let stop = Interrupt::default();
        let mut teeing = Teeing::new(Box::new(io::repeat(b'x')), None, stop.clone());
        let mut buffer = [0; 8];
        assert_eq!(teeing.read(&mut buffer).unwrap(), 8);
        drop(stop.on_drop());
        assert!(teeing.read(&mut buffer).is_err());
    }
}
