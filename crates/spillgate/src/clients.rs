//! Helpers of the commands that read and change clients' configurations.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use serde_json::{Value, json};
use spillgate_clients::{
    Client, ClientsError, Gateway, Outcome, Plan, Records, Scope, ServerTable, State, Surroundings,
    explicit, places,
};

use crate::args::Common;
use crate::client_args::{Scopes, Which, Wrap};
use crate::failure::{Failure, Fault};
use crate::output::Output;
use crate::settings::{directories, state_home};

/// Returns the records of wrapped servers. Their directory is separate from the store, because the
/// store may be moved or emptied.
pub(crate) fn records() -> Result<Records, Failure> {
    Ok(Records::new(state_home()?.join("spillgate-clients")))
}

pub(crate) fn surroundings() -> Result<Surroundings, Failure> {
    let directories = directories()?;
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    Ok(Surroundings {
        home: directories.home_dir().to_owned(),
        config: directories.config_dir(),
        project: env::current_dir()?,
        codex_home: set("CODEX_HOME").map(PathBuf::from),
        copilot_home: set("COPILOT_HOME").map(PathBuf::from),
        claude_config: set("CLAUDE_CONFIG_DIR").map(PathBuf::from),
        macos: cfg!(target_os = "macos"),
    })
}

/// Returns the server tables that the options select.
pub(crate) fn asked(
    client: Client,
    which: &Which,
    unless_told: impl Fn(Scope) -> bool,
) -> Result<Vec<ServerTable>, Failure> {
    let around = surroundings()?;
    if let Some(file) = &which.file {
        let file = std::path::absolute(file)?;
        return Ok(explicit(client, &file, &around));
    }
    let wanted = |scope| match which.scope {
        Some(scopes) => Scopes::has(scopes, scope),
        None => unless_told(scope),
    };
    let mut all = places(client, &around);
    all.retain(|place| wanted(place.scope));
    Ok(all)
}

/// Returns the files of the tables, each file once, in order.
pub(crate) fn files(places: &[ServerTable]) -> Vec<PathBuf> {
    let mut seen = BTreeSet::new();
    let new = places.iter().filter(|place| seen.insert(&place.file));
    new.map(|place| place.file.clone()).collect()
}

/// Reports that no configuration file was found.
pub(crate) fn nothing_found(client: Client, files: &[PathBuf]) -> Failure {
    let looked: Vec<String> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    let message = match looked.is_empty() {
        true => format!("{} has no configuration in this scope", client.title()),
        false => format!(
            "{} has no configuration file; looked for {}",
            client.title(),
            looked.join(", ")
        ),
    };
    let hint = match projects_file(client, files) {
        Some(file) => format!(
            "{} is there, but everyone who works on the project shares it: --scope project includes it",
            file.display()
        ),
        None => {
            "add a server in the client first, choose another --scope, or name the file with --file"
                .to_owned()
        }
    };
    Failure::new("no_config", Fault::Caller, message).hint(hint)
}

/// Returns an existing file of the project in this directory that is not among `looked_at`.
pub(crate) fn projects_file(client: Client, looked_at: &[PathBuf]) -> Option<PathBuf> {
    let places = places(client, &surroundings().ok()?);
    let projects = places
        .into_iter()
        .filter(|place| place.scope == Scope::Project);
    let mut files = projects.map(|place| place.file);
    files.find(|file| file.is_file() && !looked_at.contains(file))
}

/// Checks that each server name in the options exists in some file.
pub(crate) fn check_names(only: &[String], plans: &[Plan]) -> Result<(), ClientsError> {
    let known: BTreeSet<&str> = plans
        .iter()
        .flat_map(|plan| plan.names.iter().map(String::as_str))
        .collect();
    let missing = only.iter().find(|name| !known.contains(name.as_str()));
    missing.map_or(Ok(()), |name| {
        Err(ClientsError::NoServer {
            name: name.clone(),
            known: known.into_iter().collect::<Vec<_>>().join(", "),
        })
    })
}

/// Returns how a shell's configuration names this program.
pub(crate) fn own_program() -> Result<String, Failure> {
    program_for(false)
}

/// Returns how a client's configuration names this program.
pub(crate) fn program(client: Client) -> Result<String, Failure> {
    program_for(client.is_desktop())
}

fn program_for(is_desktop: bool) -> Result<String, Failure> {
    let own = env::current_exe()?;
    let on_path = on_path("spillgate").filter(|found| same_file(found, &own));
    // A client that starts from a desktop may not have the shell's PATH.
    let program = match (on_path, is_desktop) {
        (Some(_), false) => PathBuf::from("spillgate"),
        (Some(found), true) => found,
        (None, _) => own,
    };
    text_of_path(&program)
}

/// Returns how a client's configuration starts the gateway.
pub(crate) fn gateway(client: Client, common: &Common, wrap: &Wrap) -> Result<Gateway, Failure> {
    let mut arguments = options(common)?;
    arguments.extend(wrap.gateway_args.iter().cloned());
    Ok(Gateway {
        program: program(client)?,
        arguments,
        lookups: !wrap.no_lookups,
    })
}

/// Returns a path as text.
pub(crate) fn text_of_path(path: &Path) -> Result<String, Failure> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        let message = format!("{} is not UTF-8", path.display());
        Failure::new("path", Fault::Caller, message).hint("use another path")
    })
}

/// Returns the options of a command that selects the same store, configuration and tokenizer.
pub(crate) fn options(common: &Common) -> Result<Vec<String>, Failure> {
    let mut arguments = Vec::new();
    for (flag, path) in [("--store", &common.store), ("--config", &common.config)] {
        if let Some(path) = path {
            let path = crate::stores::absolute(path)?;
            arguments.extend([flag.to_owned(), text_of_path(&path)?]);
        }
    }
    if let Some(tokenizer) = common.tokenizer {
        let name = serde_json::to_value(tokenizer).unwrap_or_default();
        arguments.extend([
            "--tokenizer".to_owned(),
            name.as_str().unwrap_or_default().to_owned(),
        ]);
    }
    Ok(arguments)
}

/// Returns the program that a shell would start for this name.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let found = env::split_paths(&path).map(|directory| directory.join(name));
    found.into_iter().find(|file| is_program(file))
}

/// Whether `file` is a regular file that may be executed.
pub(crate) fn is_program(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

fn same_file(left: &Path, right: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(left).is_some_and(|left| Some(left) == real(right))
}

/// Carries out plans, or with `--dry-run` only shows the changes. Prints a report.
pub(crate) fn carry_out(
    client: Client,
    plans: &[Plan],
    records: &Records,
    dry_run: bool,
    out: &Output,
) -> Result<u8, Failure> {
    if !dry_run {
        for plan in plans.iter().filter(|plan| plan.changes()) {
            plan.carry_out(records)?;
        }
    }
    let changes = plans.iter().any(Plan::changes);
    if out.json {
        let files: Vec<Value> = plans.iter().map(|plan| told(plan, dry_run)).collect();
        let client = client.name();
        out.object(
            &json!({"client": client, "dry_run": dry_run, "changes": changes, "files": files}),
        )?;
        return Ok(0);
    }
    let mut text = String::new();
    for plan in plans {
        if dry_run {
            text.push_str(&plan.diff());
        }
        let lines = lines(plan, dry_run);
        match dry_run {
            // Only the diff is printed on standard output, so that it can be applied.
            true => out.note(lines.trim_end()),
            false => text.push_str(&lines),
        }
    }
    out.text(&text)?;
    match (changes, dry_run) {
        (false, _) => out.note("nothing to change"),
        (true, true) => out.note("nothing was written"),
        (true, false) => out.note(&format!("restart {} to apply the change", client.title())),
    }
    Ok(0)
}

fn told(plan: &Plan, dry_run: bool) -> Value {
    let mut told = json!({
        "file": plan.file,
        "changed": plan.changes(),
        "byte_for_byte": plan.exact,
        "backup": plan.backup,
        "servers": plan.outcomes,
    });
    if dry_run {
        told["diff"] = plan.diff().into();
    }
    told
}

fn lines(plan: &Plan, dry_run: bool) -> String {
    let mut text = format!("{}\n", plan.file.display());
    if plan.outcomes.is_empty() {
        text.push_str(match plan.wraps {
            true => "  no server is configured in it\n",
            false => "  no server of ours\n",
        });
    }
    for one in &plan.outcomes {
        text.push_str(&line(one));
    }
    if plan.removes {
        text.push_str("  the file is removed: it was not there before\n");
    } else if plan.changes() && plan.exact {
        text.push_str("  the file is restored byte for byte\n");
    } else if let (true, Some(backup)) = (plan.changes() && !dry_run, &plan.backup) {
        text.push_str(&format!("  backup: {}\n", backup.display()));
    }
    text
}

fn line(one: &Outcome) -> String {
    let (state, why) = match &one.state {
        State::Wrapped => ("wrapped", None),
        State::Already => ("already wrapped", None),
        State::Restored => ("restored", None),
        State::Added => ("added", None),
        State::Removed => ("removed", None),
        State::Left(why) => ("left alone", Some(why)),
    };
    let why = why.or(one.note.as_ref());
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    // The name comes from the file and may contain control characters.
    let name = one.server.escape_debug();
    format!("  {state:<16}{name} ({}){why}\n", one.scope.name())
}
