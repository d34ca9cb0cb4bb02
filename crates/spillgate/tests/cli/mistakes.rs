//! Tests of the errors of a gateway that is set up wrongly.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use insta::assert_snapshot;

use crate::tool::{Tool, feed};

/// Runs a start that must fail; returns its standard error and exit code.
fn said(tool: &Tool, args: &[&str]) -> String {
    let mut command = tool.command(args);
    command.current_dir(tool.home()).env("EMPTY", "");
    let output = feed(command, b"");
    let error = String::from_utf8(output.stderr).unwrap();
    format!(
        "$ {}\n{}{}\n",
        args.join(" "),
        error.replace(tool.home().to_str().unwrap(), "/HOME"),
        output.status.code().unwrap()
    )
}

fn all(tool: &Tool, lines: &[&[&str]]) -> String {
    lines.iter().map(|args| said(tool, args)).collect()
}

#[test]
fn options() {
    let tool = Tool::new();
    assert_snapshot!(all(&tool, &[
        &["mcp", "--http", "0"],
        &["mcp", "--htpp", "1", "--", "cat"],
        &["mcp", "--http", "npx", "server"],
    ]), @"
    $ mcp --http 0
    error: there is no server to put the gateway in front of
    hint: say which, in one of these ways:
      spillgate mcp -- npx -y @modelcontextprotocol/server-filesystem /some/dir   a program
      spillgate mcp --url https://mcp.example.com/mcp                             one behind HTTP
      spillgate mcp --config .mcp.json                                            those of a client's list
      [servers.NAME] with a `command` or a `url` in spillgate.toml                those of the configuration
    `spillgate wrap CLIENT` puts the gateway before the servers that a client has already
    2
    $ mcp --htpp 1 -- cat
    error: unexpected argument '--htpp' found

      tip: a similar argument exists: '--http'

    Usage: spillgate mcp --http [<ADDRESS>] [CMD]...
    hint: `spillgate help mcp` shows how it is used
    2
    $ mcp --http npx server
    error: invalid value 'npx' for '--http [<ADDRESS>]': write an address and a port, such as 127.0.0.1:8700, or a port alone; a server's command stands behind `--`
    hint: `spillgate help mcp` shows how it is used
    2
    ");
}

#[test]
fn options_for_a_server_behind_http() {
    let tool = Tool::new();
    assert_snapshot!(all(&tool, &[
        &["mcp", "--url", "mcp.example.com"],
        &["mcp", "--url-env", "EMPTY"],
        &["mcp", "--url", "http://127.0.0.1:1", "--bearer-env", "NO_SUCH_VARIABLE"],
        &["mcp", "--url", "http://127.0.0.1:1", "--header-env", "X"],
        &["mcp", "--bearer-env", "EMPTY", "--", "cat"],
        &["mcp", "--", "no-such-command"],
        &["wrap"],
    ]), @r#"
    $ mcp --url mcp.example.com
    error: --url is not an HTTP address
    hint: write the whole URL, https://mcp.example.com/mcp; a server's command follows after `--`
    2
    $ mcp --url-env EMPTY
    error: the variable `EMPTY` of --url-env is empty
    hint: give it its value where the gateway is started
    2
    $ mcp --url http://127.0.0.1:1 --bearer-env NO_SUCH_VARIABLE
    error: the variable `NO_SUCH_VARIABLE` of --bearer-env is not set
    hint: set it where the gateway is started: in the shell, or for the client that starts it
    2
    $ mcp --url http://127.0.0.1:1 --header-env X
    error: --header-env "X" has no `=`
    hint: write --header-env 'Name=VARIABLE'
    2
    $ mcp --bearer-env EMPTY -- cat
    error: the following required arguments were not provided:
      <--url <URL>|--url-env <VARIABLE>>

    Usage: spillgate mcp --bearer-env <VARIABLE> <--url <URL>|--url-env <VARIABLE>> <CMD>...
    hint: `spillgate help mcp` shows how it is used
    2
    $ mcp -- no-such-command
    error: the server `no-such-command` could not be started: `no-such-command`: No such file or directory
    hint: check the command, after `--` or in the configuration; it must be on PATH, or a path, and start an MCP server on its standard streams
    1
    $ wrap
    error: the following required arguments were not provided:
      <CLIENT>

    Usage: spillgate wrap <CLIENT>
    hint: CLIENT is one of claude-code, codex, gemini, cursor, vscode, windsurf, zed, opencode, goose, copilot; `spillgate help wrap` shows how it is used
    2
    "#);
}

#[test]
fn lists_of_clients() {
    let tool = Tool::new();
    let files = [
        (
            "open.json",
            "{\"mcpServers\": {\n\"a\": {\"command\": \"a\"}",
        ),
        ("type.json", "{\"mcpServers\": {\"a\": {\"args\": \"x\"}}}"),
        (
            "none.json",
            "{\"servers\": {\"a\": {\"type\": \"stdio\"}}} // a",
        ),
        ("other.json", "{\"mcp\": {}}"),
    ];
    let mut told = said(&tool, &["mcp", "--config", "missing.json"]);
    for (name, text) in files {
        fs::write(tool.home().join(name), text).unwrap();
        told += &said(&tool, &["mcp", "--config", name]);
    }
    assert_snapshot!(told, @r#"
    $ mcp --config missing.json
    error: missing.json: No such file or directory
    hint: check --config and SPILLGATE_CONFIG
    1
    $ mcp --config open.json
    error: open.json: line 1: Unterminated object
    hint: correct the JSON there; comments and commas at the end are fine
    1
    $ mcp --config type.json
    error: type.json: invalid type: string "x", expected a sequence at line 1 column 33
    hint: of a server `command` is a text, `args` a list of texts, `env` and `headers` tables of texts
    1
    $ mcp --config none.json
    error: none.json: every server in it is disabled, or has neither a `command` nor a `url`
    hint: give one of them a `command` or a `url`; --server NAME also starts a disabled server
    2
    $ mcp --config other.json
    error: other.json: it lists no servers
    hint: the gateway reads the members `mcpServers` and `servers`, as MCP clients have them
    1
    "#);
}

#[test]
fn serving_by_http() {
    let tool = Tool::new();
    let config = |text: &str| {
        fs::write(tool.home().join("s.toml"), text).unwrap();
        said(&tool, &["mcp", "--config", "s.toml", "--http", "--", "cat"])
    };
    let told = [
        "[http]\nlissten = \"127.0.0.1:0\"\n",
        "[http]\nlisten = \"127.0.0.1\"\n",
        "[http.auth]\nkind = \"baerer\"\n",
        "[http.auth]\nkind = \"bearer\"\ntoken_file = \"x\"\n",
        "[http.auth]\nkind = \"bearer\"\n",
        "[http.rate]\nper_secnd = 3\n",
        "[htp]\nlisten = \"127.0.0.1:0\"\n",
        "[http]\nlisten = \"0.0.0.0:0\"\n",
        "[http]\nmax_sessions = 0\n",
    ]
    .map(config);
    assert_snapshot!(told.concat(), @r#"
    $ mcp --config s.toml --http -- cat
    error: s.toml:2: `http.lissten`: there is no such setting
    hint: did you mean `listen`?
    1
    $ mcp --config s.toml --http -- cat
    error: s.toml:2: `http.listen`: invalid socket address syntax
    hint: write an address and a port, such as "127.0.0.1:8700"
    1
    $ mcp --config s.toml --http -- cat
    error: s.toml:2: `http.auth.kind`: "baerer" is none of none, bearer, oauth
    hint: did you mean `bearer`?
    1
    $ mcp --config s.toml --http -- cat
    error: s.toml:3: `http.auth.token_file`: there is no such setting
    hint: did you mean `token_files`?
    1
    $ mcp --config s.toml --http -- cat
    error: `http.auth.kind` is "bearer", but neither `token_files` nor `token_env` names a token
    hint: write one token per line in a file, or a single token in a variable
    1
    $ mcp --config s.toml --http -- cat
    error: s.toml:2: `http.rate.per_secnd`: there is no such setting
    hint: did you mean `per_second`?
    1
    $ mcp --config s.toml --http -- cat
    error: s.toml:1: `htp`: there is no such setting
    hint: did you mean `http`?
    1
    $ mcp --config s.toml --http -- cat
    error: 0.0.0.0:0 can be reached from other machines, and no authentication is configured
    hint: have clients send a token (--token-file FILE, or [http.auth]), or listen on 127.0.0.1 and put a server with TLS in front; --insecure-no-auth lets everybody in
    1
    $ mcp --config s.toml --http -- cat
    error: s.toml:2: `http.max_sessions`: 0 would let nothing through
    hint: docs/http.md lists what each can be
    1
    "#);
}

#[test]
fn tokens_and_ports() {
    let tool = Tool::new();
    let empty = tool.home().join("empty");
    fs::write(&empty, "# none\n").unwrap();
    fs::set_permissions(&empty, fs::Permissions::from_mode(0o600)).unwrap();
    assert_snapshot!(all(&tool, &[
        &["mcp", "--http", "0", "--token-file", "missing", "--", "cat"],
        &["mcp", "--http", "0", "--token-file", "empty", "--", "cat"],
    ]), @"
    $ mcp --http 0 --token-file missing -- cat
    error: the token file missing: No such file or directory
    hint: write one token per line in a file, or a single token in a variable
    1
    $ mcp --http 0 --token-file empty -- cat
    error: there is no token in empty
    hint: write one token per line in a file, or a single token in a variable
    1
    ");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let told = said(&tool, &["mcp", "--http", &port, "--", "cat"]);
    assert_snapshot!(told.replace(&port, "PORT"), @"
    $ mcp --http PORT -- cat
    error: 127.0.0.1:PORT cannot be listened on: Address already in use
    hint: another program listens there, perhaps another gateway: end it, or choose another port; port 0 takes a free one
    1
    ");
}

/// A gateway with `--http` but without an address listens at `http.listen` of the configuration.
#[test]
fn the_configuration_says_where_to_listen() {
    let tool = Tool::new();
    let tokens = tool.home().join("tokens");
    fs::write(&tokens, "a-token\n").unwrap();
    fs::set_permissions(&tokens, fs::Permissions::from_mode(0o644)).unwrap();
    // The default address would be 127.0.0.1:8700.
    let text = "[http]\nlisten = \"127.0.0.1:0\"\npath = \"/here\"\n";
    fs::write(tool.home().join("s.toml"), text).unwrap();
    let args = [
        "mcp",
        "--config",
        "s.toml",
        "--http",
        "--token-file",
        "tokens",
        "--",
        "/no/such/program",
    ];
    let mut child = tool
        .command(&args)
        .current_dir(tool.home())
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut written = Vec::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        written.push(line.unwrap());
        if written.iter().any(|line| line.contains("listening")) {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let written = written.join("\n");
    assert!(
        written.contains("/here") && !written.contains(":8700"),
        "{written}"
    );
    assert!(
        written.contains("(mode 644): run `chmod 600 tokens`"),
        "{written}"
    );
    assert!(
        written.contains("the server's program does not exist"),
        "{written}"
    );
}
