//! Prints the name of each step when it starts, and its duration when it has ended.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// The steps that ran, in order, for the final table.
#[derive(Debug, Default)]
pub(crate) struct Report {
    done: Vec<(&'static str, Duration)>,
}

impl Report {
    /// Runs `work` under `name`; its error ends the whole run.
    pub(crate) fn step(
        &mut self,
        name: &'static str,
        work: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        say(&format!("\n==> {name}\n"))?;
        let start = Instant::now();
        let outcome = work();
        let took = start.elapsed();
        if outcome.is_err() {
            say(&format!("==> {name}: RED after {}\n", seconds(took)))?;
        } else {
            say(&format!("==> {name}: green in {}\n", seconds(took)))?;
            self.done.push((name, took));
        }
        outcome.with_context(|| format!("step `{name}` is red; later steps did not run"))
    }

    /// Prints every step with its duration. Only a run without failures gets here.
    pub(crate) fn summary(&self) -> Result<()> {
        say("\nall green:\n")?;
        for (name, took) in &self.done {
            say(&format!("  {name:<24} {:>9}\n", seconds(*took)))?;
        }
        Ok(())
    }
}

/// Writes to stderr, where the tools that we run also report, so that a log keeps the order.
pub(crate) fn say(text: &str) -> Result<()> {
    let mut stderr = io::stderr().lock();
    stderr.write_all(text.as_bytes())?;
    Ok(stderr.flush()?)
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}
