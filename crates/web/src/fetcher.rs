//! How is a page fetched?

/// Fetches pages.
#[derive(Debug, Clone, Default)]
pub struct Fetcher {}
