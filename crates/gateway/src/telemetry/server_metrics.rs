//! The metrics of one server.

use std::sync::OnceLock;
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use spillgate_transport::RestartBackoff;
use spillgate_upstream::{Method, RequestMeter, RequestOutcome};
use tokio::time::Instant;

use crate::telemetry::metrics::{
    Exit, Families, OfExtraction, OfMethod, OfRequest, OfResult, OfRule, OfServer, STRATEGIES,
    ServerState,
};

const OUTCOMES: usize = RequestOutcome::ALL.len();

/// The metrics of one server. A series appears when it is first used.
#[derive(Debug)]
pub(crate) struct Meter {
    pub(crate) server: String,
    families: Families,
    requests: [[OnceLock<Counter>; OUTCOMES]; Method::COUNT],
    upstream: [OnceLock<Histogram>; Method::COUNT],
    results: [OnceLock<Counter>; 4],
    added: Histogram,
    request_bytes: Counter,
    response_bytes: Counter,
    in_flight: Gauge,
    stored_bytes: Counter,
    tokens_kept_out: Counter,
    tokens_given_back: Counter,
    up: Gauge,
    starts: Counter,
    failed_starts: Counter,
    ends: Counter,
    rest: Mutex<RestartBackoff>,
}

impl RequestMeter for Meter {
    fn started(&self) {
        self.in_flight.inc();
    }

    fn answered(&self, method: Method, took: Duration, bytes: u64) {
        self.response_bytes.inc_by(bytes);
        let histogram = self.upstream[method.index()].get_or_init(|| {
            self.families.upstream.get_or_create_owned(&OfMethod {
                server: self.server.clone(),
                method: method.as_str(),
            })
        });
        histogram.observe(took.as_secs_f64());
    }

    fn finished(
        &self,
        method: Method,
        outcome: RequestOutcome,
        bytes: u64,
        added: Option<Duration>,
    ) {
        self.in_flight.dec();
        self.request_bytes.inc_by(bytes);
        if let Some(added) = added {
            self.added.observe(added.as_secs_f64());
        }
        let counter = self.requests[method.index()][outcome as usize].get_or_init(|| {
            self.families.requests.get_or_create_owned(&OfRequest {
                server: self.server.clone(),
                method: method.as_str(),
                outcome: outcome.as_str(),
            })
        });
        counter.inc();
    }

    fn passed(&self) {
        self.result(Exit::Inline);
    }
}

impl Meter {
    pub(crate) fn new(name: &str, families: &Families) -> Self {
        let of = OfServer {
            server: name.to_owned(),
        };
        Self {
            server: name.to_owned(),
            requests: Default::default(),
            upstream: Default::default(),
            results: Default::default(),
            added: families.added.get_or_create_owned(&of),
            request_bytes: families.request_bytes.get_or_create_owned(&of),
            response_bytes: families.response_bytes.get_or_create_owned(&of),
            in_flight: families.in_flight.get_or_create_owned(&of),
            stored_bytes: families.stored_bytes.get_or_create_owned(&of),
            tokens_kept_out: families.tokens_kept_out.get_or_create_owned(&of),
            tokens_given_back: families.tokens_given_back.get_or_create_owned(&of),
            up: families.up.get_or_create_owned(&of),
            starts: families.starts.get_or_create_owned(&of),
            failed_starts: families.failed_starts.get_or_create_owned(&of),
            ends: families.ends.get_or_create_owned(&of),
            families: families.clone(),
            rest: Mutex::default(),
        }
    }

    pub(crate) fn result(&self, exit: Exit) {
        let counter = self.results[exit as usize].get_or_init(|| {
            self.families.results.get_or_create_owned(&OfResult {
                server: self.server.clone(),
                exit: match exit {
                    Exit::Offloaded => "offloaded",
                    Exit::Inline => "inline",
                    Exit::NotStored => "not_stored",
                    Exit::Program => "program",
                },
            })
        });
        counter.inc();
    }

    /// Counts an extraction by the strategy that produced its answer.
    pub(crate) fn extraction(&self, strategy: &str, fell_back: bool) {
        let known = STRATEGIES.iter().find(|known| **known == strategy);
        let of = OfExtraction {
            server: self.server.clone(),
            strategy: known.copied().unwrap_or(STRATEGIES[0]),
            fell_back: if fell_back { "yes" } else { "no" },
        };
        self.families.extractions.get_or_create(&of).inc();
    }

    /// Counts the secrets that a rule found in a stored result.
    pub(crate) fn secrets(&self, rule: &str, found: u64) {
        let of = OfRule {
            server: self.server.clone(),
            rule: rule.to_owned(),
        };
        self.families.secrets.get_or_create(&of).inc_by(found);
    }

    pub(crate) fn stored(&self, bytes: u64) {
        self.stored_bytes.inc_by(bytes);
    }

    pub(crate) fn tokens(&self, kept_out: u64, given_back: u64) {
        self.tokens_kept_out.inc_by(kept_out);
        self.tokens_given_back.inc_by(given_back);
    }

    /// Records that the server is about to be opened.
    pub(crate) fn opening(&self) {
        // Other code decides whether the server may be opened, so the result is ignored.
        drop(self.rest.lock().open(Instant::now()));
    }

    pub(crate) fn opened(&self) {
        self.starts.inc();
        self.up.inc();
    }

    pub(crate) fn not_opened(&self, how: &str) {
        self.failed_starts.inc();
        self.rest.lock().end(how, Instant::now());
    }

    pub(crate) fn ended(&self, how: &str) {
        self.ends.inc();
        self.rest.lock().end(how, Instant::now());
    }

    pub(crate) fn let_go(&self) {
        self.up.dec();
    }

    pub(crate) fn state(&self) -> ServerState {
        if self.up.get() > 0 {
            return ServerState::Up;
        }
        match self.rest.lock().is_resting(Instant::now()) {
            true => ServerState::Resting,
            false => ServerState::Idle,
        }
    }
}
