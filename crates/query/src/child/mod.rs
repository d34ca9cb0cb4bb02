//! Runs one filter in a child process.
//!
//! The child lowers its own limits, opens no files, runs one filter on its standard input and
//! reports the outcome. If something goes wrong (a stack overflow, a failed allocation, an endless
//! loop), only this process ends.

mod access;
mod documents;
mod explain;
mod halves;
mod jq;
mod json;
mod lazy;
mod missing;
mod plan;
mod reading;
mod repair;
mod run;
mod sink;
mod split;
mod table;
mod text;

use std::io::{self, Write};

use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};
use spillgate_artifact::ByteSource;

use crate::protocol::{Message, Refusal, Request};

/// Size of the stack on which parsers and filters recurse, in bytes. Even the longest filter and
/// the deepest document need only a small part of it.
const STACK: usize = 256 << 20;

/// Number of bytes that the program maps in addition to data, stack and results.
const PROGRAM: u64 = 256 << 20;

/// Runs the filter of `request`, which is the value of [`REQUEST`](crate::REQUEST), over `input`,
/// which is standard input. Writes the outcome to `out` and returns the exit code. Call it only in
/// a process of its own, because it permanently lowers the limits of the process.
pub fn child_main(request: &str, input: &dyn ByteSource, out: &mut (dyn Write + Send)) -> u8 {
    match serve(request, input, out) {
        Ok(()) => 0,
        // The parent has stopped reading, or the request could not be carried out.
        Err(_) => 1,
    }
}

fn serve(request: &str, input: &dyn ByteSource, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let request: Request = serde_json::from_str(request)?;
    confine(&request)?;
    work(&request, input, out)
}

/// Runs a request within this process, without limits. It is only for filters that a fuzz target
/// builds and that always end. Never use it for filters of a model (ADR 22).
#[doc(hidden)]
pub fn unconfined(
    request: &str,
    input: &dyn ByteSource,
    out: &mut (dyn Write + Send),
) -> io::Result<()> {
    work(&serde_json::from_str(request)?, input, out)
}

pub(crate) fn work(
    request: &Request,
    input: &dyn ByteSource,
    out: &mut (dyn Write + Send),
) -> io::Result<()> {
    let mut buffer = Vec::new();
    let data = halves::read(input, request.from, request.length, &mut buffer)?;
    let run = move || -> io::Result<()> {
        let mut sink = sink::Sink::new(request, out);
        let message = match run::run(request, data, &mut sink) {
            Ok(summary) => Message::End(Box::new(summary)),
            Err(refusal) => Message::Refused(refusal),
        };
        sink.end(&message)
    };
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK);
        let thread = builder.spawn_scoped(scope, run)?;
        thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the filter panicked")))
    })
}

/// Limits memory and processor time as requested, and forbids new files, writing to files and core
/// dumps. If the parent ends, the child ends, too.
fn confine(request: &Request) -> io::Result<()> {
    let memory = request
        .memory
        .saturating_add(request.length)
        .saturating_add(STACK as u64 + PROGRAM);
    let limits = [
        (Resource::As, memory),
        (Resource::Cpu, request.cpu),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        (Resource::Nofile, 0),
    ];
    for (resource, limit) in limits {
        let limit = Rlimit {
            current: Some(limit),
            maximum: Some(limit),
        };
        setrlimit(resource, limit)?;
    }
    set_parent_process_death_signal(Some(Signal::KILL))?;
    Ok(())
}

/// Reports an error while reading the data.
impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Failed {
            message: error.to_string(),
        }
    }
}
