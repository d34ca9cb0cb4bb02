//! `spillgate verify`: checks that stored outputs are unchanged.

use serde_json::json;
use spillgate_artifact::Handle;
use spillgate_offload::{Verified, verify as check};
use spillgate_store::StoreError;

use crate::args::Verify;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::CaptureProgress;
use crate::wiring::App;

pub(crate) fn verify(app: &App, verify: &Verify, out: &Output) -> Result<u8, Failure> {
    let is_all = verify.handles.is_empty();
    let typed = verify.handles.iter().map(|one| app.handle(one));
    let handles = match is_all {
        true => all(app)?,
        false => typed.collect::<Result<_, _>>()?,
    };
    let (mut progress, mut bytes) = (CaptureProgress::checking(), 0);
    let (mut checked, mut damaged, mut locked) = (0u64, 0u64, 0u64);
    for handle in handles {
        let verified = check(&*app.store, handle, &mut |read| {
            bytes += read;
            progress.at(bytes);
        });
        let verified = match verified {
            // The artifact was removed after the list was made.
            Err(StoreError::Absent { .. }) if is_all => continue,
            Err(error @ StoreError::Locked { .. }) if is_all => {
                locked += 1;
                tell_locked(handle, &error, out)?;
                continue;
            }
            verified => verified?,
        };
        checked += 1;
        damaged += u64::from(!verified.problems.is_empty());
        tell(handle, &verified, out)?;
    }
    drop(progress);
    if !out.json {
        let locked = match locked {
            0 => String::new(),
            _ => format!(", {locked} not checked"),
        };
        out.note(&format!("{checked} checked, {damaged} damaged{locked}"));
    }
    Ok(u8::from(damaged + locked > 0))
}

/// Reports an output that cannot be decrypted, and therefore not checked.
fn tell_locked(handle: Handle, error: &StoreError, out: &Output) -> Result<(), Failure> {
    match out.json {
        true => out.object(&json!({"handle": handle, "error": error.to_string()}))?,
        false => out.raw(format!("{handle} not checked: {error}\n").as_bytes())?,
    }
    Ok(())
}

fn all(app: &App) -> Result<Vec<Handle>, Failure> {
    let survey = app.store.survey()?;
    let listed = survey.listed.iter().map(|one| one.manifest.handle);
    let damaged = survey.damaged.iter().map(|one| one.handle);
    Ok(listed.chain(damaged).collect())
}

fn tell(handle: Handle, verified: &Verified, out: &Output) -> Result<(), Failure> {
    let Verified {
        problems,
        unchecked,
    } = verified;
    if out.json {
        let whole = problems.is_empty();
        out.object(&json!({
            "handle": handle, "whole": whole, "problems": problems, "not_checkable": unchecked,
        }))?;
        return Ok(());
    }
    let found = match (&**problems, &**unchecked) {
        ([], []) => "whole".to_owned(),
        ([], unchecked) => {
            let parts = unchecked.join(", ");
            format!("whole, but it cannot be checked, because an older version stored it: {parts}")
        }
        (problems, _) => format!("DAMAGED: {}", problems.join("; ")),
    };
    out.raw(format!("{handle} {found}\n").as_bytes())?;
    Ok(())
}
