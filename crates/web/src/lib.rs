//! Pages and searches of the public web, as a model asks for them.
//!
//! What is fetched is bounded in bytes and in time while it comes, and no name, no
//! address and no redirect leads into a private network.

mod address;
mod charset;
mod client;
mod content;
mod decoder;
mod error;
mod fetch_response;
mod fetcher;
mod html;
mod provider;
mod resolver;
mod robots;

pub use address::{forbidden_address, forbidden_host};
pub use content::{BodyKind, ReadableText, readable};
pub use decoder::{Decoder, DecoderError};
pub use error::{FetchError, SearchError};
pub use fetch_response::FetchResponse;
pub use fetcher::{FetchSettings, Fetcher};
pub use provider::{Key, Provider, ProviderError, SearchResult, Service};
pub use robots::is_allowed as robots_allow;
