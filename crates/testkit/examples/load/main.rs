//! Load test: checks that each of many clients gets its own replies, and measures the cost of the
//! gateway.
//!
//! ```text
//! load SERVER GATEWAY PID CLIENTS SECONDS PROGRAM STORE QUOTA
//! ```
//! Each client calls the tool `big` of the fixture server (`examples/everything`) again and again.
//! It makes each call first through the gateway and then directly, with results of 200 bytes to 16
//! MB. The text of a result follows from its request, so that a reply that is lost, changed or sent
//! to another client is detected. Half of the clients use 2025-11-25 with a session, the other half
//! 2026-07-28 without. All clients use the same ids. Stored results are fetched with `PROGRAM cat
//! --raw` and compared, byte for byte, with the direct result: all huge ones, and one in ten of the
//! others. The memory of process PID is sampled and must not grow. The total size of the files in
//! STORE must not exceed QUOTA bytes by more than one artifact.

mod client;
mod figures;
mod memory;
mod store;

use std::io::Write;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, spawn_blocking};

use crate::client::{Client, Era, Kind};
use crate::figures::{Figures, Side};

/// Result sizes in bytes, and how many of a thousand calls have each.
const SIZES: [(usize, u32); 6] = [
    (200, 400),
    (1_000, 400),
    (20_000, 130),
    (200_000, 55),
    (1_000_000, 12),
    (16_000_000, 3),
];

/// Results of more bytes than this count as huge. At most [`HUGE_AT_ONCE`] calls with huge results
/// run at the same time, because the test must fit into the machine's memory.
const HUGE: usize = 500_000;
const HUGE_AT_ONCE: usize = 4;

const MB: u64 = 1_000_000;

/// Maximum size of one artifact in bytes: a result of 16 MB as text and as structured content, with
/// its view.
const LARGEST: u64 = 70 * MB;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [
        server,
        gateway,
        process,
        clients,
        seconds,
        program,
        place,
        quota,
    ] = arguments.as_slice()
    else {
        bail!("usage: load SERVER GATEWAY PID CLIENTS SECONDS PROGRAM STORE QUOTA");
    };
    let (clients, seconds): (u32, u64) = (clients.parse()?, seconds.parse()?);
    let until = Instant::now() + Duration::from_secs(seconds);
    let memory = tokio::spawn(memory::sample(process.parse()?, until));
    let stored = tokio::spawn(store::sample(place.into(), until));
    let huge = Arc::new(Semaphore::new(HUGE_AT_ONCE));
    let mut work = JoinSet::new();
    for number in 0..clients {
        let one = OneClient::new(number, [server, gateway, program], Arc::clone(&huge)).await;
        let one = one.with_context(|| format!("client {number} could not begin"))?;
        work.spawn(one.work(until));
    }
    let mut figures = Figures::default();
    while let Some(done) = work.join_next().await {
        figures.add(done?);
    }
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{clients} clients, {seconds} s")?;
    write!(stdout, "{figures}")?;
    let memory = memory.await??;
    write!(stdout, "{memory}")?;
    let (stored, quota): (u64, u64) = (stored.await??, quota.parse()?);
    writeln!(
        stdout,
        "stored: {} MB at most, the quota is {} MB",
        stored / MB,
        quota / MB
    )?;
    ensure!(
        figures.wrong.is_empty(),
        "{} replies were lost, crossed or changed",
        figures.wrong.len()
    );
    ensure!(memory.is_flat(), "the gateway's memory grows");
    ensure!(stored <= quota + LARGEST, "the store exceeds its quota");
    Ok(writeln!(stdout, "no reply was lost, crossed or changed")?)
}

/// One of the clients, with its two connections and its random choices.
struct OneClient {
    number: u32,
    sides: [(Side, Client); 2],
    huge: Arc<Semaphore>,
    program: String,
    chance: u32,
}

impl OneClient {
    async fn new(number: u32, places: [&str; 3], huge: Arc<Semaphore>) -> Result<Self> {
        let era = if number.is_multiple_of(2) {
            Era::Sessions
        } else {
            Era::Stateless
        };
        let [server, gateway, program] = places;
        let sides = [
            (Side::Through, Client::begin(gateway, era).await?),
            (Side::Direct, Client::begin(server, era).await?),
        ];
        Ok(Self {
            number,
            sides,
            huge,
            program: program.to_owned(),
            chance: number.wrapping_mul(2_654_435_761).max(1),
        })
    }

    async fn work(mut self, until: Instant) -> Figures {
        let mut figures = Figures::default();
        for round in 0_u64.. {
            if Instant::now() >= until {
                break;
            }
            let bytes = self.size();
            let kind = if self.next().is_multiple_of(4) {
                Kind::Structured
            } else {
                Kind::Text
            };
            let tag = format!("client{}round{round}end", self.number);
            let _permit = match bytes > HUGE {
                true => Arc::clone(&self.huge).acquire_owned().await.ok(),
                false => None,
            };
            self.round(&mut figures, kind, &tag, bytes).await;
        }
        figures
    }

    /// Makes the same call through the gateway and directly.
    async fn round(&mut self, figures: &mut Figures, kind: Kind, tag: &str, bytes: usize) {
        let is_looked_into = bytes > HUGE || self.next().is_multiple_of(10);
        let mut replies = Vec::new();
        for (side, client) in &mut self.sides {
            let begin = Instant::now();
            let reply = client.call(kind, tag, bytes).await;
            let took = begin.elapsed();
            let checked = reply.and_then(|reply| Ok((reply.check(kind, tag, bytes)?, reply)));
            let outcome = checked.map(|(shown, reply)| {
                replies.push(reply);
                shown
            });
            let wrong = |error| format!("{tag}, {bytes} bytes, {side:?}: {error:#}");
            figures.note(*side, bytes, took, outcome.map_err(wrong));
        }
        let [through, direct] = replies.as_slice() else {
            return;
        };
        if let Some(handle) = through.handle().filter(|_| is_looked_into) {
            figures.fetched += 1;
            let stored = fetched(&self.program, handle.to_owned()).await;
            if !stored.is_ok_and(|stored| direct.is_of(&stored, bytes)) {
                let wrong = format!("{tag}, {bytes} bytes: something else is stored");
                figures.wrong.push(wrong);
            }
        }
    }

    /// Returns a random size with the frequencies of the table.
    fn size(&mut self) -> usize {
        let mut left = self.next() % 1000;
        for (bytes, share) in SIZES {
            if left < share {
                return bytes;
            }
            left -= share;
        }
        SIZES[0].0
    }

    /// Returns the next random number (xorshift). The sequence is the same in every run.
    fn next(&mut self) -> u32 {
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 17;
        self.chance ^= self.chance << 5;
        self.chance
    }
}

/// Returns the text that is stored under a handle.
async fn fetched(program: &str, handle: String) -> Result<String> {
    let mut command = Command::new(program);
    command.args(["cat", "--raw", &handle]);
    let output = spawn_blocking(move || command.output()).await??;
    ensure!(output.status.success(), "{handle} is not there");
    Ok(String::from_utf8(output.stdout)?)
}
