//! `spillgate completions` and `spillgate man`: print completion scripts and manual pages.

use clap::Command;
use serde_json::json;

use crate::args::{Completions, Man};
use crate::complete::script;
use crate::examples::command;
use crate::failure::{Failure, Fault};
use crate::output::Output;

pub(crate) fn completions(completions: &Completions, out: &Output) -> Result<u8, Failure> {
    print(
        out,
        "script",
        script(completions.shell, "spillgate").as_bytes(),
    )
}

pub(crate) fn man(man: &Man, out: &Output) -> Result<u8, Failure> {
    let Some(directory) = &man.dir else {
        let (mut page, mut all) = (Vec::new(), command());
        // Gives each command its whole name and the options that all commands have.
        all.build();
        let described = match &man.command {
            None => all,
            Some(name) => found(&all, name)?,
        };
        clap_mangen::Man::new(described).render(&mut page)?;
        return print(out, "page", &page);
    };
    clap_mangen::generate_to(command(), directory).map_err(|error| {
        let message = format!("{}: {error}", directory.display());
        Failure::new("io", Fault::Caller, message).hint("name a directory that exists")
    })?;
    if out.json {
        out.object(&json!({"dir": directory}))?;
    }
    Ok(0)
}

/// Returns the command of this name.
fn found(all: &Command, name: &str) -> Result<Command, Failure> {
    all.find_subcommand(name).cloned().ok_or_else(|| {
        Failure::new(
            "usage",
            Fault::Caller,
            format!("there is no command `{name}`"),
        )
        .hint("`spillgate help` lists the commands")
        .code(2)
    })
}

fn print(out: &Output, name: &str, text: &[u8]) -> Result<u8, Failure> {
    match out.json {
        true => out.object(&json!({name: String::from_utf8_lossy(text)}))?,
        false => out.raw(text)?,
    }
    Ok(0)
}
