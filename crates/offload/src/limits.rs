//! The limits of a result: as configured ([`Rule`]) and as resolved ([`Limits`]).
//!
//! To add a limit, add a row to the table below, a field of `Limits` with its lines in `resolve`
//! and `shown`, and the code that enforces it. The settings (global, for a server and for a tool),
//! the environment variables and the list of effective values follow from the table.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use spillgate_artifact::TokenBudget;

use crate::present::{Profile, Sizes};
use crate::redaction::Redaction;
use crate::result_mode::ResultMode;
use crate::stored_secrets::StoredSecrets;

/// Default tokens of a preview (docs/spec/limits.md, "Messages").
pub const DEFAULT_PREVIEW_TOKENS: u64 = 600;

/// Minimum tokens of a preview: enough for its first line and two next calls. Each of these lines
/// contains the handle, which may have some 50 tokens.
pub const LEAST_PREVIEW_TOKENS: u64 = 300;

/// Default maximum bytes of an image: images are sent to be seen, and a screenshot of a large
/// screen is smaller.
pub const DEFAULT_IMAGE_BYTES: u64 = 1 << 20;

/// Default maximum bytes of any other binary block. Clients that cannot handle a block give the
/// model its base64, which is a third longer, and no client shows more than some 10,000 bytes whole
/// (docs/spec/limits.md, "What clients take").
pub const DEFAULT_BINARY_BYTES: u64 = 4 << 10;

/// How an environment variable is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// A whole number.
    Number,
    /// `true` or `false`.
    Switch,
    /// The text itself.
    Text,
}

/// A type that a limit can have.
trait LimitValue {
    const KIND: ValueKind;
}

impl LimitValue for u64 {
    const KIND: ValueKind = ValueKind::Number;
}

impl LimitValue for bool {
    const KIND: ValueKind = ValueKind::Switch;
}

impl LimitValue for Profile {
    const KIND: ValueKind = ValueKind::Text;
}

impl LimitValue for Redaction {
    const KIND: ValueKind = ValueKind::Text;
}

impl LimitValue for StoredSecrets {
    const KIND: ValueKind = ValueKind::Text;
}

impl LimitValue for ResultMode {
    const KIND: ValueKind = ValueKind::Text;
}

/// The table of all limits: name in the configuration, type, meaning. Invokes the macro named first
/// with the arguments after its name, followed by the rows.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_limit {
    ($then:path: $($arguments:tt)*) => {
        $then! {
            $($arguments)*
            /// Offload results of more tokens; 0 is no limit.
            max_tokens: u64,
            /// Offload results of more bytes; 0 is no limit.
            max_bytes: u64,
            /// Offload results of more lines; 0 is no limit.
            max_lines: u64,
            /// Offload results of more characters; 0 is no limit.
            max_chars: u64,
            /// How an oversized result is shown.
            profile: $crate::Profile,
            /// Tokens that a preview may cost.
            preview_tokens: u64,
            /// Bytes over which an image, a sound or another binary block becomes a
            /// link; 0 is no limit.
            max_binary_bytes: u64,
            /// Whether an error of the `reject` profile ends with what is there and with calls
            /// that go on.
            detailed_recovery: bool,
            /// What happens to secrets in what a model reads: `off`, `mark`, `all` or
            /// `block`.
            redact: $crate::Redaction,
            /// What is stored of a result with secrets: `as-is`, `redacted` or `refused`.
            stored_secrets: $crate::StoredSecrets,
            /// What a client receives of an oversized result: `preview`, `structured` or `whole`.
            results: $crate::ResultMode,
        }
    };
}

macro_rules! rule {
    ($($(#[$doc:meta])* $name:ident: $type:ty,)*) => {
        /// Limits as configured: global, for a server or for a tool. Unset limits are inherited.
        #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Rule {
            $(
                $(#[$doc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $name: Option<$type>,
            )*
        }

        impl Rule {
            /// The name of each limit and how its environment variable is parsed.
            pub const KEYS: &[(&'static str, ValueKind)] =
                &[$((stringify!($name), <$type as LimitValue>::KIND)),*];

            /// Returns this rule with unset limits taken from `wider`.
            #[must_use]
            pub fn or(self, wider: Self) -> Self {
                Self { $($name: self.$name.or(wider.$name),)* }
            }
        }
    };
}

for_each_limit!(rule:);

/// Defines a struct of settings that has its own fields and one field for each limit, and a method
/// `rule` that makes a [`Rule`] of the limits. The attribute after `each` is set on every limit's
/// field.
///
/// This is a macro because serde loses the position of an error and does not detect unknown fields
/// if a struct is flattened into another.
#[macro_export]
macro_rules! with_limits {
    (each #[$each:meta] $(#[$meta:meta])* $vis:vis struct $Name:ident { $($own:tt)* }) => {
        $crate::for_each_limit! {
            $crate::settings_with_limits:
            [#[$each] $(#[$meta])* $vis struct $Name { $($own)* }]
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! settings_with_limits {
    (
        [#[$each:meta] $(#[$meta:meta])* $vis:vis struct $Name:ident { $($own:tt)* }]
        $($(#[$doc:meta])* $name:ident: $type:ty,)*
    ) => {
        $(#[$meta])*
        $vis struct $Name {
            $(
                $(#[$doc])*
                #[$each]
                $vis $name: Option<$type>,
            )*
            $($own)*
        }

        impl $Name {
            /// Returns the limits that these settings set.
            $vis fn rule(&self) -> $crate::Rule {
                $crate::Rule { $($name: self.$name.clone(),)* }
            }
        }
    };
}

impl Rule {
    /// Resolves the rule, with defaults for unset limits.
    #[must_use]
    pub fn resolve(self) -> Limits {
        let on = |limit: Option<u64>| limit.filter(|&limit| limit > 0);
        let set = [
            self.max_tokens,
            self.max_bytes,
            self.max_lines,
            self.max_chars,
        ];
        let profile = self.profile.unwrap_or_default();
        // A configured limit of any kind replaces the profile's own limits.
        let sizes = match set.iter().all(Option::is_none) {
            true => profile.strategy().sizes(),
            false => Sizes {
                tokens: on(self.max_tokens),
                bytes: on(self.max_bytes),
                lines: on(self.max_lines),
                chars: on(self.max_chars),
            },
        };
        let preview = self.preview_tokens.unwrap_or(DEFAULT_PREVIEW_TOKENS);
        Limits {
            tokens: sizes.tokens,
            bytes: sizes.bytes,
            lines: sizes.lines,
            chars: sizes.chars,
            profile,
            preview: TokenBudget::new(preview.max(LEAST_PREVIEW_TOKENS)),
            image_bytes: on(self.max_binary_bytes.or(Some(DEFAULT_IMAGE_BYTES))),
            binary_bytes: on(self.max_binary_bytes.or(Some(DEFAULT_BINARY_BYTES))),
            detailed_recovery: self.detailed_recovery.unwrap_or(false),
            redaction: self.redact.unwrap_or_default(),
            stored_secrets: self.stored_secrets.unwrap_or_default(),
            results: self.results.unwrap_or_default(),
        }
    }
}

/// The effective limits for one result; `None` is no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Maximum tokens.
    pub tokens: Option<u64>,
    /// Maximum bytes.
    pub bytes: Option<u64>,
    /// Maximum lines.
    pub lines: Option<u64>,
    /// Maximum characters.
    pub chars: Option<u64>,
    /// How an oversized result is shown.
    pub profile: Profile,
    /// Token budget of a preview.
    pub preview: TokenBudget,
    /// Maximum bytes of an image.
    pub image_bytes: Option<u64>,
    /// Maximum bytes of any other binary block.
    pub binary_bytes: Option<u64>,
    /// Whether errors of the `reject` profile end with a recovery block.
    pub detailed_recovery: bool,
    /// What happens to secrets in what a model reads.
    pub redaction: Redaction,
    /// What is stored of a result with secrets.
    pub stored_secrets: StoredSecrets,
    /// What a client receives of an oversized result.
    pub results: ResultMode,
}

impl Limits {
    /// Returns the effective value of a setting of [`Rule`], for display; `None` if there is no
    /// such setting.
    #[must_use]
    pub fn shown(&self, setting: &str) -> Option<Value> {
        let limit = |limit: Option<u64>| limit.map_or("no limit".into(), Into::into);
        Some(match setting {
            "max_tokens" => limit(self.tokens),
            "max_bytes" => limit(self.bytes),
            "max_lines" => limit(self.lines),
            "max_chars" => limit(self.chars),
            "profile" => self.profile.to_string().into(),
            "preview_tokens" => self.preview.get().into(),
            "max_binary_bytes" => {
                format!("{DEFAULT_IMAGE_BYTES} for images, {DEFAULT_BINARY_BYTES} for others")
                    .into()
            }
            "detailed_recovery" => self.detailed_recovery.into(),
            "redact" => self.redaction.to_string().into(),
            "stored_secrets" => self.stored_secrets.to_string().into(),
            "results" => self.results.to_string().into(),
            _ => return None,
        })
    }

    /// Returns whether what is shown beside a stored or refused result must have no secrets.
    #[must_use]
    pub fn hides_secrets(&self) -> bool {
        self.redaction != Redaction::Off || self.stored_secrets == StoredSecrets::Refused
    }

    /// Returns whether a result is scanned for secrets before any part of it passes to a program. A
    /// result with secrets is then shown as a preview.
    #[must_use]
    pub fn guard_programs(&self) -> bool {
        self.redaction.covers_small() || self.stored_secrets != StoredSecrets::AsIs
    }

    /// Returns whether nothing is shown of a result that has secrets and is not shown whole.
    pub(crate) fn withholds(&self) -> bool {
        self.redaction == Redaction::Block || self.stored_secrets == StoredSecrets::Refused
    }

    /// Returns whether `bytes` bytes fit whatever their content: a character, a token or a line has
    /// at least one byte. Never true if results that fit are scanned for secrets. The gateway's
    /// fast path.
    #[must_use]
    pub fn admit_any(&self, bytes: u64) -> bool {
        if self.redaction.covers_small() {
            return false;
        }
        [self.tokens, self.bytes, self.lines, self.chars]
            .into_iter()
            .flatten()
            .all(|limit| bytes < limit)
    }

    /// Returns whether a message of `bytes` bytes fits whatever its content, binary blocks
    /// included: decoded they have fewer bytes than on the wire.
    #[must_use]
    pub fn admit_message(&self, bytes: u64) -> bool {
        let binary = [self.image_bytes, self.binary_bytes];
        self.admit_any(bytes) && binary.into_iter().flatten().all(|limit| bytes <= limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::present::DEFAULT_MAX_TOKENS;

    fn tokens(max: u64) -> Rule {
        Rule {
            max_tokens: Some(max),
            ..Rule::default()
        }
    }

    #[test]
    fn a_set_limit_takes_the_place_of_the_default() {
        let limits = |rule: Rule| {
            let limits = rule.resolve();
            (limits.tokens, limits.bytes)
        };
        assert_eq!(limits(Rule::default()), (Some(DEFAULT_MAX_TOKENS), None));
        assert_eq!(limits(tokens(0)), (None, None));
        let bytes = Rule {
            max_bytes: Some(7),
            ..Rule::default()
        };
        assert_eq!(limits(bytes.clone()), (None, Some(7)));
        assert_eq!(limits(bytes.or(tokens(9))), (Some(9), Some(7)));
    }

    #[test]
    fn few_bytes_are_admitted_unseen() {
        let limits = tokens(100).resolve();
        assert!(limits.admit_any(99) && !limits.admit_any(100));
        let unlimited = tokens(0).resolve();
        assert!(unlimited.admit_any(u64::MAX));
        assert!(unlimited.admit_message(4096) && !unlimited.admit_message(4097));
        assert!(!limits.admit_message(100));
        let all = Rule {
            max_binary_bytes: Some(0),
            ..tokens(0)
        };
        assert!(all.resolve().admit_message(u64::MAX));
    }

    #[test]
    fn one_limit_for_every_binary_block() {
        let limits = |max_binary_bytes| {
            let rule = Rule {
                max_binary_bytes,
                ..Rule::default()
            };
            let limits = rule.resolve();
            (limits.image_bytes, limits.binary_bytes)
        };
        assert_eq!(limits(None), (Some(1 << 20), Some(4 << 10)));
        assert_eq!(limits(Some(9)), (Some(9), Some(9)));
        assert_eq!(limits(Some(0)), (None, None));
    }
}
