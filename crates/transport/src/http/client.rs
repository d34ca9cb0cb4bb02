//! The settings that an HTTP client needs to talk to servers.

use std::time::Duration;

use reqwest::ClientBuilder;
use reqwest::redirect::Policy;

/// Time limit for establishing a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// A silent connection is probed after this time, then at the interval and the number of times
/// below. A half-open connection therefore counts as broken after about a minute. Responses
/// themselves may take any time.
const KEEPALIVE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 3;
/// Time limit for data that was sent and never acknowledged. Longer than the probes, because a busy
/// server may leave a large request in its buffers for a while.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(120);
/// Time that an unused connection is kept. It is below the 5 s after which Node and uvicorn close
/// theirs: a request that crosses with the closing would be lost, and a call cannot simply be sent
/// again.
const IDLE: Duration = Duration::from_secs(4);

/// Configures a client as [`HttpConnection`](crate::HttpConnection) and
/// [`SseConnection`](crate::SseConnection) require: a time limit for connecting but none for
/// responses, detection of half-open connections, and no automatic redirects. Proxy and TLS are up
/// to the caller.
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
