//! How does a message of any size come in?

use std::sync::Arc;

use spillgate_store::ArtifactStore;

use crate::Frame;

/// Takes in messages.
#[derive(Debug, Clone)]
pub struct Intake {
    #[expect(dead_code, reason = "where large members go, next")]
    store: Arc<dyn ArtifactStore>,
}

impl Intake {
    /// An intake that keeps large messages in drafts of `store`.
    #[must_use]
    pub fn new(store: Arc<dyn ArtifactStore>) -> Self {
        Self { store }
    }

    /// Begins a message.
    #[must_use]
    pub fn begin(&self) -> Taking {
        Taking { bytes: Vec::new() }
    }
}

/// A message that is coming in.
#[derive(Debug)]
pub struct Taking {
    bytes: Vec<u8>,
}

impl Taking {
    /// Takes the next bytes.
    pub async fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The message is complete.
    pub async fn finish(self) -> Frame {
        Frame::Memory(self.bytes.into())
    }
}
