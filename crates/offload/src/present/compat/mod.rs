//! The compatibility profiles, whose texts are fixed by their original formats.

pub(super) mod continuation;
pub(super) mod funnel;
pub(super) mod handle;
pub(super) mod reject;
pub(super) mod truncate;
