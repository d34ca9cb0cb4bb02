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
    /// Number of servers of `required_servers` that are not up. Only `/readyz` tells that there are
    /// some.
    pub required_down: usize,
}

impl Health {
    /// Returns the health of a hub. A server that waits for its restart does not count as up.
    /// `required` names the servers without which no requests should come.
    pub(crate) fn of(hub: &Hub, required: &[String]) -> Self {
        let states = hub.health();
        let is_up = |state: &&ServerState| **state != ServerState::Resting;
        let is_down = |name: &&String| states.get(*name).is_none_or(|state| !is_up(&state));
        Self {
            required_down: required.iter().filter(is_down).count(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            servers_up: states.values().filter(is_up).count(),
            servers: states.len(),
        }
    }
}

impl Health {
    /// Whether any request can be served.
    fn is_well(&self) -> bool {
        self.servers == 0 || self.servers_up > 0
    }

    /// Returns why this process should get no requests. It names no server.
    pub(crate) fn unready(&self) -> Option<&'static str> {
        match self.is_well() {
            false => Some("no server is up"),
            true => (self.required_down > 0).then_some("a required server is not up"),
        }
    }
}

impl IntoResponse for Health {
    fn into_response(self) -> Response {
        let (status, word) = match self.is_well() {
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
