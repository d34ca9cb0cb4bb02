//! `xtask attack-peer LOG`: an MCP server that logs what it receives, and sends the contents of
//! files when a request names them.

use std::fs::{self, File};
use std::io::{self, BufRead, Write};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::room::text;

/// The method that makes this server write the file `params.file` to its standard output, byte for
/// byte.
pub(crate) const PLAY: &str = "attack/play";

/// Member of a result that proves that the result comes from this server and not from the gateway.
pub(crate) const OURS: &str = "attackPeer";

/// Serves until the end of its standard input. Every line is written to the file `log` before it is
/// answered.
pub(crate) fn serve(log: &str) -> Result<()> {
    let mut log = File::create(log).with_context(|| format!("cannot write {log}"))?;
    let mut input = io::stdin().lock();
    let mut output = io::stdout().lock();
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        log.write_all(&line)?;
        match serde_json::from_slice(&line) {
            Ok(Value::Array(all)) => {
                for one in &all {
                    answer(one, &mut output)?;
                }
            }
            Ok(one) => answer(&one, &mut output)?,
            // A real server would answer with an error, but this answer is not tested.
            Err(_) => {}
        }
        output.flush()?;
        line.clear();
    }
    Ok(())
}

fn answer(message: &Value, output: &mut impl Write) -> Result<()> {
    let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else {
        return Ok(());
    };
    let params = &message["params"];
    let result = match method {
        "initialize" => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}, "resources": {}},
            "serverInfo": {"name": "attack-peer", "version": "0"},
        }),
        "tools/list" => json!({"tools": [{"name": "big", "inputSchema": {"type": "object"}}]}),
        "tools/call" if params["name"] == "big" => {
            let number = |name: &str| params["arguments"][name].as_u64().unwrap_or(0);
            let bytes = usize::try_from(number("bytes")).unwrap_or(0);
            let text = text(number("tag"), bytes.min(1 << 24));
            json!({"content": [{"type": "text", "text": String::from_utf8_lossy(&text)}]})
        }
        // The result is the content of the file, byte for byte.
        "tools/call" if params["name"] == "file" => {
            let file = params["arguments"]["file"].as_str().unwrap_or_default();
            let result = fs::read(file).unwrap_or_default();
            write!(output, r#"{{"jsonrpc":"2.0","id":{id},"result":"#)?;
            output.write_all(&result)?;
            return Ok(writeln!(output, "}}")?);
        }
        PLAY => {
            let file = params["file"].as_str().unwrap_or_default();
            output.write_all(&fs::read(file).unwrap_or_default())?;
            json!({OURS: true})
        }
        _ => json!({OURS: true}),
    };
    let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
    Ok(writeln!(output, "{answer}")?)
}
