//! The limits of a result: as they are written ([`Rule`]) and as they are in force ([`Limits`]).
//!
//! A new limit is a row of the table below, a member of `Limits` with its line in `resolve` and
//! `shown`, and the place that enforces it. Settings, servers, variables of the environment
//! and the list of what is in force follow from the table.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use spillgate_artifact::TokenBudget;

use crate::present::{Profile, Sizes};

/// Tokens of a preview unless configured otherwise (docs/spec/limits.md, "Messages").
pub const DEFAULT_PREVIEW_TOKENS: u64 = 600;

/// The least that a preview needs: its first line and two ways on, each with
/// the handle's some 50 tokens.
pub const LEAST_PREVIEW_TOKENS: u64 = 300;

/// Bytes of an image unless configured otherwise: it is sent to be seen, and a
/// screenshot of a large screen has fewer.
pub const DEFAULT_IMAGE_BYTES: u64 = 1 << 20;

/// Bytes of any other binary block unless configured otherwise. Clients that do
/// not know what to do with one give the model its base64, a third longer, and no
/// client shows more than some 10,000 bytes whole (docs/spec/limits.md, "What clients take").
pub const DEFAULT_BINARY_BYTES: u64 = 4 << 10;

/// How a variable of the environment is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// As a whole number.
    Number,
    /// As `true` or `false`.
    Switch,
    /// As it is.
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

/// The table of all limits: name in the configuration, type, meaning. It calls the macro that
/// is named first with what stands behind it and the rows.
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
        }
    };
}

macro_rules! rule {
    ($($(#[$doc:meta])* $name:ident: $type:ty,)*) => {
        /// Limits as they are written: for everything, a server or a tool. What is not
        /// set is inherited.
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
            /// Each limit's name and how its variable of the environment is read.
            pub const KEYS: &[(&'static str, ValueKind)] =
                &[$((stringify!($name), <$type as LimitValue>::KIND)),*];

            /// This rule, with what it leaves open taken from `wider`.
            #[must_use]
            pub fn or(self, wider: Self) -> Self {
                Self { $($name: self.$name.or(wider.$name),)* }
            }
        }
    };
}

for_each_limit!(rule:);

/// Defines a struct of settings that has a member for each limit beside its own, and a method
/// `rule` that makes a [`Rule`] of them. The attribute behind `each` is put on those members.
///
/// A macro, because serde loses the place of an error and finds no unknown member where a
/// struct is flattened into another.
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
            /// The limits that it sets.
            $vis fn rule(&self) -> $crate::Rule {
                $crate::Rule { $($name: self.$name.clone(),)* }
            }
        }
    };
}

impl Rule {
    /// The rule that holds, with defaults for what nobody set.
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
        // A limit of any kind that somebody set takes the place of the
        // profile's own.
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
        }
    }
}

/// The limits in force for one result; `None` is no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Most tokens.
    pub tokens: Option<u64>,
    /// Most bytes.
    pub bytes: Option<u64>,
    /// Most lines.
    pub lines: Option<u64>,
    /// Most characters.
    pub chars: Option<u64>,
    /// How an oversized result is shown.
    pub profile: Profile,
    /// What a preview may cost.
    pub preview: TokenBudget,
    /// Most bytes of an image.
    pub image_bytes: Option<u64>,
    /// Most bytes of any other binary block.
    pub binary_bytes: Option<u64>,
    /// Whether errors of the `reject` profile end with what is there.
    pub detailed_recovery: bool,
}

impl Limits {
    /// The value in force of a setting of [`Rule`], for people; `None` if it is none.
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
            _ => return None,
        })
    }

    /// Whether so many bytes fit whatever they are: a character, a token or a
    /// line is at least a byte. The gateway's fast path.
    #[must_use]
    pub fn admit_any(&self, bytes: u64) -> bool {
        [self.tokens, self.bytes, self.lines, self.chars]
            .into_iter()
            .flatten()
            .all(|limit| bytes < limit)
    }

    /// Whether a message of so many bytes fits whatever is in it, binary blocks
    /// included: their bytes are fewer than those on the wire.
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
