//! Logging in at MCP servers with OAuth, and keeping the tokens.
//!
//! A person logs in once, with a browser ([`LoginAttempt`]); the tokens are kept in a
//! [`Vault`]. From then on a [`TokenKeeper`] gives them to the link of a gateway and
//! renews them. It never opens a browser: where renewing is not enough, the
//! request fails and says what to run.
//!
//! The protocol is rmcp's: discovery (RFC 9728, RFC 8414), registration
//! (RFC 7591), PKCE, resource indicators (RFC 8707).

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
