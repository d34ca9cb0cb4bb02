//! `spillgate doctor`: checks every step from a client's configuration to its working servers.

mod findings;
mod hooks;
mod probe;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use spillgate_clients::{
    Client, FileReport, Forbidden, Launch, Lookups, Records, ServerReport, State, Surroundings,
    UnsetVariable, forbidden, inspect, places,
};

use self::findings::{Finding, Findings};
use crate::args::{Common, LimitArgs};
use crate::client_args::Doctor;
use crate::clients::{files, is_program, on_path, records, surroundings};
use crate::failure::Failure;
use crate::output::Output;
use crate::settings::Settings;
use crate::stores::address;

/// A server to start, and the finding to fill in.
struct Start {
    of: Finding,
    launch: Launch,
}

pub(crate) fn doctor(common: &Common, doctor: &Doctor, out: &Output) -> Result<u8, Failure> {
    let settings = Settings::load(common, &LimitArgs::default())?;
    let records = records()?;
    let mut findings = Findings::default();
    let mut starts = Vec::new();
    let clients = match &doctor.client {
        Some(client) => std::slice::from_ref(client),
        None => &Client::ALL,
    };
    for &client in clients {
        let named = doctor.client.is_some();
        starts.extend(of_client(client, named, &records, &mut findings)?);
    }
    if findings.is_empty() {
        findings.add(
            Finding::of(None, None)
                .note("no MCP client has a configuration file here; commands such as `spillgate run` need none")
                .fix("to use the gateway, add a server in a client, then run `spillgate wrap CLIENT`"),
        );
    }
    stores(&settings, &starts, &mut findings);
    programs(&starts, &mut findings);
    if !doctor.no_start {
        let limit = Duration::from_secs(doctor.timeout);
        started(starts, limit, &settings, &mut findings)?;
    }
    findings.print(out)
}

/// Checks the files of a client; returns the servers to start.
fn of_client(
    client: Client,
    named: bool,
    records: &Records,
    findings: &mut Findings,
) -> Result<Vec<Start>, Failure> {
    let places = places(client, &surroundings()?);
    let files = files(&places);
    let (mut found, mut starts) = (false, Vec::new());
    for file in &files {
        let of = Finding::of(Some(client), Some(file));
        match inspect(client, file, &places, records) {
            Ok(None) => {}
            Ok(Some(report)) => {
                found = true;
                forbidden_in(client, &report, &surroundings()?, findings);
                starts.extend(of_file(client, report, findings));
            }
            Err(error) => {
                found = true;
                findings.add(of.broken(error.to_string()).fix(error.fix()));
            }
        }
    }
    found |= hooks::check(client, &files, findings)?;
    let of = Finding::of(Some(client), None);
    if found {
        let cap = format!(
            "what {} itself does with large results: {}",
            client.title(),
            client.own_cap()
        );
        findings.add(of.note(cap));
    } else if named {
        let looked: Vec<String> = files
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        let what = format!(
            "there is no configuration file; looked for {}",
            looked.join(", ")
        );
        findings.add(of.broken(what).fix("add a server in the client first"));
    }
    Ok(starts)
}

fn of_file(client: Client, report: FileReport, findings: &mut Findings) -> Vec<Start> {
    let of = || Finding::of(Some(client), Some(&report.file));
    let servers = || report.servers.iter().filter(|one| !one.is_lookups);
    let wrapped = |one: &&ServerReport| one.state == State::Already;
    let behind = servers().filter(wrapped).count();
    let all = servers().count();
    findings.add(of().good(format!(
        "it can be read; {behind} of {all} servers are behind the gateway"
    )));
    match (&report.backup, report.as_written) {
        (Some(Ok(_)), Some(true)) => {
            findings.add(of().good("the backup exists; `unwrap` restores the file byte for byte"));
        }
        (Some(Ok(backup)), _) => findings.add(
            of().note(format!(
                "it was changed after it was wrapped: `unwrap` undoes only Spillgate's entries; the backup is {}",
                backup.display()
            )),
        ),
        (Some(Err(error)), _) => findings.add(
            of().broken(error.to_string())
                .fix("run `unwrap`, which still undoes Spillgate's entries, then wrap again"),
        ),
        (None, _) if behind > 0 => findings.add(
            of().note("there is no record of the original entries, as if they were written by hand or on another machine: `unwrap` reconstructs them from the command lines"),
        ),
        (None, _) => {}
    }
    if servers().any(|one| one.leaves_lookups) {
        findings.extend(offered(&report.lookups, client, of()));
    }
    let mut starts = Vec::new();
    for server in report.servers {
        if let Some(list) = &server.hidden_by {
            let of = Finding::of(Some(client), Some(&report.file)).server(&server.name);
            let what = format!(
                "its list `{list}` hides the look-up tools: the model cannot read stored results"
            );
            let fix = format!("allow them in `{list}`, or remove this list");
            findings.add(of.broken(what).fix(fix));
        }
        let of = Finding::of(Some(client), Some(&report.file)).server(&server.name);
        match (server.state, server.launch) {
            (_, Some(launch)) => starts.push(Start { of, launch }),
            (State::Left(why), None) => {
                let what = format!(
                    "not behind the gateway: {why}; docs/clients.md says what can be done by hand"
                );
                findings.add(of.note(what));
            }
            (_, None) => {
                let scope = server.scope.name();
                let fix = format!(
                    "spillgate wrap {client} --scope {scope} --server {:?}",
                    server.name
                );
                findings.add(of.note("not behind the gateway").fix(fix));
            }
        }
    }
    starts
}

/// Reports permissions of the client that keep its model from the look-up tools.
fn forbidden_in(
    client: Client,
    report: &FileReport,
    around: &Surroundings,
    findings: &mut Findings,
) {
    let lists_them = |one: &&ServerReport| one.launch.is_some() && !one.leaves_lookups;
    for server in report.servers.iter().filter(lists_them) {
        let of = |file: &PathBuf| Finding::of(Some(client), Some(file)).server(&server.name);
        let name = &server.name;
        findings.extend(match forbidden(client, name, around) {
            Ok(None) => None,
            Ok(Some(Forbidden::Denied(file))) => Some(
                of(&file)
                    .broken("`permissions.deny` hides the look-up tools: the model cannot read stored results")
                    .fix(format!("take `mcp__{name}` and its tools out of `permissions.deny`")),
            ),
            Ok(Some(Forbidden::NotAllowed(file))) => Some(
                of(&file)
                    .note("`permissions.allow` does not name the look-up tools: the client asks before each call, or refuses it if it cannot ask")
                    .fix(format!("add \"mcp__{name}\" to `permissions.allow`")),
            ),
            Err(error) => Some(of(&report.file).broken(error.to_string()).fix(error.fix())),
        });
    }
}

/// Reports that wrapped servers do not list the look-up tools although no other entry offers them.
fn offered(lookups: &Lookups, client: Client, of: Finding) -> Option<Finding> {
    let (what, fix) = match lookups {
        Lookups::Offered(_) => return None,
        Lookups::Off(name) => (
            format!("{name:?}, which offers the look-up tools, is switched off"),
            format!("switch {name:?} on in {}", client.title()),
        ),
        Lookups::Missing => (
            "no entry offers the look-up tools".to_owned(),
            format!("spillgate unwrap {client} && spillgate wrap {client}"),
        ),
    };
    let what = format!(
        "{what}; until this is corrected, previews name `spillgate` commands in place of tools"
    );
    Some(of.broken(what).fix(fix))
}

/// Checks each store that a gateway writes to.
fn stores(settings: &Settings, starts: &[Start], findings: &mut Findings) {
    let mut stores = BTreeSet::from([settings.store.clone()]);
    for start in starts {
        let words = &start.launch.arguments;
        let ours = words
            .iter()
            .position(|word| word == "--")
            .unwrap_or(words.len());
        let named = words[..ours].iter().skip_while(|word| *word != "--store");
        stores.extend(named.skip(1).take(1).map(PathBuf::from));
    }
    for store in stores {
        if address(&store).is_some() {
            findings.extend(bucket(settings, store));
            continue;
        }
        let of = Finding::of(None, None);
        let place = store.display();
        findings.add(match writable(&store) {
            Ok(()) => of.good(format!("the store can be written: {place}")),
            Err(error) => of
                .broken(format!("the store cannot be written: {place}: {error}"))
                .fix("make the directory writable, or name another one with --store DIR"),
        });
    }
}

/// Checks what a store needs of its bucket.
fn bucket(settings: &Settings, store: PathBuf) -> Vec<Finding> {
    let place = store.display().to_string();
    let settings = Settings {
        store,
        ..settings.clone()
    };
    let of = || Finding::of(None, None);
    let checked = match crate::stores::checked(&settings) {
        Ok(checked) => checked,
        Err(failure) => {
            let finding = of().broken(failure.text().to_owned());
            return vec![finding.fix(failure.hint)];
        }
    };
    let tried = checked.len();
    let wrong = checked
        .into_iter()
        .find_map(|(what, wrong)| Some((what, wrong?)));
    vec![match wrong {
        Some((what, wrong)) => of()
            .broken(format!("the store {place} cannot be used: to {what} does not work: {wrong}"))
            .fix("docs/object-store.md lists what a bucket and its credentials have to allow"),
        None => of().good(format!(
            "the store can be used: {place} passed {tried} checks (store, conditions, read, list, remove)"
        )),
    }]
}

/// Tries to create a file in the directory or, if it does not exist, in its nearest existing
/// ancestor.
fn writable(directory: &Path) -> std::io::Result<()> {
    let there = directory.ancestors().find(|ancestor| ancestor.exists());
    let there = there.unwrap_or(Path::new("."));
    let file = there.join(format!(".spillgate-doctor-{}", std::process::id()));
    std::fs::File::create_new(&file)?;
    std::fs::remove_file(file)
}

/// Checks that each gateway program that a configuration names exists and has the version of this
/// program.
fn programs(starts: &[Start], findings: &mut Findings) {
    let mut seen: Vec<&str> = Vec::new();
    for start in starts {
        let program = start.launch.program.as_str();
        if seen.contains(&program) {
            continue;
        }
        seen.push(program);
        let of = Finding {
            server: None,
            ..start.of.clone()
        };
        let file = match program.contains('/') {
            true => Some(PathBuf::from(program)).filter(|file| is_program(file)),
            false => on_path(program),
        };
        let Some(file) = file else {
            let what = format!("{program:?} does not exist or is not executable");
            findings.add(of.broken(what).fix(rewrap(&start.of)));
            continue;
        };
        match probe::version(&file) {
            Some(version) if version == env!("CARGO_PKG_VERSION") => {
                findings.add(of.good(format!("{program} is version {version}")));
            }
            Some(version) => {
                let own = env!("CARGO_PKG_VERSION");
                let what = format!("{program} is version {version}, this one is {own}");
                findings.add(of.note(what).fix(rewrap(&start.of)));
            }
            None => {
                let what = format!("{program:?} does not report its version");
                findings.add(of.broken(what).fix(rewrap(&start.of)));
            }
        }
    }
}

fn rewrap(of: &Finding) -> String {
    let client = of.client.map_or("CLIENT", Client::name);
    format!(
        "spillgate unwrap {client} && spillgate wrap {client}, with the `spillgate` that the client is to start"
    )
}

/// Starts each server as its client would and lists its tools.
fn started(
    starts: Vec<Start>,
    limit: Duration,
    settings: &Settings,
    findings: &mut Findings,
) -> Result<(), Failure> {
    let mut probes = Vec::new();
    let mut of = Vec::new();
    for start in starts {
        match start.launch.filled(variable) {
            Ok(launch) => {
                probes.push(launch);
                of.push(start.of);
            }
            Err(UnsetVariable(name)) => findings.add(
                start
                    .of
                    .note(format!("not started: only the client knows ${{{name}}}"))
                    .fix("check it in the client"),
            ),
        }
    }
    for (of, answer) in of.into_iter().zip(probe::all(probes, limit)?) {
        let noise = answer.as_ref().map_or(0, |listed| listed.noise);
        if noise > 0 {
            let what = format!("wrote {noise} lines on standard output that are not MCP messages");
            findings.add(
                of.clone()
                    .note(what)
                    .fix("have it write its log to standard error: clients may fail on such lines"),
            );
        }
        if let Ok(listed) = &answer {
            findings.extend(long_list(&of, listed, settings));
        }
        findings.add(match answer {
            Ok(listed) => of.good(format!(
                "answered as {} {} with {} tools in {} ms",
                listed.name.escape_debug(),
                listed.version.escape_debug(),
                listed.tools,
                listed.milliseconds
            )),
            Err(failed) => of.broken(failed.what).fix(failed.fix),
        });
    }
    Ok(())
}

/// Returns a finding if the definitions of a server's tools cost too many tokens.
fn long_list(of: &Finding, listed: &probe::Listed, settings: &Settings) -> Option<Finding> {
    let budget = settings.tool_list_budget;
    let tokens = settings.tokenizer.counter().count(&listed.definitions);
    let what = format!(
        "its {} tools cost {tokens} tokens in every request, over the budget of {budget}",
        listed.tools
    );
    let fix = "set tool_list = \"search\" or \"found\", which list some 600 tokens, or leave tools out with `deny`";
    (tokens > budget).then(|| of.clone().note(what).fix(fix))
}

/// Returns the value of a variable that a client would substitute.
fn variable(name: &str) -> Option<String> {
    let directory = || Some(std::env::current_dir().ok()?.display().to_string());
    match name {
        "workspaceFolder" => directory(),
        "userHome" => std::env::var("HOME").ok(),
        _ if name.starts_with("input:") => None,
        _ => std::env::var(name.strip_prefix("env:").unwrap_or(name)).ok(),
    }
}
