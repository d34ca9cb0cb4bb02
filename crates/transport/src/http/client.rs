//! The settings of an HTTP client for connections to MCP servers.

use std::time::Duration;

use reqwest::ClientBuilder;
use reqwest::redirect::Policy;

/// Time limit for establishing a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// A silent connection is probed after this time, and then at the interval and as often as set
/// below. A half-open connection therefore counts as broken after about a minute. The time for a
/// response is not limited.
const KEEPALIVE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 3;
/// Time limit for the acknowledgement of sent data. It is longer than the time of all probes,
/// because a busy server may leave a large request in its buffers for a while.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(120);
/// How long an unused connection is kept. Node and uvicorn close unused connections after 5 s, so
/// ours must close earlier: a request sent while the server closes would be lost, and a tool call
/// must not be sent twice.
const IDLE: Duration = Duration::from_secs(4);

/// Configures a client for [`HttpConnection`](crate::HttpConnection) and
/// [`SseConnection`](crate::SseConnection): a time limit for connecting but none for responses,
/// detection of half-open connections, and no automatic redirects. The caller sets proxy and TLS.
pub fn http_client(builder: ClientBuilder) -> ClientBuilder {
    #[cfg(target_os = "linux")]
    let builder = builder.tcp_user_timeout(UNACKNOWLEDGED);
    builder
        .connect_timeout(CONNECT)
        .tcp_keepalive(KEEPALIVE)
        .tcp_keepalive_interval(KEEPALIVE_INTERVAL)
        .tcp_keepalive_retries(KEEPALIVE_RETRIES)
        .http2_keep_alive_interval(KEEPALIVE)
        .http2_keep_alive_timeout(KEEPALIVE)
        .pool_idle_timeout(IDLE)
        .redirect(Policy::none())
}
