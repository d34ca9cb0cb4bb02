//! Where does the answer stand?

use std::fmt;

use spillgate_llm::Stop;

/// A value that nobody can guess: 128 random bits, in hex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nonce(String);

impl Nonce {
    /// The nonce of 16 bytes.
    #[must_use]
    pub fn of(bytes: [u8; 16]) -> Self {
        Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where nonces come from.
pub trait Nonces: Send + Sync + fmt::Debug {
    /// One that was never given before.
    fn fresh(&self) -> Nonce;
}

/// Nonces of the system's random source.
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomNonces;

impl Nonces for RandomNonces {
    fn fresh(&self) -> Nonce {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("invariant: the system has random bytes");
        Nonce::of(bytes)
    }
}

/// The slot of one answer.
#[derive(Debug, Clone)]
pub struct Slot {
    nonce: Nonce,
}

/// Why a reply has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SlotError {
    /// It has no text.
    #[error("received empty content")]
    Empty,
    /// The wrapper is missing.
    #[error("failed to emit final report")]
    Missing,
    /// Two wrappers hold different answers.
    #[error("emitted two different final reports")]
    Ambiguous,
    /// The wrapper is not closed, and the model did not stop by itself.
    #[error("emitted a final report that was cut off")]
    CutOff,
}

impl Slot {
    /// A slot that `nonce` names.
    #[must_use]
    pub fn new(nonce: Nonce) -> Self {
        Self { nonce }
    }

    /// What names it.
    #[must_use]
    pub fn nonce(&self) -> &Nonce {
        &self.nonce
    }

    /// Its opening tag.
    #[must_use]
    pub fn opening(&self) -> String {
        format!("<ai-agent-{}-FINAL format=\"text\">", self.nonce)
    }

    /// Its closing tag.
    #[must_use]
    pub fn closing(&self) -> String {
        format!("</ai-agent-{}-FINAL>", self.nonce)
    }

    /// The answer in a reply that stopped because of `stop`.
    pub fn answer(&self, reply: &str, stop: &Stop) -> Result<String, SlotError> {
        let _ = (reply, stop);
        Err(SlotError::Missing)
    }
}
