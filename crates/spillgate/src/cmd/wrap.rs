//! `spillgate wrap`: puts a client's servers behind the gateway.

use spillgate_clients::{Plan, Scope, State, permit, wrap as plan};

use crate::args::{Common, LimitArgs};
use crate::client_args::Wrap;
use crate::clients::{
    asked, carry_out, check_names, files, gateway, nothing_found, projects_file, records,
    surroundings,
};
use crate::failure::Failure;
use crate::output::Output;
use crate::settings::Settings;

pub(crate) fn wrap(common: &Common, wrap: &Wrap, out: &Output) -> Result<u8, Failure> {
    Settings::load(common, &LimitArgs::default())?;
    let (client, which) = (wrap.client, &wrap.which);
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
        return Err(nothing_found(client, &files));
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
