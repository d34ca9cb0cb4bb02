//! `cargo xtask conformance`: checks that clients and servers do not notice the gateway.
//!
//! It runs the official suite against two servers, in both revisions of the protocol, directly and
//! through the gateway. It also runs the suite's client scenarios with the SDK's own client,
//! directly and through the gateway. Some checks may fail because of the servers, but the same
//! checks must pass directly and through the gateway. If a scenario differs, it is run once more on
//! its own, both directly and through the gateway: a difference that appears only while other
//! scenarios run is caused by the load on the machine.

pub(crate) mod kit;
mod outcome;
pub(crate) mod sides;
mod table;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use std::{env, fs, thread};

use anyhow::{Context, Result, bail, ensure};

use self::outcome::Outcome;
use self::sides::{Front, REVISIONS, Upstream, settings};
use self::table::Row;
use crate::command::{cargo, run, run_within};
use crate::fetch::CannotFetch;
use crate::report::{Report, say};
use crate::{peers, workspace};

/// If this variable is `1`, `cargo xtask test` skips the conformance suite.
const SKIP: &str = "SPILLGATE_SKIP_CONFORMANCE";

/// Builds the programs that are run. It uses the features of the tests, because otherwise
/// everything would be compiled twice.
pub(crate) const BUILD: &str = "build --workspace --features spillgate/full --bin spillgate --example everything --example load --locked";

/// Builds all tests, which includes these programs.
const BUILT: &str = "test --workspace --features spillgate/full --locked --no-run";

/// Time limit of a scenario in milliseconds: one scenario waits for real time to pass.
const SCENARIO_LIMIT: &str = "60000";

/// Time limit of a run of the suite. A run that takes longer hangs.
const RUN_LIMIT: Duration = Duration::from_mins(5);

/// What to run, from the command line.
struct Plan {
    servers: Vec<Upstream>,
    clients: bool,
    front: Front,
    save: bool,
    build: bool,
}

/// Runs what `arguments` select: `--only python|rust|clients`, `--stand-in straight|crooked`,
/// `--save`.
pub(crate) fn run_with(report: &mut Report, arguments: &[String]) -> Result<()> {
    let plan = Plan::of(arguments)?;
    peers::install(report)?;
    report.step("conformance kit", kit::install)?;
    if plan.build {
        report.step("build gateway and servers", || run(&mut cargo(BUILD)))?;
    }
    compare(report, &plan)
}

/// Runs the suite as a part of all tests. If the suite is not available, says why.
pub(crate) fn test_if_possible(report: &mut Report) -> Result<()> {
    let skipped = |why: &str| say(&format!("\n==> conformance: skipped, {why}\n"));
    if env::var_os(SKIP).is_some_and(|value| value == "1") {
        return skipped(&format!("{SKIP} is 1"));
    }
    let mut missing = None;
    report.step("conformance kit", || match kit::install() {
        Err(error) if error.downcast_ref::<CannotFetch>().is_some() => {
            missing = Some(error);
            Ok(())
        }
        outcome => outcome,
    })?;
    if let Some(error) = missing {
        return skipped(&format!("{error:#}"));
    }
    // This is the same build as that of the tests before; with other features, half of it would be
    // rebuilt.
    report.step("build gateway and servers", || run(&mut cargo(BUILT)))?;
    report.step("the comparison sees a difference", sees_a_difference)?;
    compare(report, &Plan::of(&[])?)
}

/// Checks that the comparison finds a proxy that loses progress, and accepts one that loses
/// nothing.
fn sees_a_difference() -> Result<()> {
    let server = Upstream::Rust.start()?;
    let scenario = "tools-call-with-progress";
    for (way, differs) in [("straight", false), ("crooked", true)] {
        let proxy = Front::StandIn(way.to_owned()).start(server.url())?;
        let direct = one_server_scenario(server.url(), REVISIONS[0], scenario, "self-direct")?;
        let through = one_server_scenario(proxy.url(), REVISIONS[0], scenario, "self-through")?;
        ensure!(!direct.0.is_empty(), "the suite did not run {scenario}");
        let found = direct != through;
        ensure!(
            found == differs,
            "the {way} proxy: difference expected: {differs}, difference found: {found}"
        );
    }
    Ok(())
}

impl Plan {
    fn of(arguments: &[String]) -> Result<Self> {
        let mut plan = Self {
            servers: vec![Upstream::Python, Upstream::Rust],
            clients: true,
            front: Front::Gateway(workspace::built()?),
            save: false,
            build: true,
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match (word.as_str(), words.as_slice().first().map(String::as_str)) {
                ("--save", _) => {
                    plan.save = true;
                    continue;
                }
                ("--no-build", _) => {
                    plan.build = false;
                    continue;
                }
                ("--only", Some("python")) => plan.keep(&[Upstream::Python], false),
                ("--only", Some("rust")) => plan.keep(&[Upstream::Rust], false),
                ("--only", Some("clients")) => plan.keep(&[], true),
                ("--stand-in", Some(way @ ("straight" | "crooked"))) => {
                    plan.front = Front::StandIn(way.to_owned());
                }
                _ => bail!(
                    "usage: cargo xtask conformance [--only python|rust|clients] [--stand-in straight|crooked] [--save] [--no-build]"
                ),
            }
            words.next();
        }
        let is_whole = plan.clients && plan.servers.len() == 2 && plan.front.is_gateway();
        ensure!(
            is_whole || !plan.save,
            "--save needs a whole run with the gateway"
        );
        Ok(plan)
    }

    fn keep(&mut self, servers: &[Upstream], clients: bool) {
        self.servers = servers.to_vec();
        self.clients = clients;
    }
}

fn compare(report: &mut Report, plan: &Plan) -> Result<()> {
    let results = kit::home().join("results");
    if results.exists() {
        fs::remove_dir_all(&results).context("cannot clear the last results")?;
    }
    let mut rows = Vec::new();
    report.step("conformance of servers", || {
        for server in &plan.servers {
            for revision in REVISIONS {
                rows.push(compare_server(*server, &plan.front, revision)?);
            }
        }
        Ok(())
    })?;
    report.step("conformance of clients", || {
        // The stand-in proxy supports HTTP only.
        let connector: &[&str] = if plan.front.is_gateway() {
            &["http", "stdio"]
        } else {
            &["http"]
        };
        for revision in REVISIONS.iter().filter(|_| plan.clients) {
            rows.extend(compare_clients(&plan.front, revision, connector)?);
        }
        Ok(())
    })?;
    let table = table::text(&rows);
    say(&format!("\n{table}"))?;
    if plan.save {
        table::save(&rows)?;
    }
    let differing: Vec<&Row> = rows
        .iter()
        .filter(|row| !row.differing.is_empty())
        .collect();
    if differing.is_empty() {
        return say("no scenario differs\n");
    }
    bail!(
        "{} of {} runs have scenarios that differ between direct and through the gateway; results are in .peers/conformance/results",
        differing.len(),
        rows.len()
    )
}

fn compare_server(upstream: Upstream, front: &Front, revision: &str) -> Result<Row> {
    // Each run gets a fresh server, because the next run must not see the subscriptions of an
    // earlier one.
    let server = upstream.start()?;
    let name = |side: &str| format!("{}-{revision}-{side}", upstream.name());
    say(&format!("{} {revision}: directly\n", upstream.name()))?;
    let mut direct = whole_server(server.url(), revision, &name("direct"))?;
    let gateway = front.start(server.url())?;
    say(&format!("{} {revision}: through\n", upstream.name()))?;
    let mut through = whole_server(gateway.url(), revision, &name("through"))?;
    for scenario in direct.differing(&through) {
        say(&format!("{scenario} differs: once more\n"))?;
        let again = |url: &str, side: &str| {
            one_server_scenario(
                url,
                revision,
                &scenario,
                &format!("{}-{scenario}", name(side)),
            )
        };
        let (new_direct, new_through) = (
            again(server.url(), "direct")?,
            again(gateway.url(), "through")?,
        );
        direct.0.extend(new_direct.0);
        through.0.extend(new_through.0);
    }
    Ok(Row::new(
        format!("{} server", upstream.name()),
        revision,
        direct,
        through,
    ))
}

fn whole_server(url: &str, revision: &str, name: &str) -> Result<Outcome> {
    server_suite(url, &["--requirements", revision], name)
}

fn one_server_scenario(url: &str, revision: &str, scenario: &str, name: &str) -> Result<Outcome> {
    server_suite(
        url,
        &[
            "--scenario",
            scenario,
            "--spec-version",
            revision,
            "--force",
        ],
        name,
    )
}

fn server_suite(url: &str, what: &[&str], name: &str) -> Result<Outcome> {
    let folder = results(name)?;
    let mut suite = kit::suite();
    suite
        .args(["server", "--url", url, "--timeout", SCENARIO_LIMIT])
        .args(what);
    quietly(suite.arg("-o").arg(&folder), name)?;
    Outcome::of_server(&folder)
}

/// Runs the SDK's client alone, and behind the gateway over each transport.
fn compare_clients(front: &Front, revision: &str, connector: &[&str]) -> Result<Vec<Row>> {
    let (scenarios, _) = kit::client_scenarios(revision)?;
    let sides: Vec<&str> = ["direct"].iter().chain(connector).copied().collect();
    say(&format!("clients {revision}: {}\n", sides.join(", ")))?;
    // The sides run in parallel, because clients mostly start or wait.
    let outcomes: Vec<Result<Outcome>> = thread::scope(|scope| {
        let mut running = Vec::new();
        for side in &sides {
            running.push(scope.spawn(|| all_clients(front, side, revision, &scenarios)));
        }
        let done = running.into_iter().map(thread::ScopedJoinHandle::join);
        done.map(|side| side.unwrap_or_else(|_| bail!("a thread that ran the suite panicked")))
            .collect()
    });
    let mut outcomes = outcomes.into_iter();
    let alone = outcomes
        .next()
        .context("the run of the client alone is missing")??;
    let mut rows = Vec::new();
    for (way, through) in connector.iter().zip(outcomes) {
        let (mut direct, mut through) = (alone.clone(), through?);
        for scenario in direct.differing(&through) {
            say(&format!("{scenario} differs over {way}: once more\n"))?;
            client_suite(&mut direct, front, "direct", revision, &scenario)?;
            client_suite(&mut through, front, way, revision, &scenario)?;
        }
        rows.push(Row::new(
            format!("client over {way}"),
            revision,
            direct,
            through,
        ));
    }
    Ok(rows)
}

fn all_clients(front: &Front, way: &str, revision: &str, scenarios: &[String]) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    for scenario in scenarios {
        client_suite(&mut outcome, front, way, revision, scenario)?;
    }
    Ok(outcome)
}

/// Runs one client scenario and adds its checks to `outcome`.
fn client_suite(
    outcome: &mut Outcome,
    front: &Front,
    way: &str,
    revision: &str,
    scenario: &str,
) -> Result<()> {
    let name = format!("client-{revision}-{way}-{scenario}");
    let folder = results(&name)?;
    let words = [kit::python(), kit::script("client.py")].map(|word| word.display().to_string());
    let words = words
        .into_iter()
        .chain([way.to_owned(), kit::sdk().display().to_string()]);
    let words: Vec<String> = words
        .chain(front.command())
        .map(|word| quoted(&word))
        .collect();
    let mut suite = kit::suite();
    suite.args([
        "client",
        "--timeout",
        SCENARIO_LIMIT,
        "--scenario",
        scenario,
    ]);
    suite.args([
        "--spec-version",
        revision,
        "--force",
        "--command",
        &words.join(" "),
    ]);
    suite.arg("-o").arg(&folder).envs(settings());
    let passed = quietly(&mut suite, &name)?;
    outcome.add_client(scenario, &folder, passed)
}

/// Quotes a word, because the suite gives the client's command to a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Creates the folder for a run's results, and removes earlier results.
fn results(name: &str) -> Result<PathBuf> {
    let folder = kit::home().join("results").join(name.replace('/', "-"));
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Runs the suite with its output in a log; returns its verdict. Failed checks are not an error
/// here.
fn quietly(suite: &mut Command, name: &str) -> Result<bool> {
    let logs = kit::home().join("logs");
    fs::create_dir_all(&logs)?;
    let log = logs.join(format!("suite-{}.log", name.replace('/', "-")));
    let file = fs::File::create(&log)?;
    suite.stdout(file.try_clone()?).stderr(file);
    let ended = run_within(RUN_LIMIT, suite);
    match ended {
        Err(error) if !format!("{error:#}").contains("ended with") => Err(error),
        ended => Ok(ended.is_ok()),
    }
}
