//! Tests of servers that a file names: which are started, how, and how they are restarted.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::session::{Session, names};
use super::tool::Tool;

/// The script `server.sh NAME TOOL…`. The result of a call names the server, its working directory
/// and its variable `GREETING`. A call of `die` ends the server, and a call of `slow` is never
/// answered.
const SERVER: &str = r#"
name=$1; shift; tools=
for tool in "$@"; do tools="$tools${tools:+,}{\"name\":\"$tool\",\"inputSchema\":{\"type\":\"object\"}}"; done
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case "$line" in
    *'"initialize"'*) say '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"'$name'","version":"1"}}';;
    *'"tools/list"'*) say '{"tools":['"$tools"']}';;
    *'"name":"die"'*) exit 3;;
    *'"name":"slow"'*) ;;
    *'"tools/call"'*)
      tool=${line#*\"name\":\"}; tool=${tool%%\"*}
      say '{"content":[{"type":"text","text":"'"$name.$tool in ${PWD##*/} says $GREETING"'"}]}';;
  esac
done"#;

/// A configuration file beside the script.
struct Place {
    tool: Tool,
    file: PathBuf,
}

impl Place {
    fn new(name: &str, text: &str) -> Self {
        let tool = Tool::new();
        fs::write(tool.home().join("server.sh"), SERVER).unwrap();
        let file = tool.home().join(name);
        let place = Self { tool, file };
        place.write(text);
        place
    }

    /// Writes the file; `SCRIPT` stands for the script, `HOME` for its directory.
    fn write(&self, text: &str) {
        let home = self.tool.home();
        let script = home.join("server.sh").display().to_string();
        let text = text.replace("SCRIPT", &script);
        // The file is renamed into place, as editors do, so that half of it is never read.
        let beside = home.join("beside");
        fs::write(&beside, text.replace("HOME", &home.display().to_string())).unwrap();
        fs::rename(beside, &self.file).unwrap();
    }

    fn args<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        [&["mcp", "--config", self.file.to_str().unwrap()], more].concat()
    }

    /// Returns a client's connection after the handshake; the log goes to a file.
    fn start(&self, more: &[&str]) -> Session {
        let mut command = self.tool.command(&self.args(more));
        command.env("WHO", "env");
        command.stderr(File::create(self.log()).unwrap());
        let mut session = Session::of(command);
        let client = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        session.send(1, "initialize", &client);
        assert!(answer(&mut session)["result"]["capabilities"]["tools"].is_object());
        session.notify("notifications/initialized", &json!({}));
        session
    }

    fn log(&self) -> PathBuf {
        self.tool.home().join("log")
    }

    /// Returns the error of a gateway that does not start, without the directory.
    fn failure(&self, more: &[&str]) -> String {
        let (error, code) = self.tool.error(&self.args(more));
        let home = format!("{}/", self.tool.home().display());
        let message = error["message"].as_str().unwrap().replace(&home, "");
        format!("{code} {message}\n  {}", error["hint"].as_str().unwrap())
    }
}

/// Returns the next answer and skips notifications.
fn answer(session: &mut Session) -> Value {
    loop {
        let frame = session.receive();
        if frame.get("id").is_some() {
            return frame;
        }
    }
}

/// Returns the names of the servers' tools.
fn tools(session: &mut Session) -> Vec<String> {
    session.send(2, "tools/list", &json!({}));
    let list = answer(session);
    let all = names(&list).into_iter();
    let theirs = all.filter(|name| !name.starts_with("spillgate_"));
    theirs.map(str::to_owned).collect()
}

/// Returns the text of a call's result, or the error's message.
fn called(session: &mut Session, name: &str) -> String {
    session.send(3, "tools/call", &json!({"name": name, "arguments": {}}));
    let frame = answer(session);
    let text = frame["result"]["content"][0]["text"].as_str();
    let text = text.or_else(|| frame["error"]["message"].as_str());
    text.unwrap_or_else(|| panic!("{frame}")).to_owned()
}

const TWO_IN_JSON: &str = r#"{"mcpServers": {
  "left": {"command": "sh", "args": ["SCRIPT", "left", "one", "same"], "env": {"GREETING": "${WHO}"}},
  "right": {"command": "sh", "args": ["SCRIPT", "right", "same", "two"], "cwd": "HOME"},
  "off": {"command": "sh", "args": ["SCRIPT", "off", "three"], "disabled": true}
}}"#;

#[test]
fn a_clients_list_of_servers_is_one_server() {
    let place = Place::new("list.json", TWO_IN_JSON);
    let mut session = place.start(&[]);
    let tools = tools(&mut session);
    assert_eq!(tools, ["one", "left_same", "right_same", "two"]);
    let said: Vec<String> = tools
        .iter()
        .map(|tool| called(&mut session, tool))
        .collect();
    session.end();
    let home = place.tool.home().file_name().unwrap().to_str().unwrap();
    assert!(said[0].starts_with("left.one in "), "{said:?}");
    assert!(said[0].ends_with(" says env"), "{said:?}");
    assert!(said[1].starts_with("left.same in "), "{said:?}");
    assert_eq!(said[2], format!("right.same in {home} says "));
    assert_eq!(said[3], format!("right.two in {home} says "));
}

const SETTINGS: &str = r#"
[servers.left]
command = "sh"
args = ["SCRIPT", "left", "one", "one_more", "two", "slow"]
env = { GREETING = "${NOBODY:-hello}" }
cwd = "HOME"
allow = ["one*", "slow"]
deny = ["*_more"]
timeout = "1s"

[servers.right]
command = "sh"
args = ["SCRIPT", "right", "three", "die"]

[servers.off]
command = "sh"
args = ["SCRIPT", "off", "four"]
enabled = false

[servers.rules_only]
max_bytes = 3
"#;

#[test]
fn servers_of_the_settings_have_all_that_holds_for_them() {
    let place = Place::new("spillgate.toml", SETTINGS);
    let mut session = place.start(&[]);
    assert_eq!(tools(&mut session), ["one", "slow", "three", "die"]);
    let home = place.tool.home().file_name().unwrap().to_str().unwrap();
    let said = called(&mut session, "one");
    assert_eq!(said, format!("left.one in {home} says hello"));
    let late = called(&mut session, "slow");
    let denied = ["two", "one_more", "four"].map(|tool| called(&mut session, tool));
    assert!(called(&mut session, "three").starts_with("right.three in "));
    session.end();
    assert_snapshot!(format!("{late}\n{}", denied.join("\n")), @"
    the upstream server `left` has not answered `tools/call` for 1 s
    no server behind this gateway has the tool `two`
    no server behind this gateway has the tool `one_more`
    no server behind this gateway has the tool `four`
    ");
}

#[test]
fn some_servers_are_chosen_by_name() {
    let place = Place::new("spillgate.toml", SETTINGS);
    let mut session = place.start(&["--server", "right"]);
    assert_eq!(tools(&mut session), ["three", "die"]);
    session.end();
    // A server that is named explicitly is started even if it is switched off.
    let mut session = place.start(&["--server", "off", "--server", "right"]);
    assert_eq!(tools(&mut session), ["four", "three", "die"]);
    session.end();
    let wrong = [
        place.failure(&["--server", "rihgt"]),
        place.failure(&["--server", "rules_only"]),
    ];
    assert_snapshot!(wrong.join("\n"), @"
    1 there is no server `rihgt` with a `command` or a `url`
      did you mean `right`?
    1 there is no server `rules_only` with a `command` or a `url`
      there are left, off, right
    ");
}

#[test]
fn what_is_wrong_with_servers_is_told_with_its_place() {
    let texts = [
        "[servers.a]\n\ncommand = \"${NO_SUCH_VARIABLE}/x\"\n",
        "[servers.a]\ncommand = \"sh\"\n[servers.a.env]\nKEY = \"${NO_SUCH_VARIABLE}\"\n",
        "[servers.a]\ncommand = \"sh\"\nurl = \"http://127.0.0.1:1\"\n",
        "[servers.a]\ncommand = \"sh\"\ntimeout = \"soon\"\n",
        "[servers.a]\ncommand = \"sh\"\nallow = [\"a[\"]\n",
        "[servers.a]\ncomand = \"sh\"\n",
        "[servers.a]\nmax_bytes = 1\n",
    ];
    let place = Place::new("spillgate.toml", "");
    let said = texts.map(|text| {
        place.write(text);
        // `--http` is set, because a gateway on standard streams without servers offers the look-up
        // tools.
        place.failure(&["--http", "0"])
    });
    assert_snapshot!(said.join("\n"), @r#"
    1 spillgate.toml:3: `servers.a.command`: the variable `NO_SUCH_VARIABLE` is not set in the environment
      docs/servers.md lists the settings of a server
    1 spillgate.toml:3: `servers.a.env`: `KEY`: the variable `NO_SUCH_VARIABLE` is not set in the environment
      docs/servers.md lists the settings of a server
    1 spillgate.toml:3: `servers.a.url`: cannot be combined with `command`, because a server is reached in one way
      docs/servers.md lists the settings of a server
    1 spillgate.toml:3: `servers.a.timeout`: "soon" is not a length of time: expected number at 0
      write a time such as "30d" or "12h"
    1 spillgate.toml:3: `servers.a.allow`: a tool pattern is wrong: error parsing glob 'a[': unclosed character class; missing ']'
      docs/servers.md lists the settings of a server
    1 spillgate.toml:2: `servers.a.comand`: there is no such setting
      did you mean `command`?
    2 there is no server to put the gateway in front of
      say which, in one of these ways:
      spillgate mcp -- npx -y @modelcontextprotocol/server-filesystem /some/dir   a program
      spillgate mcp --url https://mcp.example.com/mcp                             one behind HTTP
      spillgate mcp --config .mcp.json                                            those of a client's list
      [servers.NAME] with a `command` or a `url` in spillgate.toml                those of the configuration
    `spillgate wrap CLIENT` puts the gateway before the servers that a client has already
    "#);
}

#[test]
fn what_is_wrong_with_a_clients_list_is_told() {
    let place = Place::new("list.json", "{}");
    let texts = [
        "{}",
        r#"{"mcpServers": {"a": {"command": 3}}}"#,
        r#"{"mcpServers": {"a": {"command": "${NO_SUCH_VARIABLE}"}}}"#,
    ];
    let said = texts.map(|text| {
        place.write(text);
        place.failure(&[])
    });
    assert_snapshot!(said.join("\n"), @"
    1 list.json: it lists no servers
      the gateway reads the members `mcpServers` and `servers`, as MCP clients have them
    1 list.json: invalid type: integer `3`, expected a string at line 1 column 34
      of a server `command` is a text, `args` a list of texts, `env` and `headers` tables of texts
    1 list.json: `servers.a.command`: the variable `NO_SUCH_VARIABLE` is not set in the environment
      docs/servers.md lists the settings of a server
    ");
    // The command line names neither a server's command nor a file.
    let (error, code) = Tool::new().error(&["mcp", "--http", "0"]);
    assert_snapshot!(format!("{code} {error:#}"), @r#"
    2 {
      "fault": "caller",
      "hint": "say which, in one of these ways:\n  spillgate mcp -- npx -y @modelcontextprotocol/server-filesystem /some/dir   a program\n  spillgate mcp --url https://mcp.example.com/mcp                             one behind HTTP\n  spillgate mcp --config .mcp.json                                            those of a client's list\n  [servers.NAME] with a `command` or a `url` in spillgate.toml                those of the configuration\n`spillgate wrap CLIENT` puts the gateway before the servers that a client has already",
      "kind": "usage",
      "message": "there is no server to put the gateway in front of"
    }
    "#);
}

#[test]
fn secrets_of_servers_are_not_shown() {
    let text = "[servers.a]\ncommand = \"sh\"\nenv = { KEY = \"very-secret\" }\n\
                [servers.b]\nurl = \"http://127.0.0.1:1\"\nheaders = { Authorization = \"very-secret\" }\n";
    let place = Place::new("spillgate.toml", text);
    let file = place.file.to_str().unwrap();
    for more in [&[][..], &["--json"]] {
        let args = [&["config", "--config", file], more].concat();
        let output = place.tool.run(&args, b"");
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{shown}");
        assert!(!shown.contains("very-secret"), "{shown}");
        assert!(
            shown.contains("KEY") && shown.contains("Authorization"),
            "{shown}"
        );
    }
}

/// Waits until the log contains `what`. The gateway checks its files every two seconds.
fn wait_for(log: &Path, what: &str) {
    let started = Instant::now();
    while !fs::read_to_string(log).unwrap().contains(what) {
        assert!(started.elapsed() < Duration::from_secs(60), "no {what:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_changed_file_is_taken_over_while_the_client_is_there() {
    let place = Place::new("list.json", TWO_IN_JSON);
    let mut session = place.start(&[]);
    assert_eq!(
        tools(&mut session),
        ["one", "left_same", "right_same", "two"]
    );
    // An invalid file changes nothing.
    place.write("{\"mcpServers\": ");
    wait_for(&place.log(), "the old configuration is still used");
    assert_eq!(
        tools(&mut session),
        ["one", "left_same", "right_same", "two"]
    );
    assert!(called(&mut session, "one").starts_with("left.one in "));
    let other = TWO_IN_JSON.replace("\"right\", \"same\"", "\"right\", \"new\"");
    place.write(&other);
    let told = session.receive();
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert_eq!(tools(&mut session), ["one", "same", "new", "two"]);
    assert!(called(&mut session, "same").starts_with("left.same in "));
    assert!(called(&mut session, "new").starts_with("right.new in "));
    session.end();
}

#[test]
fn a_server_that_died_is_started_again() {
    let place = Place::new("spillgate.toml", SETTINGS);
    let mut session = place.start(&[]);
    assert_eq!(tools(&mut session), ["one", "slow", "three", "die"]);
    let died = called(&mut session, "die");
    assert!(called(&mut session, "one").starts_with("left.one in "));
    // After its first end it is restarted immediately.
    assert!(called(&mut session, "three").starts_with("right.three in "));
    // When it ends again and again, the pauses before a restart grow.
    let mut rest = String::new();
    for _ in 0..8 {
        rest = called(&mut session, "die");
        if rest.contains("be restarted in") {
            break;
        }
    }
    // The other server is still up, so the exit code is 0.
    session.end();
    let seconds = rest
        .rfind("restarted in ")
        .map_or(0, |at| at + "restarted in ".len());
    rest.truncate(seconds);
    assert_snapshot!(format!("{died}\n{rest}"), @"
    the upstream server `right` exited with status 3 before it answered
    the upstream server `right` exited with status 3 and will be restarted in
    ");
}
