//! What a look-up computed from an artifact with secrets and keeps for the next one: where they are,
//! and the lines of the view with marks. It has no byte of the text.

use std::sync::Arc;

use spillgate_redact::Findings;
use spillgate_text::LineIndex;

/// The first bytes. The digit is the version of the format.
const MAGIC: &[u8; 8] = b"SGDERIV1";

/// What was computed from a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Derivation {
    /// The identity of the rules by which the secrets were found.
    pub(crate) rules: u64,
    /// The size of the view.
    pub(crate) bytes: u64,
    /// The secrets in the view; `None` if the index that is stored with the view has them.
    pub(crate) searched: Option<Searched>,
    /// The lines of the view with marks; `None` if no look-up needed them.
    pub(crate) marked: Option<Marked>,
}

/// The outcome of a search for secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Searched {
    pub(crate) findings: Arc<Findings>,
    /// Whether secrets are in parts of the text that the view leaves out.
    pub(crate) beside: bool,
}

/// The lines of a view with marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marked {
    /// The identity of the marks: with others, a long line may break elsewhere.
    pub(crate) marks: u64,
    /// The number of characters.
    pub(crate) chars: u64,
    /// The number of lines, as a text has them.
    pub(crate) text_lines: u64,
    pub(crate) lines: LineIndex,
}

impl Derivation {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let number = |bytes: &mut Vec<u8>, it: u64| bytes.extend(it.to_le_bytes());
        number(&mut bytes, self.rules);
        number(&mut bytes, self.bytes);
        let searched = self.searched.as_ref();
        let findings = searched.map(|searched| searched.findings.to_bytes());
        bytes.push(match searched {
            None => 0,
            Some(searched) => 1 + u8::from(searched.beside),
        });
        let findings = findings.unwrap_or_default();
        number(&mut bytes, findings.len() as u64);
        bytes.extend(findings);
        if let Some(marked) = &self.marked {
            for it in [marked.marks, marked.chars, marked.text_lines] {
                number(&mut bytes, it);
            }
            bytes.extend(marked.lines.to_bytes());
        }
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) returned; `None` if the bytes are damaged or of
    /// another version.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let number = |rest: &mut &[u8]| {
            let (first, others) = rest.split_first_chunk::<8>()?;
            *rest = others;
            Some(u64::from_le_bytes(*first))
        };
        let (rules, size) = (number(&mut rest)?, number(&mut rest)?);
        let (how, others) = rest.split_first()?;
        rest = others;
        let length = usize::try_from(number(&mut rest)?).ok()?;
        let (findings, others) = rest.split_at_checked(length)?;
        rest = others;
        let searched = match how {
            0 if findings.is_empty() => None,
            1 | 2 => Some(Searched {
                findings: Arc::new(Findings::from_bytes(findings).ok()?),
                beside: *how == 2,
            }),
            _ => return None,
        };
        let marked = match rest {
            [] => None,
            _ => Some(Marked {
                marks: number(&mut rest)?,
                chars: number(&mut rest)?,
                text_lines: number(&mut rest)?,
                lines: LineIndex::from_bytes(rest).ok()?,
            }),
        };
        Some(Self {
            rules,
            bytes: size,
            searched,
            marked,
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
    fn survives_being_kept() {
        let text = b"a\nkey AKIAQ3EGXZ7LKTPNWB5M\n".to_vec();
        let findings = Arc::new(find(&Rules::builtin(), &text).unwrap());
        assert_eq!(findings.spans().len(), 1);
        let searched = |beside| Searched {
            findings: Arc::clone(&findings),
            beside,
        };
        let mut indexer = Indexer::made(Layout::AsIs);
        indexer.feed(&text);
        let marked = Marked {
            marks: 7,
            chars: 8,
            text_lines: 9,
            lines: indexer.finish(),
        };
        for searched in [None, Some(searched(false)), Some(searched(true))] {
            for marked in [None, Some(marked.clone())] {
                let one = Derivation {
                    rules: 1,
                    bytes: 2,
                    searched: searched.clone(),
                    marked,
                };
                let bytes = one.to_bytes();
                assert!(!bytes.windows(5).any(|part| part == b"AKIAQ"));
                for cut in 0..bytes.len() {
                    let read = Derivation::from_bytes(&bytes[..cut]);
                    // Without its last member, it is one that lacks the lines.
                    assert!(read.is_none_or(|read| read.marked.is_none()), "{cut}");
                }
                assert_eq!(Derivation::from_bytes(&bytes), Some(one));
            }
        }
    }
}
