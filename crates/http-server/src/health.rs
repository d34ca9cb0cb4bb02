//! The health report of the gateway.

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use spillgate_gateway::{Hub, ServerState};

/// The state of the gateway. It names no servers, because anyone who can connect may read it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    /// The gateway's version.
    pub version: String,
    /// Number of servers that answer or that the next request would start.
    pub servers_up: usize,
    /// Number of all servers.
    pub servers: usize,
}

impl Health {
    /// Returns the health of a hub. A server that waits for its restart does not count as up.
    pub(crate) fn of(hub: &Hub) -> Self {
        let states = hub.health();
        let is_up = |state: &&ServerState| **state != ServerState::Resting;
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            servers_up: states.values().filter(is_up).count(),
            servers: states.len(),
        }
    }
}

impl IntoResponse for Health {
    fn into_response(self) -> Response {
        // Whether any request can be served.
        let is_well = self.servers == 0 || self.servers_up > 0;
        let (status, word) = match is_well {
            true => (StatusCode::OK, "ok"),
            false => (StatusCode::SERVICE_UNAVAILABLE, "no server is up"),
        };
        let body = json!({
            "status": word,
            "version": self.version,
            "servers": { "up": self.servers_up, "all": self.servers },
        });
        let kind = [(CONTENT_TYPE, "application/json")];
        (status, kind, body.to_string()).into_response()
    }
}
