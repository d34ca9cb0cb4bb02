//! `spillgate completions` and `spillgate man`.

use std::io;
use std::path::Path;

use clap::CommandFactory;

use crate::args::{Args, Completions, Man};
use crate::failure::{Failure, Fault};

pub(crate) fn completions(completions: &Completions) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(
        completions.shell,
        &mut Args::command(),
        "spillgate",
        &mut script,
    );
    io::Write::write_all(&mut io::stdout(), &script)?;
    Ok(0)
}

pub(crate) fn man(man: &Man) -> Result<u8, Failure> {
    match &man.dir {
        Some(directory) => clap_mangen::generate_to(Args::command(), directory)
            .map_err(|error| not_written(directory, &error))?,
        None => clap_mangen::Man::new(Args::command()).render(&mut io::stdout())?,
    }
    Ok(0)
}

fn not_written(directory: &Path, error: &io::Error) -> Failure {
    let message = format!("{}: {error}", directory.display());
    Failure::new("io", Fault::Caller, message).hint("name a directory that exists")
}
