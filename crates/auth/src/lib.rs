//! Logs in at MCP servers with OAuth, and stores the tokens.
//!
//! A person logs in once, with a browser ([`LoginAttempt`]). The tokens are stored in a [`Vault`].
//! From then on, a [`TokenKeeper`] supplies them to a gateway's connection and renews them. A token
//! keeper never opens a browser: if the tokens cannot be renewed, the request fails with an error
//! that names the command to run.
//!
//! The crate rmcp implements the protocol: discovery (RFC 9728, RFC 8414), registration (RFC 7591),
//! PKCE and resource indicators (RFC 8707).

mod callback;
mod error;
mod http;
mod login;
mod token_keeper;
mod vault;

pub use callback::Callback;
pub use error::LoginError;
pub use login::{LoginAttempt, LoginRequest};
pub use token_keeper::TokenKeeper;
pub use vault::{Vault, origin_of};
