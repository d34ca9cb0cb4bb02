//! Wrappers that count events for the metrics: of connections, and of the ledger, which records
//! what happened to each result.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use spillgate_mcp::RequestId;
use spillgate_offload::{Exit, Ledger, LedgerEntry};
use spillgate_transport::{
    Connection, ConnectionError, Connector, Item, Message, ServerEvent, ServerSpec, Sink, Transport,
};

use crate::telemetry::metrics::{self, Metrics};
use crate::telemetry::server_metrics::Meter;

/// A connector that counts the connections that it opens.
#[derive(Debug)]
pub(crate) struct WatchedConnector {
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) processes: Arc<Processes>,
}

/// The number of running server processes for all clients together, and its limit.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    running: AtomicUsize,
    most: OnceLock<usize>,
}

/// One running process. It is counted until this value is dropped.
#[derive(Debug)]
struct Process(Arc<Processes>);

impl Drop for Process {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Processes {
    /// Sets the limit on the number of processes.
    pub(crate) fn bound(&self, most: usize) {
        // Only the first call has an effect. The method is called only once, at the start.
        let _ = self.most.set(most);
    }

    /// Counts a new server process, or fails if the limit is reached. `None` if the server is not a
    /// process.
    fn begin(self: &Arc<Self>, transport: &Transport) -> Result<Option<Process>, ConnectionError> {
        if !matches!(transport, Transport::Command(_)) {
            return Ok(None);
        }
        let process = Process(Arc::clone(self));
        let before = self.running.fetch_add(1, Ordering::Relaxed);
        match self.most.get() {
            Some(most) if before >= *most => Err(ConnectionError::Start(format!(
                "{most} processes of servers run already, as many as `http.max_processes` allows"
            ))),
            _ => Ok(Some(process)),
        }
    }
}

impl Connector for WatchedConnector {
    fn open<'a>(
        &'a self,
        server: &'a ServerSpec,
        sink: Arc<dyn Sink>,
    ) -> BoxFuture<'a, Result<Arc<dyn Connection>, ConnectionError>> {
        let up = Arc::new(Up {
            meter: self.metrics.server(&server.name),
            is_open: AtomicBool::new(false),
        });
        let inbox = Arc::new(WatchedSink {
            sink,
            up: Arc::clone(&up),
        });
        async move {
            let process = self.processes.begin(&server.transport)?;
            up.meter.opening();
            // Count it before it is open, because it may end while it is being opened.
            up.begin();
            match self.connector.open(server, inbox).await {
                Ok(connection) => Ok(Arc::new(WatchedConnection {
                    connection,
                    up,
                    process: Mutex::new(process),
                }) as Arc<dyn Connection>),
                Err(error) => {
                    up.end();
                    up.meter.not_opened(&error.to_string());
                    Err(error)
                }
            }
        }
        .boxed()
    }
}

/// A connection that counts as open until it ends or is closed.
#[derive(Debug)]
struct Up {
    meter: Arc<Meter>,
    is_open: AtomicBool,
}

impl Up {
    fn begin(&self) {
        self.is_open.store(true, Ordering::Relaxed);
        self.meter.opened();
    }

    /// Marks the connection as closed. Returns whether it was open before.
    fn end(&self) -> bool {
        let was_open = self.is_open.swap(false, Ordering::Relaxed);
        if was_open {
            self.meter.let_go();
        }
        was_open
    }
}

#[derive(Debug)]
struct WatchedSink {
    sink: Arc<dyn Sink>,
    up: Arc<Up>,
}

impl Sink for WatchedSink {
    /// Only the end of the server is counted.
    fn direct(&self) -> Option<Arc<dyn Sink>> {
        Some(Arc::clone(&self.sink))
    }

    fn take(&self, event: ServerEvent) -> BoxFuture<'_, ()> {
        if let Item::Gone(how) = &event.item
            && self.up.end()
        {
            self.up.meter.ended(how);
        }
        self.sink.take(event)
    }
}

#[derive(Debug)]
struct WatchedConnection {
    connection: Arc<dyn Connection>,
    up: Arc<Up>,
    process: Mutex<Option<Process>>,
}

impl Connection for WatchedConnection {
    fn send(&self, message: Message) -> BoxFuture<'_, Result<(), ConnectionError>> {
        self.connection.send(message)
    }

    fn listen(&self, after: Option<String>) -> BoxFuture<'_, Result<(), ConnectionError>> {
        self.connection.listen(after)
    }

    fn abandon(&self, of: &RequestId) -> BoxFuture<'_, ()> {
        self.connection.abandon(of)
    }

    fn close(&self, hurried: bool) -> BoxFuture<'_, ()> {
        // From now on, an end of the server is expected.
        self.up.end();
        async move {
            self.connection.close(hurried).await;
            drop(self.process.lock().take());
        }
        .boxed()
    }
}

impl Drop for WatchedConnection {
    fn drop(&mut self) {
        self.up.end();
    }
}

/// A ledger that also counts the results that it records.
#[derive(Debug)]
pub(crate) struct WatchedLedger {
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) metrics: Arc<Metrics>,
    /// The names of the servers of the configuration.
    pub(crate) servers: HashSet<String>,
}

impl WatchedLedger {
    /// Returns the metrics of a server. Programs name any servers for the results that they store, so
    /// those that are not in the configuration count together.
    fn meter(&self, server: Option<&str>) -> Arc<Meter> {
        let name = match server.unwrap_or("") {
            name if name.is_empty() || self.servers.contains(name) => name,
            _ => OTHER,
        };
        self.metrics.server(name)
    }
}

/// The name, in the metrics, of servers that are not in the configuration.
const OTHER: &str = "other";

impl Ledger for WatchedLedger {
    fn record(&self, entry: LedgerEntry) {
        let meter = self.meter(entry.server.as_deref());
        let (came, shown) = (entry.tokens_in.count, entry.tokens_shown.count);
        match entry.exit {
            Exit::Offloaded => {
                meter.result(metrics::Exit::Offloaded);
                meter.stored(entry.bytes_in);
                meter.tokens(came.saturating_sub(shown), 0);
            }
            Exit::NotStored => meter.result(metrics::Exit::NotStored),
            Exit::Program => meter.result(metrics::Exit::Program),
            Exit::Retrieved | Exit::Extracted | Exit::Listed => meter.tokens(0, shown),
            Exit::Inline | Exit::ToolList | Exit::Searched => {}
        }
        for (rule, found) in &entry.secrets {
            meter.secrets(rule, *found);
        }
        if let Some(spent) = &entry.extraction {
            meter.extraction(&spent.strategy, spent.fell_back);
        }
        self.ledger.record(entry);
    }

    fn inline(&self, bytes: u64) {
        self.ledger.inline(bytes);
    }

    fn inline_of(&self, server: Option<&str>, bytes: u64) {
        let meter = self.meter(server);
        meter.result(metrics::Exit::Inline);
        self.ledger.inline(bytes);
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use serde_json::json;
    use spillgate_offload::NoLedger;

    use super::*;

    #[test]
    fn servers_that_nobody_configured_count_together() {
        let metrics = Arc::new(Metrics::default());
        let ledger = WatchedLedger {
            ledger: Arc::new(NoLedger),
            metrics: Arc::clone(&metrics),
            servers: ["s".to_owned()].into(),
        };
        for server in ["s", "one", "two"] {
            let tokens = json!({"count": 0, "exact": true});
            let entry = json!({"at": "2026-11-21T10:00:00Z", "server": server, "tool": "t",
                "exit": "offloaded", "tokens_in": tokens, "tokens_shown": tokens,
                "bytes_in": 0, "results": 1});
            ledger.record(serde_json::from_value(entry).unwrap());
            ledger.inline_of(Some(server), 1);
        }
        let text = metrics.text();
        for (name, is_there) in [("s", true), ("other", true), ("one", false), ("two", false)] {
            let label = format!("server=\"{name}\"");
            assert_eq!(text.contains(&label), is_there, "{name}: {text}");
        }
    }

    #[test]
    fn extractions_are_counted_by_strategy_and_fallback() {
        let metrics = Arc::new(Metrics::default());
        let ledger = WatchedLedger {
            ledger: Arc::new(NoLedger),
            metrics: Arc::clone(&metrics),
            servers: ["s".to_owned()].into(),
        };
        for (strategy, fell_back) in [("truncate", true), ("search", false), ("danced", false)] {
            let tokens = json!({"count": 0, "exact": true});
            let spent = json!({"strategy": strategy, "fell_back": fell_back, "calls": 1,
                "input_tokens": 0, "output_tokens": 0});
            let entry = json!({"at": "2026-11-21T10:00:00Z", "server": "s", "tool": "t",
                "exit": "extracted", "tokens_in": tokens, "tokens_shown": tokens,
                "bytes_in": 0, "results": 1, "extraction": spent});
            ledger.record(serde_json::from_value(entry).unwrap());
        }
        let text = metrics.text();
        let told = text
            .lines()
            .filter(|line| line.starts_with("spillgate_extractions_total"));
        let mut told: Vec<&str> = told.collect();
        told.sort_unstable(); // their order is random
        assert_snapshot!(told.join("\n"), @r#"
        spillgate_extractions_total{server="s",strategy="none",fell_back="no"} 1
        spillgate_extractions_total{server="s",strategy="search",fell_back="no"} 1
        spillgate_extractions_total{server="s",strategy="truncate",fell_back="yes"} 1
        "#);
    }
}
