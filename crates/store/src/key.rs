//! The key of an encrypted store, and the ciphers derived from it.
//!
//! Every encrypted file begins with 32 random bytes, its salt. The key of the file is made from the
//! store's key and the salt by HKDF-SHA-256, so no two files have the same key, and the numbers of
//! a file's chunks can be its nonces. The associated data contain the artifact's id and the part of
//! the artifact, so a file that takes the place of another one is detected.

use std::fmt;
use std::process::Command;
use std::sync::Arc;

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Prk, Salt};
use spillgate_artifact::{Handle, Manifest};
use zeroize::{Zeroize, Zeroizing};

use crate::{Locked, StoreError};

/// The environment variable from which the program takes the key of an encrypted store. It is not
/// passed on to the processes that the program starts.
pub const KEY_VARIABLE: &str = "SPILLGATE_STORE_KEY";

/// Keeps the key out of the environment of a program to be started. Without a key the command stays
/// as it is: a command from which a variable is removed gets the other variables in another order,
/// and a server must get the same environment as without the gateway.
pub fn keep_key_from(command: &mut Command) {
    if std::env::var_os(KEY_VARIABLE).is_some() {
        command.env_remove(KEY_VARIABLE);
    }
}

/// Length of a key in bytes.
const KEY_BYTES: usize = 32;

/// Length of the random bytes at the beginning of an encrypted file.
pub(crate) const SALT_BYTES: usize = 32;

/// Length of the tag after each encrypted chunk.
pub(crate) const TAG_BYTES: usize = 16;

/// A key that encrypts artifacts. Its memory is overwritten when the last copy is dropped, and it
/// is never printed.
#[derive(Clone)]
pub struct StoreKey(Arc<Zeroizing<[u8; KEY_BYTES]>>);

/// The error for a text that is no key. It does not contain the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not a key of 64 hexadecimal digits")]
pub struct StoreKeyError;

impl fmt::Debug for StoreKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreKey(..)")
    }
}

impl StoreKey {
    /// Parses a key of 64 hexadecimal digits. Ignores white space around them.
    pub fn from_hex(text: &str) -> Result<Self, StoreKeyError> {
        let text = text.trim_ascii().as_bytes();
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        if text.len() != 2 * KEY_BYTES {
            return Err(StoreKeyError);
        }
        let decoded = HEXLOWER_PERMISSIVE.decode_mut(text, &mut *key);
        decoded.map_err(|_| StoreKeyError)?;
        Ok(Self(Arc::new(key)))
    }

    /// Returns the name of the key: 16 hexadecimal digits from which the key cannot be computed.
    pub(crate) fn id(&self) -> String {
        let mut name = self.derived(b"spillgate store: name of the key");
        let id = HEXLOWER.encode(&name[..8]);
        name.zeroize();
        id
    }

    /// Returns another key, made from this one for the use that `info` names.
    pub(crate) fn derived(&self, info: &[u8]) -> [u8; KEY_BYTES] {
        let mut derived = [0; KEY_BYTES];
        self.prk(&[])
            .expand(&[info], HKDF_SHA256)
            .and_then(|made| made.fill(&mut derived))
            .expect("invariant: the length is that of a hash");
        derived
    }

    fn prk(&self, salt: &[u8]) -> Prk {
        Salt::new(HKDF_SHA256, salt).extract(&**self.0)
    }
}

/// What the bytes of a cipher are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sealed {
    Raw = 1,
    View = 2,
    Index = 3,
    /// The arguments of the call, in the manifest.
    Arguments = 4,
    /// What was computed from the artifact.
    Derived = 5,
}

/// Encrypts and decrypts the parts of one artifact.
#[derive(Debug, Clone)]
pub(crate) struct ArtifactKey {
    pub(crate) key: StoreKey,
    pub(crate) id: String,
}

impl ArtifactKey {
    /// Returns the key for a stored artifact; `None` if the artifact is not encrypted.
    pub(crate) fn of(
        manifest: &Manifest,
        handle: Handle,
        key: Option<&StoreKey>,
    ) -> Result<Option<Self>, StoreError> {
        let Some(encryption) = &manifest.encryption else {
            return Ok(None);
        };
        let locked = |why| StoreError::Locked { handle, why };
        let key = key.ok_or(locked(Locked::NoKey))?;
        if key.id() != encryption.key {
            return Err(locked(Locked::OtherKey));
        }
        Ok(Some(Self {
            key: key.clone(),
            id: encryption.id.clone(),
        }))
    }

    /// Returns the cipher of a file with this salt.
    pub(crate) fn cipher(&self, sealed: Sealed, salt: &[u8; SALT_BYTES]) -> Cipher {
        self.cipher_with(sealed, salt, &[])
    }

    /// Returns a cipher whose associated data contain further bytes.
    pub(crate) fn cipher_with(
        &self,
        sealed: Sealed,
        salt: &[u8; SALT_BYTES],
        further: &[u8],
    ) -> Cipher {
        let prk = self.key.prk(salt);
        let key = prk
            .expand(&[b"spillgate store: key of a file"], &CHACHA20_POLY1305)
            .map(UnboundKey::from)
            .expect("invariant: the length is that of a hash");
        let context = |is_last: bool| {
            let flags = [sealed as u8, u8::from(is_last)];
            [&flags, self.id.as_bytes(), further].concat()
        };
        Cipher {
            key: LessSafeKey::new(key),
            contexts: [context(false), context(true)],
        }
    }
}

/// Encrypts and decrypts the chunks of one file.
#[derive(Debug)]
pub(crate) struct Cipher {
    key: LessSafeKey,
    /// The associated data of the chunks before the last one, and of the last one.
    contexts: [Vec<u8>; 2],
}

impl Cipher {
    /// Encrypts a chunk in place and appends its tag. Each number may be used only once.
    pub(crate) fn seal(&self, number: u64, is_last: bool, chunk: &mut Vec<u8>) {
        self.key
            .seal_in_place_append_tag(nonce(number), self.context(is_last), chunk)
            .expect("invariant: a chunk is shorter than 256 GiB");
    }

    /// Decrypts a chunk in place and removes its tag. Returns whether the chunk is what was
    /// encrypted.
    pub(crate) fn open(&self, number: u64, is_last: bool, chunk: &mut Vec<u8>) -> bool {
        let opened = self
            .key
            .open_in_place(nonce(number), self.context(is_last), chunk)
            .map(|plain| plain.len());
        opened.is_ok_and(|length| {
            chunk.truncate(length);
            true
        })
    }

    fn context(&self, is_last: bool) -> Aad<&[u8]> {
        Aad::from(&self.contexts[usize::from(is_last)])
    }
}

fn nonce(number: u64) -> Nonce {
    let mut nonce = [0; NONCE_LEN];
    nonce[NONCE_LEN - 8..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(nonce)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_64_digits_and_is_not_printed() {
        let digits = "0123456789abcdef".repeat(4);
        let key = StoreKey::from_hex(&format!(" {digits}\n")).unwrap();
        assert_eq!(
            key.id(),
            StoreKey::from_hex(&digits.to_uppercase()).unwrap().id()
        );
        assert_ne!(key.id(), StoreKey::from_hex(&"0".repeat(64)).unwrap().id());
        assert_eq!(format!("{key:?}"), "StoreKey(..)");
        assert!(!digits.contains(&key.id()));
        for wrong in [
            "",
            "00",
            &digits[1..],
            &format!("{digits}0"),
            &"g".repeat(64),
        ] {
            assert_eq!(StoreKey::from_hex(wrong).unwrap_err(), StoreKeyError);
        }
    }
}
