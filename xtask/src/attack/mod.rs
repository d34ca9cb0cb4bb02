//! `cargo xtask attack`: repeats known attacks on the program.
//!
//! The attacks are limited in time and number. They use only loopback addresses and a directory of
//! their own.

mod chance;
mod corruptions;
mod cuts;
mod frames;
mod hangups;
mod kills;
pub(crate) mod peer;
mod races;
mod regexes;
mod room;
mod session;
mod ssrf;
mod table;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

pub(crate) use self::chance::Chance;
pub(crate) use self::frames::mutated as frame;
pub(crate) use self::peer::PLAY;
pub(crate) use self::room::{LIMIT, Room, Running, handles};
pub(crate) use self::session::Session;
use self::table::{Outcome, table};
use crate::command::{cargo, run};
use crate::report::{Report, say};
use crate::workspace;

const USAGE: &str = "usage: cargo xtask attack [--seed N] [--only NAME,…] [--quick] [--release] [--no-build]\n\
    NAME: frames, kills, races, regexes, hangups, corruptions, cuts, ssrf";

/// Builds the program that is attacked.
const BUILD: &str = "build --locked --package spillgate --features full --bin spillgate";

/// One kind of attack.
struct Attack {
    name: &'static str,
    /// The name of the attack in the report.
    step: &'static str,
    /// Number of attempts, in a full and in a quick run. For `cuts`, the number for each reader.
    count: [usize; 2],
    /// How many attempts the attack makes for each one of `count`.
    times: usize,
    run: fn(&Room, usize, &mut Chance) -> Result<Outcome>,
}

const ATTACKS: [Attack; 8] = [
    Attack {
        name: "frames",
        step: "broken frames",
        count: [100_000, 8_000],
        times: 1,
        run: frames::attack,
    },
    Attack {
        name: "kills",
        step: "kill -9",
        count: [700, 30],
        times: 1,
        run: kills::attack,
    },
    Attack {
        name: "races",
        step: "races for the store",
        count: [4_500, 160],
        times: 1,
        run: races::attack,
    },
    Attack {
        name: "regexes",
        step: "costly patterns",
        count: [80, 20],
        times: 1,
        run: regexes::attack,
    },
    Attack {
        name: "hangups",
        step: "clients that hang up",
        count: [240, 24],
        times: 1,
        run: hangups::attack,
    },
    Attack {
        name: "corruptions",
        step: "flipped bits",
        count: [64, 12],
        times: 1,
        run: corruptions::attack,
    },
    Attack {
        name: "cuts",
        step: "files cut while read",
        count: [20, 2],
        times: 7,
        run: cuts::attack,
    },
    Attack {
        name: "ssrf",
        step: "private addresses",
        count: [68, 50],
        times: 1,
        run: ssrf::attack,
    },
];

/// The attacks to run, and how to run them.
#[derive(Debug)]
struct Plan {
    seed: u64,
    only: Vec<String>,
    is_quick: bool,
    is_release: bool,
    build: bool,
}

impl Plan {
    fn of(arguments: &[String]) -> Result<Self> {
        let mut plan = Self {
            seed: 1,
            only: Vec::new(),
            is_quick: false,
            is_release: false,
            build: true,
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--quick" => plan.is_quick = true,
                "--release" => plan.is_release = true,
                "--no-build" => plan.build = false,
                "--seed" => {
                    let seed = words.next().and_then(|seed| seed.parse().ok());
                    plan.seed = seed.context(USAGE)?;
                }
                "--only" => {
                    let names = words.next().context(USAGE)?.split(',');
                    plan.only.extend(names.map(str::to_owned));
                }
                _ => bail!(USAGE),
            }
        }
        let is_known = |name: &String| ATTACKS.iter().any(|attack| attack.name == name);
        ensure!(plan.only.iter().all(is_known), USAGE);
        Ok(plan)
    }

    fn has(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }

    fn program(&self) -> Result<PathBuf> {
        let mut directory = workspace::built()?;
        if self.is_release {
            directory = directory.with_file_name("release");
        }
        Ok(directory.join("spillgate"))
    }
}

/// Runs the attacks that `arguments` select. Fails if anything went wrong.
pub(crate) fn run_with(report: &mut Report, arguments: &[String]) -> Result<()> {
    let plan = Plan::of(arguments)?;
    if plan.build {
        report.step("build the program", || {
            let release = if plan.is_release { " --release" } else { "" };
            run(&mut cargo(&format!("{BUILD}{release}")))
        })?;
    }
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    let program = plan.program()?;
    let (mut rows, mut faults) = (Vec::new(), Vec::new());
    for attack in ATTACKS.iter().filter(|attack| plan.has(attack.name)) {
        let count = attack.count[usize::from(plan.is_quick)];
        say(&format!("\n==> {}\n", attack.step))?;
        let begin = Instant::now();
        let room = Room::new(attack.name, &program, &interrupted)?;
        let outcome = (attack.run)(&room, count, &mut Chance::of(plan.seed, attack.name));
        say(&format!(
            "==> {} took {:.1} s\n",
            attack.step,
            begin.elapsed().as_secs_f64()
        ))?;
        match outcome {
            Ok(outcome) => {
                let found = outcome.faults(count * attack.times);
                faults.extend(
                    found
                        .into_iter()
                        .map(|fault| format!("{}: {fault}", attack.name)),
                );
                rows.push((attack.name, outcome));
            }
            Err(error) => {
                room.go_on()?;
                faults.push(format!("{}: {error:#}", attack.name));
            }
        }
    }
    say(&format!("\nseed {}\n{}", plan.seed, table(&rows)))?;
    ensure!(
        faults.is_empty(),
        "the program did not withstand the attacks:\n  {}",
        faults.join("\n  ")
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_attacks_can_be_asked_for() {
        let plan = |words: &str| {
            Plan::of(
                &words
                    .split_whitespace()
                    .map(str::to_owned)
                    .collect::<Vec<_>>(),
            )
        };
        let one = plan("--quick --seed 9 --only kills,races").unwrap();
        assert_eq!((one.seed, one.is_quick), (9, true));
        assert!(one.has("kills") && one.has("races") && !one.has("frames"));
        assert!(plan("").unwrap().has("ssrf"));
        for wrong in ["--only nothing", "--seed", "--seed x", "--slow"] {
            assert!(plan(wrong).is_err(), "{wrong}");
        }
    }
}
