//! `cargo xtask simulate --plan`: how many gateways, requests to the bucket and dollars a number of
//! users need, and how long their calls take. docs/planning.md has the results.
//!
//! Users call tools at random times. A share of the results is stored and looked up a few times a
//! little later, each time through a random gateway. A gateway has cores that work on one request at a
//! time, and a cache from which the oldest outputs go first. Requests to the bucket take times that are
//! drawn from measured ones. All rates, times and prices are in `xtask/planning.json`.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::fs;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::report::say;
use crate::workspace;

/// Numbers of users.
const USERS: [u64; 3] = [10, 1_000, 100_000];

/// How many results are simulated for each number of users.
const RESULTS: u64 = 30_000;

/// How many of these come before anything is counted, because caches are empty at first.
const BEFORE: u64 = 10_000;

/// What is wrong with the bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bucket {
    Usual,
    /// One request in twenty takes twenty times as long.
    Slow,
    /// One request in fifty is answered by 503 and has to be sent again.
    Failing,
}

/// Pseudo-random numbers (splitmix64): the same seed gives the same run on all machines.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to 1, without 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap_or_default()
    }

    /// Returns a time until the next event if there are `rate` in a second.
    fn until_next(&mut self, rate: f64) -> f64 {
        -(1.0 - self.share()).ln() / rate
    }

    /// Returns a normally distributed number.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.share()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.share()).cos()
    }

    /// Returns a number with these values at these quantiles.
    fn of(&mut self, quantiles: &[f64], values: &[f64]) -> f64 {
        let at = self.share();
        let pairs = quantiles.windows(2).zip(values.windows(2));
        for (q, v) in pairs {
            if at < q[1] {
                return v[0] + (v[1] - v[0]) * (at - q[0]) / (q[1] - q[0]);
            }
        }
        values.last().copied().unwrap_or_default()
    }
}

/// The numbers in `xtask/planning.json`.
struct Figures(Value);

impl Figures {
    fn read() -> Result<Self> {
        let path = workspace::root().join("xtask/planning.json");
        let text = fs::read_to_string(path).context("cannot read xtask/planning.json")?;
        Ok(Self(serde_json::from_str(&text)?))
    }

    fn one(&self, group: &str, name: &str) -> Result<f64> {
        let value = self.0[group][name].as_f64();
        value.with_context(|| format!("xtask/planning.json has no number {group}.{name}"))
    }

    fn list(&self, group: &str, name: &str) -> Result<Vec<f64>> {
        let list = self.0[group][name].as_array();
        let list = list.with_context(|| format!("xtask/planning.json has no {group}.{name}"))?;
        Ok(list.iter().filter_map(Value::as_f64).collect())
    }
}

/// What is needed of the figures, in seconds and bytes.
struct Model {
    results_per_second: f64,
    calls_per_result: f64,
    look_ups: f64,
    delay: f64,
    median: f64,
    spread: f64,
    most: f64,
    cores: usize,
    busy: f64,
    least: usize,
    cpu_call: f64,
    cpu_store: f64,
    cpu_store_mb: f64,
    cpu_look_up: f64,
    cache: f64,
    copied: f64,
    quantiles: Vec<f64>,
    put: Vec<f64>,
    get: Vec<f64>,
    per_mb: f64,
    first_retry: f64,
    retry: f64,
    puts: u64,
    gets: [u64; 3],
}

impl Model {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the figures are small"
    )]
    fn new(figures: &Figures, users: u64) -> Result<Self> {
        let work = |name| figures.one("workload", name);
        let machine = |name| figures.one("machine", name);
        let bucket = |name| figures.one("bucket", name);
        let requests = |name| figures.one("requests", name).map(|count| count as u64);
        let milli = |list: Vec<f64>| list.into_iter().map(|ms| ms / 1000.0).collect();
        let calls = users as f64 * work("calls_per_user_and_hour")? / 3600.0;
        let stored = work("stored_share")?;
        Ok(Self {
            results_per_second: calls * stored,
            calls_per_result: 1.0 / stored,
            look_ups: work("look_ups_per_stored")?,
            delay: work("minutes_until_look_ups")? * 60.0,
            median: work("median_bytes")?,
            spread: work("spread")?,
            most: work("most_bytes")?,
            cores: machine("cores")? as usize,
            busy: machine("busy_share")?,
            least: machine("least_replicas")? as usize,
            cpu_call: machine("cpu_ms_call")? / 1000.0,
            cpu_store: machine("cpu_ms_store")? / 1000.0,
            cpu_store_mb: machine("cpu_ms_store_per_mb")? / 1000.0,
            cpu_look_up: machine("cpu_ms_look_up")? / 1000.0,
            cache: machine("cache_bytes")?,
            copied: machine("copied_bytes")?,
            quantiles: figures.list("bucket", "quantiles")?,
            put: milli(figures.list("bucket", "put_ms")?),
            get: milli(figures.list("bucket", "get_ms")?),
            per_mb: bucket("ms_per_mb")? / 1000.0,
            first_retry: bucket("first_retry_ms")? / 1000.0,
            retry: bucket("retry_seconds")?,
            puts: requests("store_puts")?,
            gets: [
                requests("known_gets")?,
                requests("copied_gets")?,
                requests("parts_gets")?,
            ],
        })
    }

    /// Returns the processor time for a result and the calls and look-ups that belong to it.
    fn cpu_per_result(&self) -> f64 {
        let mean = self.median * (self.spread * self.spread / 2.0).exp();
        let store = self.cpu_store + self.cpu_store_mb * mean.min(self.most) / 1e6;
        self.calls_per_result * self.cpu_call + store + self.look_ups * self.cpu_look_up
    }

    /// Returns how many gateways keep their cores below the share that they may be busy.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the figures are small"
    )]
    fn replicas(&self) -> usize {
        let cores = self.results_per_second * self.cpu_per_result() / self.busy;
        self.least.max((cores / self.cores as f64).ceil() as usize)
    }

    fn size(&self, dice: &mut Dice) -> f64 {
        let size = self.median * (self.spread * dice.normal()).exp();
        size.min(self.most)
    }
}

/// A gateway.
#[derive(Default)]
struct Replica {
    /// When each core is free.
    free: Vec<f64>,
    cached: HashMap<u64, f64>,
    order: VecDeque<u64>,
    bytes: f64,
}

impl Replica {
    /// Works on a request from `now`; returns when it is done.
    fn work(&mut self, now: f64, time: f64) -> f64 {
        let first = self
            .free
            .iter_mut()
            .min_by(|one, other| one.total_cmp(other));
        let Some(free) = first else { return now };
        *free = free.max(now) + time;
        *free
    }

    fn keep(&mut self, handle: u64, bytes: f64, most: f64) {
        if self.cached.insert(handle, bytes).is_none() {
            self.order.push_back(handle);
            self.bytes += bytes;
        }
        while self.bytes > most
            && let Some(oldest) = self.order.pop_front()
        {
            self.bytes -= self.cached.remove(&oldest).unwrap_or_default();
        }
    }
}

/// What a run counts.
#[derive(Default)]
struct Counts {
    results: u64,
    not_stored: u64,
    bytes: f64,
    puts: u64,
    gets: u64,
    look_ups: u64,
    hits: u64,
    failed: u64,
    stored: Vec<f64>,
    looked_up: Vec<f64>,
}

/// A run with one number of users and one kind of bucket.
struct Run<'m> {
    model: &'m Model,
    bucket: Bucket,
    dice: Dice,
    replicas: Vec<Replica>,
    counts: Counts,
}

/// A look-up that is due: its time in microseconds, and the handle and the size of the output.
type Due = Reverse<(u64, u64, u64)>;

impl Run<'_> {
    /// Returns the time of a request to the bucket, and whether it succeeded.
    fn request(&mut self, is_put: bool, bytes: f64) -> (f64, bool) {
        let (mut time, mut pause) = (0.0, self.model.first_retry);
        loop {
            match is_put {
                true => self.counts.puts += 1,
                false => self.counts.gets += 1,
            }
            let times = if is_put {
                &self.model.put
            } else {
                &self.model.get
            };
            let mut took = self.dice.of(&self.model.quantiles, times);
            if self.bucket == Bucket::Slow && self.dice.share() < 0.05 {
                took *= 20.0;
            }
            if self.bucket != Bucket::Failing || self.dice.share() >= 0.02 {
                return (time + took + bytes / 1e6 * self.model.per_mb, true);
            }
            time += took + pause * self.dice.share();
            pause *= 2.0;
            if time > self.model.retry {
                return (time, false);
            }
        }
    }

    /// Stores a result at this time. Returns its size if it is stored.
    fn store(&mut self, now: f64, handle: u64) -> Option<f64> {
        let bytes = self.model.size(&mut self.dice);
        let replica = self.dice.below(self.replicas.len());
        let model = self.model;
        let others = (model.calls_per_result - 1.0) * model.cpu_call;
        let cpu = model.cpu_store + model.cpu_store_mb * bytes / 1e6;
        // The other calls of the same users keep the gateway busy, too.
        self.replicas[replica].work(now, others);
        let mut done = self.replicas[replica].work(now, model.cpu_call + cpu);
        let mut is_stored = true;
        for request in 0..model.puts {
            let body = if request == 1 { bytes } else { 0.0 };
            let (time, went_well) = self.request(true, body);
            done += time;
            is_stored &= went_well;
        }
        self.counts.results += 1;
        self.counts.bytes += bytes;
        self.counts.stored.push(done - now);
        if !is_stored {
            self.counts.not_stored += 1;
            return None;
        }
        self.replicas[replica].keep(handle, bytes, model.cache);
        Some(bytes)
    }

    fn look_up(&mut self, now: f64, handle: u64, bytes: f64) {
        let model = self.model;
        let replica = self.dice.below(self.replicas.len());
        let is_known = self.replicas[replica].cached.contains_key(&handle);
        let is_copied = bytes <= model.copied;
        let gets = match (is_known, is_copied) {
            (true, _) => model.gets[0],
            (false, true) => model.gets[1],
            (false, false) => model.gets[2],
        };
        let mut done = self.replicas[replica].work(now, model.cpu_look_up);
        let mut went_well = true;
        for request in 0..gets {
            // The last request fetches the body, or a block of it.
            let body = if request > 1 {
                bytes.min(model.copied)
            } else {
                0.0
            };
            let (time, is_there) = self.request(false, body);
            done += time;
            went_well &= is_there;
        }
        if !is_known && is_copied {
            self.replicas[replica].keep(handle, bytes, model.cache);
        }
        self.counts.look_ups += 1;
        self.counts.hits += u64::from(is_known);
        self.counts.failed += u64::from(!went_well);
        self.counts.looked_up.push(done - now);
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "times in microseconds and sizes in bytes are far below the limits"
    )]
    fn all(&mut self) {
        let mut due: BinaryHeap<Due> = BinaryHeap::new();
        let mut now = 0.0;
        for handle in 0..RESULTS + BEFORE {
            if handle == BEFORE {
                self.counts = Counts::default();
            }
            now += self.dice.until_next(self.model.results_per_second);
            while let Some(&Reverse((at, handle, bytes))) = due.peek()
                && at as f64 / 1e6 <= now
            {
                due.pop();
                self.look_up(at as f64 / 1e6, handle, bytes as f64);
            }
            let Some(bytes) = self.store(now, handle) else {
                continue;
            };
            // As many look-ups as are usual, on average.
            let mut left = self.model.look_ups;
            while left > 0.0 {
                if self.dice.share() < left {
                    let at = now + self.dice.until_next(1.0 / self.model.delay);
                    due.push(Reverse(((at * 1e6) as u64, handle, bytes as u64)));
                }
                left -= 1.0;
            }
        }
    }
}

/// Returns a quantile in milliseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "an index"
)]
fn quantile(times: &mut [f64], at: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    let index = (times.len() as f64 * at) as usize;
    times
        .get(index.min(times.len().saturating_sub(1)))
        .copied()
        .unwrap_or_default()
        * 1000.0
}

fn run(model: &Model, bucket: Bucket, seed: u64) -> Counts {
    let free = || Replica {
        free: vec![0.0; model.cores],
        ..Replica::default()
    };
    let mut run = Run {
        model,
        bucket,
        dice: Dice(seed),
        replicas: std::iter::repeat_with(free)
            .take(model.replicas())
            .collect(),
        counts: Counts::default(),
    };
    run.all();
    run.counts
}

/// Prints the plan: `--plan`, or `--plan --seed N`.
pub(crate) fn plan(arguments: &[String]) -> Result<()> {
    let seed = match arguments {
        [] => 1,
        [option, number] if option == "--seed" => {
            number.parse().context("--seed takes a number")?
        }
        _ => bail!("usage: cargo xtask simulate --plan [--seed N]"),
    };
    let figures = Figures::read()?;
    say(&sizes(&figures, seed)?)?;
    say(&tails(&figures, seed)?)?;
    say(&costs(&figures, seed)?)
}

#[expect(clippy::cast_precision_loss, reason = "counts of a run are small")]
fn sizes(figures: &Figures, seed: u64) -> Result<String> {
    let mut text =
        "| users | calls a second | results a second | gateways | calls a second and gateway | \
                    PUT a result | GET a look-up | look-ups in the cache |\n\
                    |---:|---:|---:|---:|---:|---:|---:|---:|\n"
            .to_owned();
    for users in USERS {
        let model = Model::new(figures, users)?;
        let counts = run(&model, Bucket::Usual, seed);
        let calls = model.results_per_second * model.calls_per_result;
        let replicas = model.replicas();
        text.push_str(&format!(
            "| {users} | {calls:.2} | {:.3} | {replicas} | {:.2} | {:.2} | {:.2} | {:.0} % |\n",
            model.results_per_second,
            calls / replicas as f64,
            counts.puts as f64 / counts.results as f64,
            counts.gets as f64 / counts.look_ups as f64,
            counts.hits as f64 * 100.0 / counts.look_ups as f64,
        ));
    }
    Ok(text)
}

fn tails(figures: &Figures, seed: u64) -> Result<String> {
    let mut text = "\n| users | bucket | store p50 | p99 | p99.9 | look up p50 | p99 | p99.9 | not stored | look-ups failed |\n\
                    |---:|---|---:|---:|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    for users in USERS {
        let model = Model::new(figures, users)?;
        for (bucket, name) in [
            (Bucket::Usual, "as measured"),
            (Bucket::Slow, "5 % take 20 times as long"),
            (Bucket::Failing, "2 % fail"),
        ] {
            let mut counts = run(&model, bucket, seed);
            let mut row = format!("| {users} | {name} |");
            for times in [&mut counts.stored, &mut counts.looked_up] {
                for at in [0.5, 0.99, 0.999] {
                    row.push_str(&format!(" {:.1} ms |", quantile(times, at)));
                }
            }
            text.push_str(&format!(
                "{row} {} | {} |\n",
                counts.not_stored, counts.failed
            ));
        }
    }
    Ok(text)
}

#[expect(clippy::cast_precision_loss, reason = "counts of a run are small")]
fn costs(figures: &Figures, seed: u64) -> Result<String> {
    let mut text =
        "\n| users | results a month | stored | requests of a sweep | a sweep takes | prices of | \
                    a million results | requests a month | sweeps a month | bytes a month |\n\
                    |---:|---:|---:|---:|---:|---|---:|---:|---:|---:|\n"
            .to_owned();
    let prices = figures.0["prices"].as_array().cloned().unwrap_or_default();
    let work = |name| figures.one("workload", name);
    for users in USERS {
        let model = Model::new(figures, users)?;
        let counts = run(&model, Bucket::Usual, seed);
        let month = model.results_per_second * 3600.0 * work("hours_per_month")?;
        let kept = month * work("days_kept")? / 30.0;
        let mean = counts.bytes / counts.results as f64;
        let gb = kept * mean / 1e9;
        let lists = kept * figures.one("requests", "objects")?
            / figures.one("bucket", "entries_per_list")?;
        let lists = lists.ceil();
        let hours = lists * figures.one("bucket", "list_ms")? / 3.6e6;
        // No more sweeps than can be done, and at most one an hour.
        let sweeps = 720.0 / hours.max(1.0);
        for price in &prices {
            let of = |name: &str| price[name].as_f64().unwrap_or_default();
            let per_result = counts.puts as f64 / counts.results as f64 * of("put_per_1000")
                / 1000.0
                + counts.gets as f64 / counts.results as f64 * of("get_per_1000") / 1000.0;
            text.push_str(&format!(
                "| {users} | {month:.0} | {gb:.1} GB | {lists:.0} | {} | {} | ${:.2} | ${:.2} | ${:.2} | ${:.2} |\n",
                span(hours),
                price["name"].as_str().unwrap_or_default(),
                per_result * 1e6,
                per_result * month,
                lists * sweeps * of("put_per_1000") / 1000.0,
                gb * of("gb_month"),
            ));
        }
    }
    Ok(text)
}

/// Formats a number of hours.
fn span(hours: f64) -> String {
    match hours {
        hours if hours < 1.0 / 60.0 => format!("{:.1} s", hours * 3600.0),
        hours if hours < 1.0 => format!("{:.1} min", hours * 60.0),
        hours => format!("{hours:.1} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_plan() {
        let figures = Figures::read().unwrap();
        let plan = |seed| sizes(&figures, seed).unwrap();
        assert_eq!(plan(7), plan(7));
        assert_ne!(plan(7), plan(8));
    }

    #[test]
    fn a_worse_bucket_makes_tails_longer_and_more_gateways_make_caches_colder() {
        let figures = Figures::read().unwrap();
        let few = Model::new(&figures, 1000).unwrap();
        let tail = |bucket| quantile(&mut run(&few, bucket, 1).stored, 0.99);
        assert!(tail(Bucket::Slow) > 2.0 * tail(Bucket::Usual));
        // The size of results decides most of the usual tail, so retries add less than they do to a small result.
        assert!(tail(Bucket::Failing) > 1.2 * tail(Bucket::Usual));
        let many = Model::new(&figures, 100_000).unwrap();
        assert!(many.replicas() >= few.replicas());
        let hits = |model: &Model| {
            let counts = run(model, Bucket::Usual, 1);
            counts.hits * 100 / counts.look_ups
        };
        assert!(hits(&many) < hits(&few), "{} {}", hits(&many), hits(&few));
    }
}
