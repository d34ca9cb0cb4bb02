//! Fetches pages and searches the public web for a model.
//!
//! The bytes and the time of a fetch are limited while it runs. No name, address or redirect leads
//! into a private network. Start with [`Fetcher`] for pages and with [`Provider`] for searches.

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
