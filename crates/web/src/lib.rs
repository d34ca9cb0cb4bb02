//! Pages and searches of the public web, as a model asks for them.
//!
//! What is fetched is bounded in bytes and in time while it comes, and no name, no
//! address and no redirect leads into a private network.

mod fetcher;
mod provider;

pub use fetcher::Fetcher;
pub use provider::Provider;
