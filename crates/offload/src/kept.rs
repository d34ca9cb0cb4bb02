//! What of a result whose text fits, but which is stored all the same?

use spillgate_artifact::Reason;
use spillgate_store::{Receipt, StoreError};

use crate::ledger::{Exit, LedgerEntry};
use crate::pipeline::Offloader;
use crate::policy::Fits;

impl Offloader {
    /// Stores a result whose text fits: something else in it does not. Entered
    /// with its text as shown.
    pub fn keep(&self, fits: Fits) -> Result<Receipt, StoreError> {
        let begun = self.clock().now();
        let measured = fits.measured;
        let limits = self.limits(&measured.sanitized.captured.origin);
        let stats = measured.stats();
        let receipt = self.put(measured, &stats, Reason::SizeCap, &limits)?;
        let facts = &receipt.manifest().facts;
        let now = self.clock().now();
        self.ledger().record(LedgerEntry {
            server: facts.origin.server.clone(),
            tool: facts.origin.tool.clone(),
            handle: Some(receipt.handle()),
            tokens_in: stats.tokens,
            tokens_shown: stats.tokens,
            bytes_in: facts.raw_bytes,
            micros: u64::try_from(begun.age_at(now).as_micros()).unwrap_or(u64::MAX),
            ..LedgerEntry::new(now, Exit::Offloaded)
        });
        Ok(receipt)
    }
}
