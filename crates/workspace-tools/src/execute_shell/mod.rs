//! `execute_shell`: runs a command and returns its output.
//!
//! Output is counted as it arrives. An answer contains all of the output or, if it exceeds the
//! answer's limit, none of it. A command may have effects, so it is not stopped for exceeding that
//! limit. The command and everything that it started are stopped when it prints more than
//! `max_output_bytes`, when its time limit passes, when the caller stops waiting, and when our
//! process ends.

mod child;
mod commands;
mod environment;
mod group;
mod messages;
mod output;
mod processes;
mod protocol;
mod running;
mod sandbox;
mod shell_command;
mod supervisor;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use spillgate_files::Arguments;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

pub use self::child::shell_child_main;
pub(crate) use self::commands::Commands;
pub use self::environment::Environment;
pub use self::sandbox::{Network, Sandbox};
pub use self::supervisor::Supervisor;

use self::messages::{CommandEnding, CommandResult};
use self::output::Output;
use self::protocol::{Confinement, ExitOutcome, Request};
use self::running::{RunningCommand, not_run};
use self::shell_command::ShellCommand;
use crate::definition::{Definition, schema};
use crate::recovery::{RefusedOutput, apart, for_command};
use crate::rules::{OnOverflow, Rules, ShellRules};
use crate::tool_result::{Reply, ToolError};
use crate::workspace_tools::Shared;

/// How long processes may take to end after `SIGTERM` before they are killed.
const GRACE: Duration = Duration::from_secs(2);

/// How long to keep killing processes that remain.
const KILLING: Duration = Duration::from_secs(10);

/// Bytes of output to read at a time.
const BLOCK: usize = 64 << 10;

/// Returns the part of the tool description that says what happens to output that is too large.
fn too_much(rules: &Rules) -> &'static str {
    match rules.on_overflow {
        OnOverflow::Reject => {
            "refused, never cut: pipe it through head/tail/grep, or redirect it to a file and \
             read portions"
        }
        OnOverflow::Offload => "stored whole, and the answer says how to look into it",
    }
}

pub(crate) fn definition(rules: &Rules, shell: &ShellRules) -> Definition {
    let name = shell.shell.file_name().unwrap_or_default();
    let usual = shell.timeout.as_secs_f64();
    let most = shell.longest().as_secs();
    let too_much = too_much(rules);
    let sandbox = shell
        .sandbox
        .as_ref()
        .map_or("", |sandbox| match sandbox.network {
            Network::On => " Only the root and $TMPDIR can be written.",
            Network::NoTcp => " Only the root and $TMPDIR can be written; there is no TCP.",
            Network::Off => " Only the root and $TMPDIR can be written; there is no network.",
        });
    Definition {
        name: "execute_shell",
        description: format!(
            "Runs a command with {} -c and gives what it printed, standard output and standard \
             error in the order in which they were written, and [exit n] if n is not 0. Output \
             that is too much is {too_much}. Standard input is empty; nothing is kept from one \
             call to the next but files. What is to run on: (command) > out.log 2>&1 &{sandbox}",
            name.display()
        ),
        schema: schema(
            json!({
                "command": {"type": "string", "description": "What is run."},
                "timeout": {
                    "type": "integer",
                    "description": format!("Seconds after which it is stopped; {usual} unless set, {most} at most."),
                },
                "workdir": {
                    "type": "string",
                    "description": "The directory that it runs in, from the root; the root unless set.",
                },
            }),
            &["command"],
        ),
        is_read_only: false,
        is_open_world: true,
    }
}

pub(crate) async fn call(shared: &Arc<Shared>, arguments: &Arguments) -> Reply {
    let rules = &shared.rules;
    let Some(shell) = &rules.shell else {
        return Err(ToolError::new(
            "Commands are switched off here. Please do without them.",
        ));
    };
    let shell_command = ShellCommand::of(arguments, shell, &shared.workspace)?;
    let request = request(shared, shell, &shell_command)?;
    shared.commands.keep(None);
    let result = run(shared, shell, &request, shell_command).await?;
    let block = block(shared, request.command, &result).await;
    messages::reply(result, &block, rules, shell)
}

/// The recovery block, if the output may be refused for its size.
async fn block(shared: &Arc<Shared>, command: String, result: &CommandResult) -> String {
    let bytes = result.output.bytes;
    let is_refused = shared.rules.on_overflow == OnOverflow::Reject
        && shared.rules.exceeds(bytes + messages::NOTES);
    let Some(head) = result.output.head.as_ref().filter(|_| is_refused) else {
        return String::new();
    };
    let (lines, head) = (head.lines, head.text.clone());
    let has_ended = matches!(result.ending, CommandEnding::Ended(_));
    apart(shared, move |shared| {
        let printed = RefusedOutput {
            bytes,
            lines,
            head: &head,
            has_ended,
        };
        for_command(shared, &command, &printed)
    })
    .await
}

fn request(
    shared: &Shared,
    shell: &ShellRules,
    shell_command: &ShellCommand,
) -> Result<Request, ToolError> {
    let mut environment = shell.environment.of_command(&shell.pass_env);
    let mut confinement: Option<Confinement> = None;
    if let Some(sandbox) = &shell.sandbox {
        if shell.supervisor.is_none() {
            return Err(not_run(
                "it may run only in a sandbox, and nothing makes one",
            ));
        }
        let temp = shared.commands.temp(&shell.temp_dir);
        let temp = temp.map_err(|error| {
            let parent = shell.temp_dir.display();
            not_run(&format!(
                "no directory can be made for it in {parent}: {error}"
            ))
        })?;
        for name in ["TMPDIR", "HOME"] {
            environment = environment::with(environment, name, temp.as_os_str());
        }
        confinement = Some(sandbox.confinement(shared.workspace.path(), &temp));
    }
    let supervisor = shell.supervisor.as_ref();
    Ok(Request {
        supervisor: supervisor.map_or_else(Vec::new, |supervisor| supervisor.arguments.clone()),
        shell: shell.shell.clone(),
        command: shell_command.command.clone(),
        environment,
        confinement,
    })
}

/// A command's output, shared with the blocking thread that counts it.
type SharedOutput = Arc<Mutex<Option<Output>>>;

/// What happened first while a command ran.
enum FirstEvent {
    Ended(ExitOutcome),
    TooMuch,
    TimeUp,
}

async fn run(
    shared: &Shared,
    shell: &ShellRules,
    request: &Request,
    shell_command: ShellCommand,
) -> Result<CommandResult, ToolError> {
    let output = Arc::new(Mutex::new(Some(output(&shared.rules, shell))));
    let started =
        RunningCommand::start(shell.supervisor.as_ref(), request, &shell_command.directory).await;
    let (mut running, mut pipe) = started.map_err(|error| not_run(&error.to_string()))?;
    let mut fate = None;
    let watched = watch(
        &mut running,
        &mut fate,
        &mut pipe,
        &output,
        shell.max_output_bytes,
    );
    let first = timeout(shell_command.timeout, watched).await;
    let ending = match first.unwrap_or(Ok(FirstEvent::TimeUp))? {
        FirstEvent::Ended(fate) => {
            shared.commands.keep(running.settle().await);
            CommandEnding::Ended(fate)
        }
        FirstEvent::TooMuch => CommandEnding::TooMuch {
            most: shell.max_output_bytes,
            stopped: running.stop().await,
        },
        FirstEvent::TimeUp => CommandEnding::TimedOut {
            after: shell_command.timeout,
            shell: fate,
            stopped: running.stop().await,
        },
    };
    let output = output.lock().take();
    let output = output.expect("invariant: taken once, at the end");
    Ok(CommandResult {
        output: output.finish(),
        ending,
        note: shell_command.note,
    })
}

fn output(rules: &Rules, shell: &ShellRules) -> Output {
    let spool = match rules.on_overflow {
        OnOverflow::Reject => None,
        OnOverflow::Offload => Some(shell.temp_dir.as_path()),
    };
    let output = Output::new(rules.most_bytes(), spool);
    match rules.detailed_recovery {
        true => output.with_head(),
        false => output,
    }
}

/// Counts output until its pipe is closed and the shell has ended. Stores the shell's exit in
/// `fate` as soon as it is known. If the exit cannot be determined, returns an error immediately,
/// because another process may hold the pipe open for a long time.
async fn watch(
    running: &mut RunningCommand,
    fate: &mut Option<ExitOutcome>,
    pipe: &mut Receiver,
    output: &SharedOutput,
    most: u64,
) -> Result<FirstEvent, ToolError> {
    let mut block = vec![0; BLOCK];
    loop {
        let read = tokio::select! {
            ended = running.ended(), if fate.is_none() => {
                *fate = Some(ended?);
                continue;
            }
            read = pipe.read(&mut block) => read.map_err(|error| unreadable(&error))?,
        };
        if read == 0 {
            break;
        }
        let printed;
        (block, printed) = count(output, block, read).await?;
        if printed > most {
            return Ok(FirstEvent::TooMuch);
        }
    }
    match *fate {
        Some(fate) => Ok(FirstEvent::Ended(fate)),
        None => running.ended().await.map(FirstEvent::Ended),
    }
}

/// Counts the first `read` bytes of `block`. Returns the block and the number of bytes printed so
/// far. Runs on a blocking thread, because it may write to a file.
async fn count(
    output: &SharedOutput,
    block: Vec<u8>,
    read: usize,
) -> Result<(Vec<u8>, u64), ToolError> {
    let output = Arc::clone(output);
    let counted = spawn_blocking(move || {
        let mut output = output.lock();
        let printed = output.as_mut().map_or(0, |output| {
            output.feed(&block[..read]);
            output.printed()
        });
        (block, printed)
    });
    let broke =
        |_| ToolError::new("The tool broke down; this is our fault. The command was stopped.");
    counted.await.map_err(broke)
}

fn unreadable(error: &std::io::Error) -> ToolError {
    ToolError::new(format!(
        "The command's output cannot be read: {error}. The command was stopped. Please run it \
         again with its output in a file."
    ))
}
