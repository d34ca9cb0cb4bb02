//! `spillgate wrap`: puts a client's servers behind the gateway.

use std::path::PathBuf;

use spillgate_clients::{
    Client, Plan, Scope, State, add_hooks, has_hooks, hook_files, permit, wrap as plan,
};
use spillgate_untrusted::shell_word;

use crate::args::{Common, LimitArgs};
use crate::client_args::{Scopes, Wrap};
use crate::clients::{
    asked, carry_out, check_names, files, gateway, nothing_found, on_path, options, program,
    projects_file, records, surroundings,
};
use crate::failure::{Failure, Fault};
use crate::output::Output;
use crate::settings::Settings;

pub(crate) fn wrap(common: &Common, wrap: &Wrap, out: &Output) -> Result<u8, Failure> {
    Settings::load(common, &LimitArgs::default())?;
    let (client, which) = (wrap.client, &wrap.which);
    if wrap.hooks {
        return hooks(common, wrap, out);
    }
    // A project's file is shared by everyone who works on it: it changes only on request.
    let places = asked(client, which, |scope| scope != Scope::Project)?;
    let gateway = gateway(client, common, wrap)?;
    let records = records()?;
    let files = files(&places);
    let mut plans: Vec<Plan> = Vec::new();
    for file in &files {
        plans.extend(plan(
            client,
            file,
            &places,
            &which.servers,
            &gateway,
            &records,
        )?);
    }
    if plans.is_empty() {
        let failure = nothing_found(client, &files);
        let hooks = match has_hooks(client) {
            true => "; --hooks covers the client's own tools, such as its shell",
            false => "",
        };
        let hint = format!("{}{hooks}", failure.hint);
        return Err(failure.hint(hint));
    }
    check_names(&which.servers, &plans)?;
    // Permissions are added only to the client's own configuration, and therefore not with
    // `--file`.
    let added = plans.iter().flat_map(|plan| &plan.outcomes);
    let added = added.filter(|one| one.state == State::Added);
    let name = added.map(|one| one.server.clone()).next();
    if let Some(name) = name.filter(|_| which.file.is_none()) {
        plans.extend(permit(client, &name, &surroundings()?, &records)?);
    }
    let code = carry_out(client, &plans, &records, which.dry_run, out)?;
    let is_told = which.scope.is_some() || which.file.is_some() || out.json;
    if let Some(file) = projects_file(client, &files).filter(|_| !is_told) {
        out.note(&format!(
            "{} belongs to the project and was not changed: --scope project includes it",
            file.display()
        ));
    }
    Ok(code)
}

/// Adds the hooks that run `spillgate hook` to the client's settings.
fn hooks(common: &Common, wrap: &Wrap, out: &Output) -> Result<u8, Failure> {
    let (client, which) = (wrap.client, &wrap.which);
    let files = hook_files(client, &surroundings()?);
    if files.is_empty() {
        let message = format!("hooks of {} are not supported", client.title());
        let hooked = Client::ALL.into_iter().filter(|one| has_hooks(*one));
        let names: Vec<&str> = hooked.map(Client::name).collect();
        let hint = format!("they are supported for {}", names.join(", "));
        return Err(Failure::new("no_hooks", Fault::Caller, message).hint(hint));
    }
    let scopes = which.scope.unwrap_or(Scopes::User);
    let wanted = files.into_iter().filter(|(scope, _)| scopes.has(*scope));
    let mut files: Vec<(Scope, PathBuf)> = wanted.collect();
    if let Some(file) = &which.file {
        files = vec![(Scope::User, std::path::absolute(file)?)];
    }
    let mut words = vec![program(client)?];
    words.extend(options(common)?);
    if common.shared_store {
        words.push("--shared-store".to_owned());
    }
    words.extend(["hook".to_owned(), client.to_string()]);
    let words: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
    let records = records()?;
    let mut plans = Vec::new();
    for (scope, file) in &files {
        plans.extend(add_hooks(client, file, *scope, &words, &records)?);
    }
    let code = carry_out(client, &plans, &records, which.dry_run, out)?;
    // The hook of Claude Code puts it on the PATH of its shell.
    if client != Client::ClaudeCode && on_path("spillgate").is_none() {
        out.note("previews name commands such as `spillgate grep`: put `spillgate` on your PATH");
    }
    Ok(code)
}
