//! The compatibility profiles. Each one writes the messages of an earlier system, word for word.

pub(super) mod continuation;
pub(super) mod funnel;
pub(super) mod handle;
pub(super) mod reject;
pub(super) mod truncate;
