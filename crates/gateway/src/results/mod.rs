//! Results on their way to a client: what an oversized one consists of, and what replaces it.

mod asking;
pub(crate) mod binary;
pub(crate) mod canonical;
pub(crate) mod client_view;
pub(crate) mod duplicate_text;
pub(crate) mod found;
pub(crate) mod holes;
pub(crate) mod intercept;
pub(crate) mod program;
pub(crate) mod spooled;
pub(crate) mod tasks;
