//! `cargo xtask load`: runs many clients at the same time, through the gateway and directly.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::command::{cargo, run, run_within};
use crate::conformance::sides::{Front, rust_server};
use crate::conformance::{BUILD, kit};
use crate::report::Report;
use crate::served::{Served, log};
use crate::workspace;

/// Number of clients, duration and build.
struct Plan {
    clients: u32,
    seconds: u64,
    is_release: bool,
    build: bool,
    front: Option<String>,
    upstreams: Vec<Upstream>,
}

/// How the gateway reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Upstream {
    Http,
    Stdio,
}

const USAGE: &str = "usage: cargo xtask load [--minutes N | --seconds N] [--clients N] [--release] [--upstream http|stdio] [--stand-in straight|crossed] [--no-build]";

/// Runs the loads that `arguments` select.
pub(crate) fn run_with(report: &mut Report, arguments: &[String]) -> Result<()> {
    let plan = Plan::of(arguments)?;
    if plan.build {
        report.step("build gateway, server and clients", || {
            let release = if plan.is_release { " --release" } else { "" };
            run(&mut cargo(&format!("{BUILD}{release}")))
        })?;
    }
    all(report, &plan)
}

/// Runs a short load as a part of all tests, with the programs that are already built.
pub(crate) fn test(report: &mut Report) -> Result<()> {
    let plan = Plan {
        seconds: 20,
        ..Plan::of(&[])?
    };
    all(report, &plan)
}

fn all(report: &mut Report, plan: &Plan) -> Result<()> {
    for upstream in &plan.upstreams {
        let name = match upstream {
            Upstream::Http => "load, the server behind HTTP",
            Upstream::Stdio => "load, the server as a program",
        };
        report.step(name, || load(plan, *upstream))?;
    }
    Ok(())
}

impl Plan {
    fn of(arguments: &[String]) -> Result<Self> {
        let mut plan = Self {
            clients: 64,
            seconds: 60,
            is_release: false,
            build: true,
            front: None,
            upstreams: vec![Upstream::Http, Upstream::Stdio],
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if word == "--release" {
                plan.is_release = true;
                continue;
            }
            if word == "--no-build" {
                plan.build = false;
                continue;
            }
            let value = words.next().map(String::as_str).unwrap_or_default();
            match (word.as_str(), value.parse::<u32>(), value) {
                ("--minutes", Ok(minutes), _) => plan.seconds = 60 * u64::from(minutes),
                ("--seconds", Ok(seconds), _) => plan.seconds = u64::from(seconds),
                ("--clients", Ok(clients), _) => plan.clients = clients,
                ("--stand-in", _, "straight" | "crossed") => plan.front = Some(value.to_owned()),
                ("--upstream", _, "http") => plan.upstreams = vec![Upstream::Http],
                ("--upstream", _, "stdio") => plan.upstreams = vec![Upstream::Stdio],
                _ => bail!(USAGE),
            }
        }
        if plan.front.is_some() {
            plan.upstreams = vec![Upstream::Http]; // the stand-in proxy supports only HTTP
        }
        Ok(plan)
    }
}

/// Quota of the store in bytes. A fast machine stores this much in a minute, so that a run of
/// several minutes evicts.
const QUOTA: u64 = 2_000_000_000;

/// A home directory for the run. It is removed when the run ends; after a `kill -9` the next run
/// removes it.
struct Home(PathBuf);

impl Home {
    fn new() -> Result<Self> {
        let home = Self(kit::home().join("load"));
        home.clear();
        fs::create_dir_all(home.store())?;
        Ok(home)
    }

    fn store(&self) -> PathBuf {
        self.0.join("store")
    }

    /// Returns the environment: a store with a quota, and no configuration of the user.
    fn settings(&self) -> Vec<(&'static str, PathBuf)> {
        let mut settings = crate::conformance::sides::settings_in(&self.0);
        settings.push(("SPILLGATE_STORE", self.store()));
        settings.push(("SPILLGATE_QUOTA", PathBuf::from(QUOTA.to_string())));
        settings
    }

    fn clear(&self) {
        // Before the first run, the directory does not exist.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.clear();
    }
}

fn load(plan: &Plan, upstream: Upstream) -> Result<()> {
    // The home is created first, so that it is dropped last: the gateway writes to it until the
    // gateway ends.
    let home = Home::new()?;
    let mut directory = workspace::built()?;
    if plan.is_release {
        directory = directory.with_file_name("release");
    }
    let logs = kit::home().join("logs");
    let server = Served::start(
        &mut rust_server(&directory),
        &log(&logs, "load-server"),
        None,
    )?;
    let front = match &plan.front {
        Some(way) => Front::StandIn(way.clone()),
        None => Front::Gateway(directory.clone()),
    };
    let gateway = match upstream {
        Upstream::Http => front.start_in(server.url(), home.settings())?,
        Upstream::Stdio => {
            let mut command = Command::new(directory.join("spillgate"));
            command.args(["mcp", "--http", "127.0.0.1:0", "--"]);
            command.arg(directory.join("examples/everything"));
            Served::start(
                command.envs(home.settings()),
                &log(&logs, "load-gateway"),
                None,
            )?
        }
    };
    let mut clients = Command::new(directory.join("examples/load"));
    clients.args([server.url(), gateway.url()]).args([
        gateway.id().to_string(),
        plan.clients.to_string(),
        plan.seconds.to_string(),
    ]);
    clients
        .arg(directory.join("spillgate"))
        .envs(home.settings());
    clients.arg(home.store()).arg(QUOTA.to_string());
    // The clients end by themselves; they detect replies that never arrive.
    run_within(Duration::from_secs(plan.seconds + 120), &mut clients)
}
