//! Who is asked for searches?

/// A service that searches the web.
#[derive(Debug, Clone)]
pub enum Provider {}
