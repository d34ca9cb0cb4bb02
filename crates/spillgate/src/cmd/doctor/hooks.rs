//! Checks the hooks that run `spillgate hook`.

use std::path::PathBuf;

use spillgate_clients::{Client, hook_files, inspect_hooks};

use super::findings::{Finding, Findings};
use crate::clients::{is_program, on_path, surroundings};
use crate::failure::Failure;

/// Checks the hooks of a client; returns whether there are any. `checked` are files that were
/// checked already, so that what is broken in them is known.
pub(super) fn check(
    client: Client,
    checked: &[PathBuf],
    findings: &mut Findings,
) -> Result<bool, Failure> {
    let mut found = false;
    for (scope, file) in hook_files(client, &surroundings()?) {
        let of = || Finding::of(Some(client), Some(&file));
        let report = match inspect_hooks(client, &file) {
            Ok(None) => continue,
            Ok(Some(report)) => report,
            Err(_) if checked.contains(&file) => continue,
            Err(error) => {
                findings.add(of().broken(error.to_string()).fix(error.fix()));
                continue;
            }
        };
        found = true;
        let again = format!("spillgate wrap {client} --hooks --scope {}", scope.name());
        for command in &report.commands {
            findings.add(match program_of(command) {
                true => of().good(format!("a hook runs `{command}`")),
                false => of()
                    .broken(format!(
                        "a hook runs `{command}`, whose program does not exist"
                    ))
                    .fix(format!("spillgate unwrap {client} && {again}")),
            });
        }
        for event in &report.missing {
            let what = format!("there is no hook for {event}");
            findings.add(of().broken(what).fix(&again));
        }
        if let Some(off) = report.off {
            let what = format!("`{off}` turns all hooks off");
            findings.add(of().broken(what).fix("remove it"));
        }
    }
    Ok(found)
}

/// Returns whether the program that a hook starts exists. A quoted path is looked up as it is.
fn program_of(command: &str) -> bool {
    let program = match command.strip_prefix('\'') {
        Some(rest) => rest.split('\'').next().unwrap_or_default(),
        None => command.split(' ').next().unwrap_or_default(),
    };
    match program.contains('/') {
        true => is_program(program.as_ref()),
        false => on_path(program).is_some(),
    }
}
