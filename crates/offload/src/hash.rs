//! SHA-256 of bytes in memory, computed in the background.

use std::fmt;
use std::sync::{Arc, LazyLock};
use std::thread::Builder;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// Size, in bytes, from which on hashing takes longer than starting a thread.
const MANY_BYTES: usize = 128 << 10;

/// A SHA-256 in hex, possibly still being computed.
#[derive(Clone)]
pub(crate) struct Hash(Arc<LazyLock<String, Box<dyn FnOnce() -> String + Send>>>);

impl Hash {
    /// Hashes bytes in memory; many bytes are hashed on a separate thread.
    pub(crate) fn of(bytes: &Bytes) -> Self {
        if bytes.len() < MANY_BYTES {
            return sha256(bytes).into();
        }
        let hashed = bytes.clone();
        let thread = Builder::new().spawn(move || sha256(&hashed));
        let bytes = bytes.clone();
        Self(Arc::new(LazyLock::new(Box::new(move || {
            let made = thread.ok().and_then(|thread| thread.join().ok());
            made.unwrap_or_else(|| sha256(&bytes))
        }))))
    }

    pub(crate) fn get(&self) -> &str {
        &self.0
    }
}

impl From<String> for Hash {
    fn from(made: String) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(|| made))))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hash")
    }
}

/// Returns the SHA-256 in hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_nothing() {
        assert!(sha256(b"").starts_with("e3b0c44298fc1c149afbf4c8996fb924"));
    }
}
