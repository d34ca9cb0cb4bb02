//! Accepts connections, serves them, and ends them at shutdown.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use rustix::net::sockopt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tower::ServiceExt;

use crate::endpoint::sweep_every;
use crate::server::{ConnectionAddresses, Inner};
use crate::{HttpServerError, HttpServerSettings};

/// Maximum number of streams of one HTTP/2 connection.
const STREAMS: u32 = 256;

/// Maximum size of a request's head, in bytes.
const HEAD: u32 = 64 << 10;

/// How long an unused connection is kept. Clients such as Go and reqwest close unused connections
/// after 90 s, so we must close later: a request sent while we close would be lost, and a call is
/// not repeated automatically.
const UNUSED: Duration = Duration::from_secs(120);

/// Delay after a connection could not be accepted, for example because file descriptors are used
/// up.
const BREATH: Duration = Duration::from_millis(100);

/// Serves until `shutdown` completes.
pub(crate) async fn serve(
    inner: Arc<Inner>,
    listener: TcpListener,
    shutdown: impl Future<Output = ()>,
) -> Result<(), HttpServerError> {
    let router = inner.router();
    let builder = Arc::new(builder(&inner.settings));
    let places = Arc::new(Semaphore::new(inner.settings.max_connections));
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let sweeper = sweep(Arc::clone(&inner));
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &places) => accepted,
            () = &mut shutdown => break,
            Some(_) = connections.join_next() => continue,
        };
        let Some((stream, peer, place)) = accepted else {
            continue;
        };
        let connection = Connection {
            router: router.clone(),
            builder: Arc::clone(&builder),
            watcher: graceful.watcher(),
            head_time: inner.settings.read_time(),
            stall: Duration::from_secs(inner.settings.stall_seconds),
        };
        connections.spawn(async move {
            let _place = place;
            connection.run(stream, peer).await;
        });
    }
    drop(listener);
    sweeper.abort();
    shut_down(&inner, graceful, connections).await;
    Ok(())
}

/// Waits until the number of connections is below its limit, then for the next connection.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => Some((stream, peer, place)),
        Err(error) => {
            tracing::warn!(%error, "a connection could not be accepted");
            sleep(BREATH).await;
            None
        }
    }
}

/// Gives requests in flight time to finish, then ends the remaining ones and all sessions.
async fn shut_down(inner: &Inner, graceful: GracefulShutdown, mut connections: JoinSet<()>) {
    let wait = Duration::from_secs(inner.settings.shutdown_seconds);
    inner.end_lasting();
    let is_done = timeout(wait, graceful.shutdown()).await.is_ok();
    if !is_done {
        tracing::warn!("the server stops: requests in flight are aborted");
    }
    let mut ending = JoinSet::new();
    for client in inner.sessions.take_all() {
        ending.spawn(async move { client.end(!is_done).await });
    }
    // The gateway ends servers that do not end by themselves.
    drop(timeout(wait, ending.join_all()).await);
    connections.shutdown().await;
}

/// Ends idle sessions periodically.
fn sweep(inner: Arc<Inner>) -> JoinHandle<()> {
    let idle = Duration::from_secs(inner.settings.session_idle_seconds);
    tokio::spawn(async move {
        let mut ticks = interval(sweep_every(idle));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            for client in inner.sessions.take_idle() {
                tracing::info!("a session is closed: its client sent nothing for too long");
                tokio::spawn(async move { client.end(false).await });
            }
            let may = |owner: &_| inner.authenticator.still_knows(owner);
            for client in inner.sessions.take_barred(may) {
                tracing::info!("a session is closed: its token is not valid any more");
                tokio::spawn(async move { client.end(true).await });
            }
            inner.end_barred_lasting();
            if let Some(rates) = &inner.rates {
                rates.sweep();
            }
        }
    })
}

fn builder(settings: &HttpServerSettings) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    let mut http1 = builder.http1();
    http1.timer(TokioTimer::new());
    // This time limit starts at the end of the previous request. For the head of the first request,
    // `Connection::run` enforces the configured limit.
    http1.header_read_timeout(settings.read_time().max(UNUSED));
    http1.max_buf_size(HEAD as usize);
    let keep_alive = settings.keep_alive();
    let mut http2 = builder.http2();
    http2.timer(TokioTimer::new());
    http2.keep_alive_interval(keep_alive);
    http2.keep_alive_timeout(settings.read_time());
    http2.max_concurrent_streams(STREAMS);
    http2.max_header_list_size(HEAD);
    builder
}

struct Connection {
    router: Router,
    builder: Arc<auto::Builder<TokioExecutor>>,
    watcher: Watcher,
    head_time: Duration,
    stall: Duration,
}

impl Connection {
    async fn run(self, stream: TcpStream, peer: SocketAddr) {
        let Ok(local) = stream.local_addr() else {
            return;
        };
        if let Err(error) = set_options(&stream, self.stall) {
            tracing::debug!(%error, "options of a connection could not be set");
        }
        let ends = ConnectionAddresses { local, peer };
        let has_asked = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&has_asked);
        let router = self.router;
        let service = service_fn(move |mut request: Request<Incoming>| {
            asked.store(true, Ordering::Relaxed);
            request.extensions_mut().insert(ends);
            router.clone().oneshot(request)
        });
        let serving = self.builder.serve_connection(TokioIo::new(stream), service);
        let mut serving = pin!(self.watcher.watch(serving.into_owned()));
        // The HTTP library begins by detecting the HTTP version, without a time limit.
        let served = tokio::select! {
            served = &mut serving => served,
            () = sleep(self.head_time) => match has_asked.load(Ordering::Relaxed) {
                true => serving.await,
                false => return,
            },
        };
        if let Err(error) = served {
            tracing::debug!(%error, "a connection failed");
        }
    }
}

/// Configures a connection to send small messages immediately and to detect clients that have
/// disappeared.
fn set_options(stream: &TcpStream, stall: Duration) -> io::Result<()> {
    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, stall)?;
    #[cfg(target_os = "linux")]
    {
        let stall = u32::try_from(stall.as_millis()).unwrap_or(u32::MAX);
        sockopt::set_tcp_user_timeout(stream, stall)?;
    }
    Ok(())
}
