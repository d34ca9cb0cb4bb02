//! Reads key files, and refuses files that other users can read.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Maximum number of bytes that are read from a key file. No key is longer.
const MOST_BYTES: u64 = 64 << 10;

/// Reads a key file.
///
/// # Errors
///
/// Fails if users other than the owner can read the file (the error says what to do), or if it is
/// not text.
pub fn read_key_file(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    // The metadata comes from the open file, because the file at the path may be replaced.
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if metadata.mode() & 0o077 != 0 {
            let mode = metadata.mode() & 0o777;
            let why = format!("others can read it (mode {mode:o}); run chmod 600 on it");
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
    }
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        std::fs::write(&path, "sk-1\n").unwrap();
        for (mode, expected) in [
            (0o600, Ok("sk-1\n".to_owned())),
            (0o400, Ok("sk-1\n".to_owned())),
            (
                0o644,
                Err("others can read it (mode 644); run chmod 600 on it".to_owned()),
            ),
            (
                0o620,
                Err("others can read it (mode 620); run chmod 600 on it".to_owned()),
            ),
        ] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(
                read_key_file(&path).map_err(|error| error.to_string()),
                expected
            );
        }
        let error = read_key_file(directory.path()).unwrap_err();
        assert_eq!(error.to_string(), "it is not a file");
    }
}
