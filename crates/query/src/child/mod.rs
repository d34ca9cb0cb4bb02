//! The child process that runs one filter.
//!
//! It lowers its own limits, opens nothing, runs one filter on its standard input and reports the
//! outcome. Whatever goes wrong here (a stack overflow, a failed allocation, an endless loop) ends
//! this process and nothing else.

mod documents;
mod jq;
mod json;
mod lazy;
mod missing;
mod plan;
mod run;
mod sink;
mod table;
mod text;

use std::io::{self, Write};

use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};
use spillgate_artifact::ByteSource;

use crate::protocol::{Message, Refusal, Request};

/// Bytes of the stack on which parsers and filters recurse. The longest filter and the deepest
/// document need a small part of it.
const STACK: usize = 256 << 20;

/// Bytes that the program itself maps besides data, stack and results.
const PROGRAM: u64 = 256 << 20;

/// Runs the filter of `request`, the value of [`REQUEST`](crate::REQUEST), over `input`, which is
/// standard input, and writes the outcome to `out`. Returns the exit code. Call it only in a
/// process of its own: it lowers the limits of the process for good.
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

/// Runs a request within this process, without limits. For filters that a fuzz target builds, which
/// end; never for filters of a model (ADR 22).
#[doc(hidden)]
pub fn unconfined(
    request: &str,
    input: &dyn ByteSource,
    out: &mut (dyn Write + Send),
) -> io::Result<()> {
    work(&serde_json::from_str(request)?, input, out)
}

fn work(request: &Request, input: &dyn ByteSource, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let mut buffer = Vec::new();
    let end = request.from.saturating_add(request.length);
    let data = input.window(request.from, end, &mut buffer)?;
    if (data.len() as u64) < request.length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let run = || -> io::Result<()> {
        let mut sink = sink::Sink::new(request, out);
        let message = match run::run(request, data, &mut sink) {
            Ok(summary) => Message::End(summary),
            Err(refusal) => Message::Refused(refusal),
        };
        sink.message(&message)
    };
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK);
        let thread = builder.spawn_scoped(scope, run)?;
        thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the filter panicked")))
    })
}

/// Limits memory and processor time as requested. Forbids new files, writing to files and core
/// dumps, and ends the child with its parent.
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

/// Reports an error of reading.
impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Failed {
            message: error.to_string(),
        }
    }
}
