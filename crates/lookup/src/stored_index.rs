//! The index that is stored with an artifact: the lines of its view and the secrets in it.

use std::sync::Arc;

use spillgate_redact::Findings;
use spillgate_text::{IndexError, LineIndex};

/// The first bytes of an index with secrets. The digit is the version of the format. An index
/// without secrets is the line index alone, as in earlier versions.
const MAGIC: &[u8; 8] = b"SGREDAC1";

/// The index of an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredIndex {
    /// The lines of the view.
    pub lines: LineIndex,
    /// The secrets in the view; `None` if the scan found none, or if there was no scan.
    pub secrets: Option<Arc<Findings>>,
}

impl StoredIndex {
    /// Returns the index as bytes, which are stored with the view.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let lines = self.lines.to_bytes();
        let Some(secrets) = &self.secrets else {
            return lines;
        };
        let mut bytes = MAGIC.to_vec();
        bytes.extend((lines.len() as u64).to_le_bytes());
        bytes.extend(lines);
        bytes.extend(secrets.to_bytes());
        bytes
    }

    /// Parses an index that [`StoredIndex::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, IndexError> {
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            let lines = LineIndex::from_bytes(bytes)?;
            return Ok(Self {
                lines,
                secrets: None,
            });
        };
        let (length, rest) = rest.split_first_chunk::<8>().ok_or(IndexError)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| IndexError)?;
        let (lines, findings) = rest.split_at_checked(length).ok_or(IndexError)?;
        let findings = Findings::from_bytes(findings).map_err(|_| IndexError)?;
        Ok(Self {
            lines: LineIndex::from_bytes(lines)?,
            secrets: Some(Arc::new(findings)),
        })
    }
}

#[cfg(test)]
mod tests {
    use spillgate_artifact::Layout;
    use spillgate_redact::{Rules, find};
    use spillgate_text::Indexer;

    use super::*;

    #[test]
    fn survives_being_stored() {
        let text = b"a\nkey AKIAQ3EGXZ7LKTPNWB5M\n".to_vec();
        let mut indexer = Indexer::as_is(Layout::AsIs);
        indexer.feed(&text);
        let findings = find(&Rules::builtin(), &text).unwrap();
        assert_eq!(findings.spans().len(), 1);
        let index = StoredIndex {
            lines: indexer.finish(),
            secrets: Some(Arc::new(findings)),
        };
        let bytes = index.to_bytes();
        assert_eq!(StoredIndex::from_bytes(&bytes), Ok(index.clone()));
        for cut in 0..bytes.len() {
            assert_eq!(
                StoredIndex::from_bytes(&bytes[..cut]),
                Err(IndexError),
                "{cut}"
            );
        }
        let clean = StoredIndex {
            secrets: None,
            ..index
        };
        assert_eq!(clean.to_bytes(), clean.lines.to_bytes());
        assert_eq!(StoredIndex::from_bytes(&clean.to_bytes()), Ok(clean));
    }
}
