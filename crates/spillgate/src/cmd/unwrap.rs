//! `spillgate unwrap`: restores a client's servers that `wrap` put behind the gateway.

use spillgate_clients::{Plan, unwrap as plan};

use crate::client_args::{Scopes, Unwrap};
use crate::clients::{asked, carry_out, check_names, files, nothing_found, records};
use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn unwrap(unwrap: &Unwrap, out: &Output) -> Result<u8, Failure> {
    let (client, which) = (unwrap.client, &unwrap.which);
    let places = asked(client, which, |_| true)?;
    let records = records()?;
    let all = which.scope.is_none_or(|scope| scope == Scopes::All);
    let mut files = files(&places);
    if all && which.file.is_none() {
        // The records also name files that were wrapped in other directories.
        let real = |file: &std::path::PathBuf| file.canonicalize().ok();
        let known: Vec<_> = files.iter().filter_map(real).collect();
        let recorded = records.files(client)?.into_iter();
        files.extend(recorded.filter(|file| !known.contains(file)));
    }
    let mut plans: Vec<Plan> = Vec::new();
    for file in &files {
        plans.extend(plan(client, file, &places, all, &which.servers, &records)?);
    }
    // Without a file there is nothing of ours, unless the user names what must be there.
    let is_named = which.file.is_some() || !which.servers.is_empty();
    if plans.is_empty() && is_named {
        return Err(nothing_found(client, &files));
    }
    check_names(&which.servers, &plans)?;
    carry_out(client, &plans, &records, which.dry_run, out)
}
