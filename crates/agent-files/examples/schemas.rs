//! Regenerates `docs/schema/`: `cargo run -p spillgate-agent-files --example schemas`.

use std::io;
use std::path::Path;

use spillgate_agent_files::{ai_agent_schema, prompt_file_schema};

fn main() -> io::Result<()> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    std::fs::create_dir_all(&directory)?;
    for (name, schema) in [
        ("prompt-file", prompt_file_schema()),
        ("ai-agent", ai_agent_schema()),
    ] {
        let text = serde_json::to_string_pretty(&schema)? + "\n";
        std::fs::write(directory.join(format!("{name}.schema.json")), text)?;
    }
    Ok(())
}
