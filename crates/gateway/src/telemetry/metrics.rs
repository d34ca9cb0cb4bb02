//! The gateway's metrics for monitoring.
//!
//! Labels are the servers of the configuration and words from fixed lists, so no client can
//! increase the number of series. The handles of a server are created once, so a request costs one
//! look-up of its server and a few atomic additions.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Metric, Registry, Unit};
use spillgate_bridge::BridgeObserver;

use crate::telemetry::server_metrics::Meter;

/// The extraction strategies. The first one counts extractions without an answer.
pub(crate) const STRATEGIES: [&str; 5] =
    ["none", "full-chunked", "read-grep", "truncate", "search"];

/// The outcome of a reference in a call's arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reference {
    Resolved,
    Refused,
}

/// The form in which a result was passed on to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Offloaded,
    Inline,
    NotStored,
    /// Passed whole to a program, although it is oversized.
    Program,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(crate) struct OfServer {
    pub(crate) server: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(crate) struct OfMethod {
    pub(crate) server: String,
    pub(crate) method: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(crate) struct OfRequest {
    pub(crate) server: String,
    pub(crate) method: &'static str,
    pub(crate) outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(crate) struct OfResult {
    pub(crate) server: String,
    pub(crate) exit: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(crate) struct OfExtraction {
    pub(crate) server: String,
    pub(crate) strategy: &'static str,
    pub(crate) fell_back: &'static str,
}

/// The rules are built in or in the configuration, so no client can add one.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(crate) struct OfRule {
    pub(crate) server: String,
    pub(crate) rule: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfTool {
    tool: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfOutcome {
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfLoss {
    why: &'static str,
}

/// Why lines of the audit log were lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditLoss {
    /// They came faster than the collector takes them.
    QueueFull,
    /// They could not be written or sent.
    Failed,
}

/// A histogram of times in seconds, by labels.
pub(crate) type Times<L> = Family<L, Histogram, fn() -> Histogram>;

/// The families in which each server has its own series.
#[derive(Debug, Clone)]
pub(crate) struct Families {
    pub(crate) requests: Family<OfRequest, Counter>,
    pub(crate) in_flight: Family<OfServer, Gauge>,
    pub(crate) upstream: Times<OfMethod>,
    pub(crate) added: Times<OfServer>,
    pub(crate) request_bytes: Family<OfServer, Counter>,
    pub(crate) response_bytes: Family<OfServer, Counter>,
    pub(crate) results: Family<OfResult, Counter>,
    pub(crate) extractions: Family<OfExtraction, Counter>,
    pub(crate) stored_bytes: Family<OfServer, Counter>,
    pub(crate) secrets: Family<OfRule, Counter>,
    pub(crate) tokens_kept_out: Family<OfServer, Counter>,
    pub(crate) tokens_given_back: Family<OfServer, Counter>,
    pub(crate) up: Family<OfServer, Gauge>,
    pub(crate) starts: Family<OfServer, Counter>,
    pub(crate) failed_starts: Family<OfServer, Counter>,
    pub(crate) ends: Family<OfServer, Counter>,
}

impl Default for Families {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            in_flight: Family::default(),
            upstream: Family::new_with_constructor(upstream_times),
            added: Family::new_with_constructor(added_times),
            request_bytes: Family::default(),
            response_bytes: Family::default(),
            results: Family::default(),
            extractions: Family::default(),
            stored_bytes: Family::default(),
            secrets: Family::default(),
            tokens_kept_out: Family::default(),
            tokens_given_back: Family::default(),
            up: Family::default(),
            starts: Family::default(),
            failed_starts: Family::default(),
            ends: Family::default(),
        }
    }
}

/// Returns a histogram with buckets from 1 ms to over a minute.
fn upstream_times() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 4.0, 9))
}

/// Returns a histogram with buckets from 10 µs to over two seconds.
fn added_times() -> Histogram {
    Histogram::new(exponential_buckets(0.000_01, 4.0, 10))
}

/// The metrics of a gateway.
pub struct Metrics {
    registry: Registry,
    families: Families,
    meters: RwLock<HashMap<String, Arc<Meter>>>,
    sessions: Gauge,
    bridged: Family<OfServer, Counter>,
    unreadable: Family<OfServer, Counter>,
    unavailable: Family<OfServer, Gauge>,
    builtin_calls: Family<OfTool, Counter>,
    references: Family<OfOutcome, Counter>,
    audit_lines_lost: Family<OfLoss, Counter>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("spillgate"),
            families: Families::default(),
            meters: RwLock::default(),
            sessions: Gauge::default(),
            bridged: Family::default(),
            unreadable: Family::default(),
            unavailable: Family::default(),
            builtin_calls: Family::default(),
            references: Family::default(),
            audit_lines_lost: Family::default(),
        };
        metrics.register_requests();
        metrics.register_results();
        metrics.register_servers();
        metrics
    }
}

impl BridgeObserver for Metrics {
    fn bridged(&self, server: &str) {
        let server = server.to_owned();
        self.bridged.get_or_create(&OfServer { server }).inc();
    }
}

impl Metrics {
    /// Returns all metrics in the text format of OpenMetrics 1.0.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        if encode(&mut text, &self.registry).is_err() {
            text.clear(); // not reached: writing to a string cannot fail
        }
        text
    }

    /// Counts a message of `server` that is not JSON.
    pub(crate) fn unreadable(&self, server: &str) {
        let server = server.to_owned();
        self.unreadable.get_or_create(&OfServer { server }).inc();
    }

    /// Counts a client that has to work without `server`; if `is_so` is false, counts that the
    /// client can use it again.
    pub(crate) fn unavailable(&self, server: &str, is_so: bool) {
        let server = server.to_owned();
        let clients = self.unavailable.get_or_create(&OfServer { server });
        let _ = if is_so { clients.inc() } else { clients.dec() };
    }

    /// Returns the metrics of a server.
    pub(crate) fn server(&self, name: &str) -> Arc<Meter> {
        let known = self.meters.read();
        if let Some(meter) = known.get(name) {
            return Arc::clone(meter);
        }
        drop(known);
        let mut known = self.meters.write();
        let new = || Arc::new(Meter::new(name, &self.families));
        Arc::clone(known.entry(name.to_owned()).or_insert_with(new))
    }

    pub(crate) fn session_opened(&self) {
        self.sessions.inc();
    }

    pub(crate) fn session_closed(&self) {
        self.sessions.dec();
    }

    /// Counts a call of a built-in tool.
    pub(crate) fn own_call(&self, tool: &str, known: &[&'static str]) {
        let found = known.iter().find(|one| **one == tool);
        let tool = found.copied().unwrap_or("other");
        self.builtin_calls.get_or_create(&OfTool { tool }).inc();
    }

    pub(crate) fn reference(&self, reference: Reference) {
        let outcome = match reference {
            Reference::Resolved => "resolved",
            Reference::Refused => "refused",
        };
        self.references.get_or_create(&OfOutcome { outcome }).inc();
    }

    /// Counts lines of the audit log that were lost.
    pub fn audit_lost(&self, why: AuditLoss, lines: u64) {
        let why = match why {
            AuditLoss::QueueFull => "queue_full",
            AuditLoss::Failed => "failed",
        };
        self.audit_lines_lost
            .get_or_create(&OfLoss { why })
            .inc_by(lines);
    }

    fn register_requests(&mut self) {
        let all = self.families.clone();
        self.add(
            "requests",
            "Completed requests to a server, by outcome",
            all.requests,
        );
        self.add(
            "requests_in_flight",
            "Requests that wait for a server's answer",
            all.in_flight,
        );
        self.timed(
            "upstream",
            "Time from a request to the server's answer",
            all.upstream,
        );
        self.timed(
            "added",
            "Time that the gateway needed for an answer after it arrived",
            all.added,
        );
        self.bytes(
            "request",
            "Frames of requests to a server",
            all.request_bytes,
        );
        self.bytes(
            "response",
            "Frames of a server's answers",
            all.response_bytes,
        );
        self.add("sessions", "Clients connected", self.sessions.clone());
        self.add(
            "bridged_sessions",
            "Sessions between different generations of MCP",
            self.bridged.clone(),
        );
        self.add(
            "unreadable_messages",
            "Messages of a server that are not JSON",
            self.unreadable.clone(),
        );
    }

    fn register_results(&mut self) {
        let all = self.families.clone();
        self.add("results", "Results by what became of them", all.results);
        self.add(
            "extractions",
            "Extractions from stored results by the strategy that made the answer",
            all.extractions,
        );
        self.bytes("stored", "Results that were stored", all.stored_bytes);
        self.add(
            "secrets",
            "Secrets found in stored results, by the rule that found them",
            all.secrets,
        );
        self.add(
            "tokens_kept_out",
            "Tokens of stored results minus the tokens shown in their place",
            all.tokens_kept_out,
        );
        self.add(
            "tokens_given_back",
            "Tokens read from stored results, and tokens of the definitions of the gateway's tools",
            all.tokens_given_back,
        );
        self.add(
            "own_tool_calls",
            "Calls of the gateway's own tools",
            self.builtin_calls.clone(),
        );
        self.add(
            "references",
            "Calls with arguments by reference",
            self.references.clone(),
        );
        self.add(
            "audit_lines_lost",
            "Lines of the audit log that were lost",
            self.audit_lines_lost.clone(),
        );
    }

    fn register_servers(&mut self) {
        let all = self.families.clone();
        self.add("server_links", "Open connections to a server", all.up);
        self.add(
            "server_unavailable",
            "Clients that are served without a server because it does not answer",
            self.unavailable.clone(),
        );
        self.add(
            "server_starts",
            "Times that a server was opened",
            all.starts,
        );
        self.add(
            "server_failed_starts",
            "Times that a server could not be opened",
            all.failed_starts,
        );
        self.add(
            "server_ends",
            "Times that a server ended by itself",
            all.ends,
        );
    }

    fn add(&mut self, name: &str, help: &str, metric: impl Metric) {
        self.registry.register(name, help, metric);
    }

    fn bytes(&mut self, name: &str, help: &str, metric: impl Metric) {
        self.registry
            .register_with_unit(name, help, Unit::Bytes, metric);
    }

    fn timed(&mut self, name: &str, help: &str, metric: impl Metric) {
        self.registry
            .register_with_unit(name, help, Unit::Seconds, metric);
    }

    /// Returns the states of these servers, by name.
    pub(crate) fn states(&self, servers: &[String]) -> BTreeMap<String, ServerState> {
        let state = |name: &String| (name.clone(), self.server(name).state());
        servers.iter().map(state).collect()
    }
}

/// The state of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerState {
    /// The server is open for at least one client.
    Up,
    /// The server is not open. The next request opens it.
    Idle,
    /// The server ended or could not be opened several times in a row, so it is not restarted for a
    /// while.
    Resting,
}
