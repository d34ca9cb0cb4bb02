//! Tests of `spillgate tools` as an MCP server and on the command line.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_testkit::log;

use super::provider::silent;
use super::session::{Session, names};
use super::tool::{Tool, sha256};

/// Creates a directory with a small file and a large one.
fn root(tool: &Tool) -> PathBuf {
    let root = tool.home().join("root");
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(root.join("src/main.rs"), "fn main() {}\n").unwrap();
    fs::write(root.join("large.log"), log(5000)).unwrap();
    fs::write(tool.home().join("secret"), "secret\n").unwrap();
    root
}

fn start(tool: &Tool, options: &[&str]) -> Session {
    let root = root(tool);
    let mut command =
        tool.command(&[&["tools", "--root", root.to_str().unwrap()], options].concat());
    command.env("MOCK_KEY", "sk-mock-0123456789abcdef");
    let mut session = Session::of(command);
    let client = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    session.send(1, "initialize", &client);
    let greeted = session.receive();
    assert_eq!(greeted["result"]["serverInfo"]["name"], "spillgate-tools");
    session.notify("notifications/initialized", &json!({}));
    session
}

fn listed(session: &mut Session) -> Value {
    session.send(2, "tools/list", &json!({}));
    session.receive()
}

#[test]
fn clients_are_told_what_each_tool_cannot_do_without() {
    let tool = Tool::new();
    let mut session = start(&tool, &[]);
    let list = listed(&mut session);
    let rows: Vec<String> = list["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| {
            let hints = &tool["annotations"];
            format!(
                "{} required={} read_only={} open_world={} {}",
                tool["name"],
                tool["inputSchema"]["required"],
                hints["readOnlyHint"],
                hints["openWorldHint"],
                tool["_meta"],
            )
        })
        .collect();
    assert_snapshot!(rows.join("\n"), @r#"
    "read_file" required=["file_path"] read_only=true open_world=false {"anthropic/maxResultSizeChars":100003}
    "grep_content" required=["pattern"] read_only=true open_world=false {"anthropic/maxResultSizeChars":100003}
    "glob_files" required=["pattern"] read_only=true open_world=false {"anthropic/maxResultSizeChars":100003}
    "execute_shell" required=["command"] read_only=false open_world=true {"anthropic/maxResultSizeChars":100003}
    "web_fetch" required=["url"] read_only=false open_world=true {"anthropic/maxResultSizeChars":100003}
    "#);
    session.end();
    let mut session = start(&tool, &["--only", "glob_files,read_file"]);
    assert_eq!(names(&listed(&mut session)), ["read_file", "glob_files"]);
    assert_snapshot!(session.call("execute_shell", &json!({"command": "id"})), @"error: Error: Tool 'execute_shell' not found. There are read_file, glob_files.");
    session.end();
}

#[test]
fn what_is_too_much_is_refused_with_what_to_do_instead() {
    let tool = Tool::new();
    let mut session = start(&tool, &[]);
    let read = |session: &mut Session, arguments: Value| session.call("read_file", &arguments);
    assert_snapshot!(read(&mut session, json!({"file_path": "large.log"})), @"error: Error: File content (~79129 tokens) exceeds maximum allowed tokens (25000). Please use offset and limit parameters to read specific portions of the file, or use grep_content to search for specific content.");
    assert_snapshot!(read(&mut session, json!({"file_path": "large.log", "offset": "500", "limit": 1})), @"
    [Lines 501-501 of 5000]
    2026-11-21T10:08:20Z ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7
    ");
    assert_snapshot!(read(&mut session, json!({"file_path": "../secret"})), @"error: Error: '../secret' leads out of the root. Give a path from the root to something inside it.");
    assert_snapshot!(session.call("grep_content", &json!({"pattern": "processed"})), @"error: Error: Search returned ~97588 tokens of matches. Please use a more specific pattern or limit results with max_results parameter.");
    assert_snapshot!(session.call("grep_content", &json!({"pattern": "quota", "max_results": 5})), @"
    Found 1 matching line in 1 file
    large.log:501:2026-11-21T10:08:20Z ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7
    ");
    assert_snapshot!(session.call("execute_shell", &json!({"command": "cat large.log"})), @"error: Error: Command output (~79129 tokens) exceeds maximum allowed. Please pipe output through head/tail/grep, or redirect to a file and read specific portions.");
    assert_snapshot!(session.call("execute_shell", &json!({"command": "tail -n 1 large.log; exit 3"})), @"
    2026-11-21T10:23:19Z INFO worker-1 processed batch id=85896 ok
    [exit 3]
    ");
    assert_snapshot!(session.call("web_fetch", &json!({"url": "http://169.254.169.254/latest"})), @"error: Error: 169.254.169.254 is not on the public web (link-local), and private addresses are not fetched. Use a public URL; a person can allow this host in the configuration.");
    assert_snapshot!(session.call("web_search", &json!({"query": "weather"})), @r#"error: Error: No search service is configured, so nothing can be searched for. Whoever set up Spillgate can name one in its configuration: [guarded.search] with provider = "searxng" and url, or provider = "brave" or "tavily" and api_key_env. Without it, use web_fetch with a URL that you know."#);
    session.end();
}

#[test]
fn an_offloaded_output_is_stored_whole_and_can_be_looked_into() {
    let tool = Tool::new();
    let mut session = start(&tool, &["--on-overflow", "offload"]);
    let list = listed(&mut session);
    let ours = ["spillgate_read", "spillgate_grep", "spillgate_query"];
    assert!(ours.iter().all(|one| names(&list).contains(one)), "{list}");
    let told = session.call("execute_shell", &json!({"command": "seq 1 100000"}));
    assert!(
        told.starts_with("[spillgate] execute_shell returned 588895 bytes, 100001 lines"),
        "{told}"
    );
    let handle = told
        .split_once("stored whole as ")
        .unwrap()
        .1
        .lines()
        .next()
        .unwrap()
        .to_owned();
    let line = session.call(
        "spillgate_read",
        &json!({"handle": handle, "start": 99999, "lines": 1}),
    );
    assert_snapshot!(line, @"
    [lines 99999-99999 of 100000]
    99999
    ");
    session.end();
    let stored = tool.run(&["cat", "--raw", &handle], b"").stdout;
    let whole: String = (1..=100_000).map(|n| format!("{n}\n")).collect();
    assert_eq!(sha256(&stored), sha256(whole.as_bytes()));
}

/// Returns the handle in a message.
fn handle(told: &str) -> &str {
    let (_, behind) = told.split_once("stored whole as ").expect(told);
    behind.lines().next().unwrap()
}

#[test]
fn what_is_told_beside_an_output_is_not_stored_with_it() {
    let tool = Tool::new();
    let mut session = start(&tool, &["--on-overflow", "offload"]);
    let mut ran = |command: &str| {
        let arguments = json!({"command": command, "timeout": 2});
        session.call("execute_shell", &arguments)
    };
    let failed = ran("printf '['; seq -s, 30000 | tr -d '\\n'; echo ']'; exit 4");
    let late = ran("seq 100000; sleep 60");
    // The raw bytes of this output are within the limit. As text it is three times as large, and
    // therefore over the limit.
    let bytes = ran("head -c 40000 /dev/zero | tr '\\0' '\\377'");
    assert!(failed.ends_with("\n[exit 4]"), "{failed}");
    let time_up = "error: Error: Command timed out after 2 s";
    assert!(late.starts_with(time_up), "{late}");
    assert!(bytes.len() < 3000, "{} bytes", bytes.len());
    let arguments = json!({"handle": handle(&failed), "filter": "length"});
    let length = session.call("spillgate_query", &arguments);
    assert!(length.ends_with("\n30000\n"), "{length}");
    session.end();
    let lines: String = (1..=100_000).map(|n| format!("{n}\n")).collect();
    let high = vec![0xff; 40_000];
    for (told, printed) in [(&late, lines.as_bytes()), (&bytes, &high)] {
        let stored = tool.run(&["cat", "--raw", handle(told)], b"").stdout;
        assert_eq!(sha256(&stored), sha256(printed), "{told}");
    }
}

#[test]
fn where_outputs_are_stored_models_are_told_so() {
    let tool = Tool::new();
    for (mode, stored, refused) in [("reject", 0, 2), ("offload", 2, 0)] {
        let mut session = start(&tool, &["--on-overflow", mode]);
        let list = listed(&mut session);
        let tools = list["result"]["tools"].as_array().unwrap().iter();
        let words: Vec<_> = tools
            .map(|tool| tool["description"].as_str().unwrap())
            .collect();
        let count = |what: &str| words.iter().filter(|one| one.contains(what)).count();
        assert_eq!(count("stored whole, and the answer says how"), stored);
        assert_eq!(
            count("refused, never cut"),
            refused + 1,
            "{mode}, and read_file"
        );
        session.end();
    }
}

#[test]
fn a_client_of_the_next_generation_needs_no_session() {
    let tool = Tool::new();
    let root = root(&tool);
    let mut session = Session::of(tool.command(&["tools", "--root", root.to_str().unwrap()]));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let call =
        json!({"name": "read_file", "arguments": {"file_path": "src/main.rs"}, "_meta": meta});
    session.send(1, "tools/call", &call);
    let answer = session.receive();
    assert_eq!(
        answer["result"]["content"][0]["text"], "fn main() {}\n",
        "{answer}"
    );
    session.end();
}

#[test]
fn tools_can_be_called_by_hand() {
    let tool = Tool::new();
    let root = root(&tool);
    let by_hand = |args: &[&str]| {
        let args = [&["tools", "--root", root.to_str().unwrap()], args].concat();
        let output = tool.run(&args, b"");
        let told = [output.stdout, output.stderr].concat();
        format!(
            "{} {}",
            output.status.code().unwrap(),
            String::from_utf8(told).unwrap()
        )
    };
    let all = [
        by_hand(&["--call", "read_file", r#"{"file_path": "src/main.rs"}"#]),
        by_hand(&["--call", "read_file", r#"{"file_path": "large.log"}"#]),
        by_hand(&["--call", "read_file", "src/main.rs"]),
        by_hand(&["--call", "read_files", "{}"]),
        by_hand(&[
            "--call",
            "execute_shell",
            r#"{"command": "echo hello"}"#,
            "--json",
        ]),
        by_hand(&["--only", "read_file", "--list"]),
    ];
    assert_snapshot!(all.join("\n---\n"), @r#"
    0 fn main() {}

    ---
    1 Error: File content (~79129 tokens) exceeds maximum allowed tokens (25000). Please use offset and limit parameters to read specific portions of the file, or use grep_content to search for specific content.
    ---
    1 error: the arguments are no JSON object: expected value at line 1 column 1
    hint: write them as '{"file_path": "README.md"}'; --list shows the tools

    ---
    2 error: invalid value 'read_files' for '--call <TOOL>'
      [possible values: read_file, grep_content, glob_files, execute_shell, web_fetch, web_search, spillgate_read, spillgate_grep, spillgate_query, spillgate_search, get_continuation, tool_output]

      tip: a similar value exists: 'read_file'
    hint: `spillgate help tools` shows how it is used

    ---
    0 {"is_error":false,"text":"hello\n"}

    ---
    0 read_file: Reads a text file. More than 25000 tokens (bytes / 4) are refused, never cut: give offset and limit then, or use grep_content. Some lines of a file begin with [Lines a-b of T], counted from 1.
        file_path (required): Path from the root, or an absolute path below it.
        limit: How many lines. Default all that follow.
        offset: Lines to skip: 10 begins with line 11. Default 0.
    "#);
}

/// Returns the error for wrong settings.
fn refusal(tool: &Tool, settings: &str) -> String {
    let (root, config) = (root(tool), tool.home().join("guarded.toml"));
    fs::write(&config, settings).unwrap();
    let args = [
        "tools",
        "--config",
        config.to_str().unwrap(),
        "--root",
        root.to_str().unwrap(),
        "--list",
    ];
    let output = tool.run(&args, b"");
    assert_ne!(output.status.code(), Some(0), "{settings}");
    String::from_utf8(output.stderr)
        .unwrap()
        .replace(config.to_str().unwrap(), "FILE")
}

#[test]
fn what_is_set_wrongly_is_said_with_its_place() {
    let tool = Tool::new();
    let told = |settings: &str| refusal(&tool, settings);
    let all = [
        told("[guarded]\ntools = [\"read_fiel\"]\n"),
        told("[guarded]\nmax_tokens = 0\n"),
        told("[guarded.shell]\ntimeout_seconds = 4000\n"),
        told("[guarded]\non_overflow = \"drop\"\n"),
        told("[guarded.web]\nalow = [\"127.0.0.1:80\"]\n"),
        told("[guarded.search]\nprovider = \"altavista\"\n"),
        told("[guarded.web]\nallow = [\"[::1]:80\", \"localhost\"]\n"),
        told("[guarded.web]\nallow = [\"http://localhost:80\"]\n"),
        told("[guarded]\nwritable = [\"./notes\", \"/tmp\"]\n"),
        told("[guarded]\nwritable = [\"notes/../..\"]\n"),
    ];
    assert_snapshot!(all.join("---\n"), @r#"
    error: FILE:2: `guarded.tools`: there is no tool "read_fiel"
    hint: did you mean `read_file`?
    ---
    error: FILE:2: `guarded.max_tokens`: 0 tokens are too few for an answer
    hint: write 100 or more
    ---
    error: FILE:2: `guarded.shell.timeout_seconds`: 4000 s is not an allowed timeout
    hint: write 1 to 600
    ---
    error: FILE:2: `guarded.on_overflow`: "drop" is none of reject, offload
    hint: docs/configuration.md lists what each setting can be
    ---
    error: FILE:2: `guarded.web.alow`: there is no such setting
    hint: did you mean `allow`?
    ---
    error: FILE:2: `guarded.search.provider`: there is no search service "altavista"
    hint: there are searxng, brave, tavily
    ---
    error: FILE:2: `guarded.web.allow`: "localhost" is no host with a port
    hint: write HOST:PORT, as in "localhost:3000"
    ---
    error: FILE:2: `guarded.web.allow`: "http://localhost:80" is no host with a port
    hint: write HOST:PORT, as in "localhost:3000"
    ---
    error: FILE:2: `guarded.writable`: "/tmp" is not a path relative to the root
    hint: write a directory below the root, as in "notes"
    ---
    error: FILE:2: `guarded.writable`: "notes/../.." is not a path relative to the root
    hint: write a directory below the root, as in "notes"
    "#);
    let nowhere = tool.run(&["tools", "--root", "nowhere"], b"");
    assert_snapshot!(String::from_utf8(nowhere.stderr).unwrap(), @"
    error: nowhere: No such file or directory
    hint: name a directory with --root DIR
    ");
}

/// Tests that a cancelled extraction sends no more requests to the model, because they would cost
/// money and nobody would read the answer.
#[test]
fn a_cancelled_extraction_asks_no_model_any_more() {
    let tool = Tool::new();
    let handle = tool.put(log(300).as_bytes());
    let (provider, config) = silent(&tool);
    let options = [
        "--config",
        config.to_str().unwrap(),
        "--on-overflow",
        "offload",
    ];
    let mut session = start(&tool, &options);
    let arguments = json!({"handle": handle, "extract": "which error?"});
    let call = json!({"name": "tool_output", "arguments": arguments});
    session.send(8, "tools/call", &call);
    let (mut asked, _) = provider.accept().unwrap();
    session.notify("notifications/cancelled", &json!({"requestId": 8}));
    // The model's server sees the connection close.
    let patience = Duration::from_secs(20);
    asked.set_read_timeout(Some(patience)).unwrap();
    asked.read_to_end(&mut Vec::new()).unwrap();
    session.end();
}
