//! Finds secrets in texts of any size and shows marks in their place.
//!
//! [`find`] searches a text block by block with the [`Rules`] and returns its [`Findings`]. It also
//! finds secrets in JSON strings, in URL encoding, in base64 and in coloured text. A
//! [`RedactedSource`] is the text with a mark such as `[redacted: aws-access-key]` in place of each
//! secret; [`redact_str`] does the same for a short text. [`Marks`] give the same secret the same
//! mark in all texts of a session.
//!
//! ```
//! use spillgate_redact::{Marks, Rules, redact_str};
//!
//! let (rules, marks) = (Rules::builtin(), Marks::new());
//! let shown = redact_str(&rules, &marks, r#"{"password": "Tr0ub4dor&3"}"#);
//! assert_eq!(shown, r#"{"password": "[redacted: password]"}"#);
//! ```

mod address;
mod assignment;
mod beginning;
mod clear;
mod encoded;
mod find;
mod findings;
mod literals;
mod marks;
mod name;
mod private_key;
mod redacted;
mod redactor;
mod rules;
mod scan;
mod value;
mod view;

pub use clear::{ClearSource, SecretsHere};
pub use find::find;
#[doc(hidden)]
pub use find::find_in_blocks;
pub use findings::{Findings, FindingsError, MOST_FINDINGS, SecretSpan};
pub use marks::{Marks, WITHHELD, redact_str};
pub use redacted::RedactedSource;
pub use redactor::Redactor;
pub use rules::{RuleError, Rules, UserRule};
