//! Measures how long a call takes, without a server around it.
//!
//! `ask ROOT TOOL ARGUMENTS [TIMES]` prints the answer to standard output and the duration of each
//! call, in milliseconds, to standard error.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a bench whose answer is what it prints"
)]

use std::path::Path;
use std::time::Instant;

use spillgate_workspace_tools::{Body, Rules, Workspace, WorkspaceTools};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [root, tool, question, times @ ..] = arguments.as_slice() else {
        eprintln!("ask ROOT TOOL ARGUMENTS [TIMES]");
        std::process::exit(2);
    };
    let guarded = WorkspaceTools::new(Workspace::open(Path::new(root))?, Rules::default());
    let times = times.first().and_then(|times| times.parse().ok());
    for round in 0..times.unwrap_or(1) {
        let question = serde_json::from_str(question)?;
        let began = Instant::now();
        let answer = guarded.call(tool, question).await;
        eprintln!("{:.1} ms", began.elapsed().as_secs_f64() * 1e3);
        match answer.body {
            Body::Text(text) if round == 0 => println!("{text}"),
            _ => {}
        }
    }
    Ok(())
}
