//! What must an HTTP client be like to talk to servers?

use std::time::Duration;

use reqwest::ClientBuilder;
use reqwest::redirect::Policy;

/// For a connection to be made.
const CONNECT: Duration = Duration::from_secs(10);
/// A silent connection is asked after so long, and then so often and so many
/// times, whether the other side is still there: about a minute until one that is
/// half open counts as broken. Answers themselves may take any time.
const KEEPALIVE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 3;
/// The same for what was sent and never acknowledged. Longer, as a server that is
/// busy may leave a large request in its buffers for a while.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(120);
/// An unused connection is kept for less than the 5 s after which Node and
/// uvicorn close it: a request that crosses with the closing would be lost, and
/// a call cannot simply be sent again.
const IDLE: Duration = Duration::from_secs(4);

/// Sets what [`HttpConnection`](crate::HttpConnection) and [`SseConnection`](crate::SseConnection) expect
/// of a client: a limit for connecting but none for answers, half-open
/// connections noticed, and no redirect followed by itself. Proxy and TLS are
/// the caller's.
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
