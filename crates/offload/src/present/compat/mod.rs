//! The profiles whose words are fixed by the formats that they come from.

pub(super) mod continuation;
pub(super) mod funnel;
pub(super) mod handle;
pub(super) mod reject;
pub(super) mod truncate;
