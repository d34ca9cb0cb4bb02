//! Logs in at MCP servers with OAuth, and stores the tokens.
//!
//! A person logs in once, with a browser ([`LoginAttempt`]). The tokens are stored in a [`Vault`]. From
//! then on a [`TokenKeeper`] supplies them to a gateway's connection and renews them. It never opens a
//! browser: if renewing does not suffice, the request fails and says which command to run.
//!
//! rmcp implements the protocol: discovery (RFC 9728, RFC 8414), registration (RFC 7591), PKCE,
//! resource indicators (RFC 8707).

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
