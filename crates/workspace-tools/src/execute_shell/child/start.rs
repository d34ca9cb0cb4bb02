//! Turns a forked process into the shell that runs a command.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Signal, set_parent_process_death_signal, setsid};
use rustix::stdio::{dup2_stdin, dup2_stdout};

use super::confine::confine;
use crate::execute_shell::protocol::Request;
use crate::execute_shell::running::no_start;

/// Becomes the shell. Returns only on failure: writes the reason to the original standard output
/// and returns the exit code.
pub(super) fn start() -> u8 {
    // This copy of standard output closes on exec, when the shell starts. Until then, the
    // supervisor reads from the other end of the pipe.
    let Ok(why) = io::stdout().as_fd().try_clone_to_owned() else {
        return 1;
    };
    let Err(error) = become_shell();
    drop(File::from(why).write_all(error.to_string().as_bytes()));
    1
}

fn become_shell() -> io::Result<std::convert::Infallible> {
    // If a command kills its supervisor, the kernel kills the shell, too.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let mut request = String::new();
    io::stdin().read_to_string(&mut request)?;
    let request: Request = serde_json::from_str(&request)?;
    dup2_stdin(File::open("/dev/null")?)?;
    dup2_stdout(io::stderr())?;
    // A new session gives the shell its own process group, which can be ended as a whole, and
    // detaches it from the terminal, on which a program could ask for a password.
    setsid()?;
    if let Some(confinement) = &request.confinement {
        confine(confinement).map_err(io::Error::other)?;
    }
    let error = Command::new(&request.shell)
        .args(["-c", "--", &request.command])
        .env_clear()
        .envs(request.environment)
        .exec();
    Err(no_start(&request.shell, &error))
}
