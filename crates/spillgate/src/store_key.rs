//! The key of an encrypted store, from the environment.

use spillgate_store::{FileStore, KEY_VARIABLE, StoreKey};
use zeroize::Zeroizing;

use crate::failure::{Failure, Fault};
use crate::settings::Settings;

const HINT: &str = "`openssl rand -hex 32` prints a new key; outputs that are encrypted can be read only with the key with which they were stored";

/// Returns the key in the environment; `None` if the variable is missing or empty.
fn key() -> Result<Option<StoreKey>, Failure> {
    let Some(text) = std::env::var_os(KEY_VARIABLE) else {
        return Ok(None);
    };
    // A text that is not UTF-8 has no digits either, so the error below covers it.
    let text = Zeroizing::new(text.into_string().unwrap_or_else(|_| "?".to_owned()));
    if text.is_empty() {
        return Ok(None);
    }
    let key = StoreKey::from_hex(&text).map_err(|error| {
        let message = format!("the environment variable {KEY_VARIABLE} is wrong: {error}");
        Failure::new("store_key", Fault::Caller, message).hint(HINT)
    })?;
    Ok(Some(key))
}

impl Settings {
    /// Returns a store with the key in the environment. It encrypts new outputs if the settings say
    /// so. A missing key is an error only for a command that `stores`: outputs that are not
    /// encrypted can be read, and all can be listed and removed.
    pub(crate) fn with_key(&self, store: FileStore, stores: bool) -> Result<FileStore, Failure> {
        let key = key()?;
        match (self.secrets.encrypt, key) {
            (true, None) if stores => {
                let what = format!("is on, and the environment variable {KEY_VARIABLE} is not set");
                Err(self.places.wrong(&["secrets", "encrypt"], &what, HINT))
            }
            (true, key) => Ok(store.encrypting(key)),
            (false, Some(key)) => Ok(store.decrypting(key)),
            (false, None) => Ok(store),
        }
    }
}
