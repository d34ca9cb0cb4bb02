//! The static tokens that are valid now.

use std::sync::Arc;

use parking_lot::RwLock;
use ring::digest::{SHA256, digest};
use spillgate_artifact::Principal;
use subtle::{Choice, ConstantTimeEq};

use super::SessionOwner;
use crate::settings::Token;

/// The static tokens that are valid. All copies have the same ones, so that they can be replaced while
/// the server runs.
#[derive(Debug, Clone, Default)]
pub struct ValidTokens(Arc<RwLock<Vec<Known>>>);

/// A token, by the SHA-256 hash of its bytes.
#[derive(Debug, Clone)]
struct Known {
    hash: [u8; 32],
    name: Option<Principal>,
}

impl ValidTokens {
    /// Returns the tokens.
    #[must_use]
    pub fn new(tokens: &[Token]) -> Self {
        let valid = Self::default();
        valid.replace(tokens);
        valid
    }

    /// Replaces all tokens. The sessions of tokens that are gone end soon.
    pub fn replace(&self, tokens: &[Token]) {
        let known = tokens.iter().map(|token| Known {
            hash: hash(token.reveal()),
            name: token.principal().cloned(),
        });
        *self.0.write() = known.collect();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.read().is_empty()
    }

    /// Whether a token is valid and still belongs to the same principal.
    pub(crate) fn has(&self, hash: &[u8; 32], name: Option<&Principal>) -> bool {
        let known = self.0.read();
        let is_same = |known: &Known| known.hash == *hash && known.name.as_ref() == name;
        known.iter().any(is_same)
    }

    /// Whether a principal has a token.
    #[must_use]
    pub fn are_of(&self, principal: &Principal) -> bool {
        let known = self.0.read();
        known
            .iter()
            .any(|known| known.name.as_ref() == Some(principal))
    }

    /// Returns the holder of a token. The time depends only on the number of valid tokens.
    pub(super) fn find(&self, token: &str) -> Option<SessionOwner> {
        let own = hash(token.as_bytes());
        let mut found = None;
        for known in &*self.0.read() {
            let is_same: Choice = own.ct_eq(&known.hash);
            if bool::from(is_same) {
                found = Some(SessionOwner::Token {
                    hash: known.hash,
                    name: known.name.clone(),
                });
            }
        }
        found
    }
}

fn hash(token: &[u8]) -> [u8; 32] {
    let digest = digest(&SHA256, token);
    digest
        .as_ref()
        .try_into()
        .expect("invariant: SHA-256 has 32 bytes")
}
