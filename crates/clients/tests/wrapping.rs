//! Tests that wrap and unwrap files of every client and compare the texts.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use proptest::prelude::*;
use spillgate_clients::{
    Client, ClientsError, Forbidden, Gateway, Lookups, Outcome, Plan, Records, Scope, ServerTable,
    State, Surroundings, digest, forbidden, inspect, places, unwrap, wrap,
};
use tempfile::TempDir;

/// A client's file below a temporary home directory.
struct House {
    client: Client,
    home: TempDir,
    file: PathBuf,
    /// Whether the lookup tools get a separate entry.
    lookups: bool,
}

impl House {
    fn new(client: Client, scope: Scope, text: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let around = surroundings(home.path());
        let mut all = places(client, &around).into_iter();
        let file = all.find(|place| place.scope == scope).unwrap().file;
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        Self {
            client,
            home,
            file,
            lookups: false,
        }
    }

    fn records(&self) -> Records {
        Records::new(self.home.path().join("state"))
    }

    fn places(&self) -> Vec<ServerTable> {
        places(self.client, &surroundings(self.home.path()))
    }

    fn plan(&self, only: &[&str]) -> Result<Plan, ClientsError> {
        let gateway = Gateway {
            program: "/bin/spillgate".into(),
            arguments: vec![],
            lookups: self.lookups,
        };
        let only = owned(only);
        let records = self.records();
        let plan = wrap(
            self.client,
            &self.file,
            &self.places(),
            &only,
            &gateway,
            &records,
        );
        Ok(plan?.unwrap())
    }

    fn wrap(&self, only: &[&str]) -> Plan {
        let plan = self.plan(only).unwrap();
        plan.carry_out(&self.records()).unwrap();
        plan
    }

    fn unwrap(&self, only: &[&str]) -> Plan {
        let (only, records) = (owned(only), self.records());
        let plan = unwrap(
            self.client,
            &self.file,
            &self.places(),
            true,
            &only,
            &records,
        );
        let plan = plan.unwrap().unwrap();
        plan.carry_out(&records).unwrap();
        plan
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.file).unwrap()
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn surroundings(home: &Path) -> Surroundings {
    Surroundings {
        home: home.to_owned(),
        config: home.join(".config"),
        project: PathBuf::from("/home/ann/shop"),
        codex_home: None,
        copilot_home: None,
        claude_config: None,
        macos: false,
    }
}

fn told(outcomes: &[Outcome]) -> String {
    let line = |one: &Outcome| {
        let state = match &one.state {
            State::Left(why) => format!("left: {why}"),
            state => format!("{state:?}").to_lowercase(),
        };
        format!("{} ({}): {state}\n", one.server, one.scope.name())
    };
    outcomes.iter().map(line).collect()
}

/// Wraps twice and unwraps. Returns the wrapped text and the reported outcomes.
fn there_and_back(client: Client, before: &str) -> String {
    let house = House::new(client, Scope::User, before);
    let said = told(&house.wrap(&[]).outcomes);
    let after = house.text();
    let again = house.plan(&[]).unwrap();
    assert!(!again.changes(), "{}", again.diff());
    house.wrap(&[]);
    assert_eq!(house.text(), after);
    changed_since(&house, before);
    fs::write(&house.file, &after).unwrap();
    let back = house.unwrap(&[]);
    assert!(back.exact);
    assert_eq!(house.text(), before);
    assert!(
        fs::read_dir(house.home.path().join("state"))
            .unwrap()
            .next()
            .is_none()
    );
    format!("{after}---\n{said}")
}

/// Adds a line after wrapping and unwraps: the entries are undone one by one, and a new plan wraps
/// the same servers again.
fn changed_since(house: &House, before: &str) {
    let more = match house.client {
        Client::Goose | Client::Codex => "# mine\n",
        _ => "// mine\n",
    };
    let kept = house.home.path().join("kept");
    fs::create_dir(&kept).unwrap();
    for entry in fs::read_dir(house.home.path().join("state")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, kept.join(path.file_name().unwrap())).unwrap();
    }
    fs::write(&house.file, format!("{more}{}", house.text())).unwrap();
    let plan = house.unwrap(&[]);
    assert!(!plan.exact && plan.backup.is_some());
    let other = House::new(house.client, Scope::User, &house.text());
    let says = |house: &House| told(&house.plan(&[]).unwrap().outcomes);
    let first = House::new(house.client, Scope::User, before);
    assert_eq!(says(&other), says(&first));
    fs::remove_dir_all(house.home.path().join("state")).unwrap();
    fs::rename(&kept, house.home.path().join("state")).unwrap();
}

/// A file of each client with one server, and with comments where the syntax allows them.
const ONE: [(Client, &str); 9] = [
    (
        Client::ClaudeCode,
        r#"{"mcpServers": {"a": {"command": "a"}}, "x": 1}"#,
    ),
    (
        Client::Codex,
        "# mine\n[mcp_servers.a]\ncommand = \"a\" # one\nenabled_tools = [\"big\"]\n",
    ),
    (
        Client::Gemini,
        r#"{"mcpServers": {"a": {"command": "a", "includeTools": ["big"]}}}"#,
    ),
    (
        Client::Cursor,
        "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"} // one\n  }\n}\n",
    ),
    (
        Client::Vscode,
        "{\n\t\"servers\": {\n\t\t\"a\": {\"type\": \"stdio\", \"command\": \"a\"},\n\t}\n}\n",
    ),
    (
        Client::Windsurf,
        r#"{"mcpServers": {"a": {"command": "a"}}}"#,
    ),
    (
        Client::Zed,
        "{\n  \"context_servers\": {\"a\": {\"command\": \"a\", \"args\": []}}\n}\n",
    ),
    (
        Client::Opencode,
        r#"{"mcp": {"a": {"type": "local", "command": ["a"]}}}"#,
    ),
    (
        Client::Goose,
        "extensions:\n  a:\n    type: stdio\n    cmd: a\n    available_tools: [big]\n    args:\n    - -x\n# last\n",
    ),
];

/// Creates a client's file. `lookups` says whether the lookup tools get a separate entry or are
/// listed by each server.
fn house_with(client: Client, text: &str, lookups: bool) -> House {
    let mut house = House::new(client, Scope::User, text);
    house.lookups = lookups;
    house
}

/// Returns the file with the lookup entry, and the outcomes. Checks that every way to undo removes
/// the entry.
fn with_an_entry(client: Client, text: &str) -> (String, String) {
    let house = house_with(client, text, true);
    let said = told(&house.wrap(&[]).outcomes);
    let after = house.text();
    assert!(!house.plan(&[]).unwrap().changes());
    let report = inspect(client, &house.file, &house.places(), &house.records());
    let report = report.unwrap().unwrap();
    assert_eq!(report.lookups, Lookups::Offered("spillgate".into()));
    assert!(report.servers.iter().all(|one| one.hidden_by.is_none()));
    // Another program has changed the file, so the entries are undone one by one.
    fs::write(&house.file, format!("{after}\n")).unwrap();
    house.unwrap(&[]);
    let values = house.text();
    assert!(!values.contains("spillgate") && values.contains("big") == text.contains("big"));
    // Wraps again and checks that the file is restored byte for byte.
    let house = house_with(client, text, true);
    house.wrap(&[]);
    assert!(house.unwrap(&[]).exact);
    assert_eq!(house.text(), text);
    (after, said)
}

#[test]
fn the_look_up_tools_get_an_entry_of_their_own() {
    let mut all = String::new();
    for (client, text) in ONE {
        let (after, said) = with_an_entry(client, text);
        // One client of each syntax.
        if [Client::Codex, Client::Opencode, Client::Goose].contains(&client) {
            all += &format!("{client}\n{after}\n{said}");
        }
    }
    let masked: Vec<String> = all.lines().map(mask).collect();
    assert_snapshot!(masked.join("\n"), @r#"
    codex
    [mcp_servers]
    spillgate = { args = ["mcp", "--lookups"], command = "/bin/spillgate" }
    # mine
    [mcp_servers.a]
    command = "/bin/spillgate" # one
    args = ["mcp", "--name", "a", "--lookups-in", "codex=/HOME/.codex/config.toml", "--", "a"]
    enabled_tools = ["big"]

    a (user): wrapped
    spillgate (user): added
    opencode
    {"mcp": {
        "a": {"type": "local", "command": ["/bin/spillgate", "mcp", "--name", "a", "--lookups-in", "opencode=/HOME/.config/opencode/opencode.json", "--",       "a"]},
        "spillgate": {
          "command": ["/bin/spillgate", "mcp", "--lookups"],
          "type": "local"
        }
      }}
    a (user): wrapped
    spillgate (user): added
    goose
    extensions:
      a:
        type: stdio
        cmd: /bin/spillgate
        available_tools: [big]
        args:
        - mcp
        - "--name"
        - a
        - "--lookups-in"
        - "goose=/HOME/.config/goose/config.yaml"
        - "--"
        - a
        - -x
      spillgate: {args: [mcp, "--lookups"], cmd: /bin/spillgate, enabled: true, name: spillgate, type: stdio}
    # last

    a (user): wrapped
    spillgate (user): added
    "#);
}

/// Masks the name of a temporary directory in a line.
fn mask(line: &str) -> String {
    let temporary = std::env::temp_dir();
    let temporary = temporary.to_str().unwrap();
    match line.split_once(temporary) {
        Some((before, rest)) => {
            let rest = rest.trim_start_matches('/');
            let rest = rest.split_once('/').map_or("", |(_, rest)| rest);
            format!("{before}/HOME/{rest}")
        }
        None => line.to_owned(),
    }
}

#[test]
fn lists_of_what_is_allowed_name_the_entry_too() {
    let text = r#"{"mcp": {"allowed": ["a"]}, "mcpServers": {"a": {"command": "a"}}}"#;
    let house = house_with(Client::Gemini, text, true);
    house.wrap(&[]);
    assert!(
        house.text().contains(r#""allowed": ["a", "spillgate"]"#),
        "{}",
        house.text()
    );
    let hidden = |house: &House| {
        let report = inspect(house.client, &house.file, &house.places(), &house.records());
        let servers = report.unwrap().unwrap().servers;
        servers.into_iter().find_map(|one| one.hidden_by)
    };
    assert_eq!(hidden(&house), None);
    // The file was changed since, so only Spillgate's name is removed.
    let more = house.text().replace(r#"["a", "#, r#"["b", "a", "#);
    fs::write(&house.file, more).unwrap();
    house.unwrap(&[]);
    assert!(
        house.text().contains(r#""allowed": ["b", "a"]"#),
        "{}",
        house.text()
    );
    // The user removed the name that Spillgate had added.
    let house = house_with(Client::Gemini, text, true);
    house.wrap(&[]);
    let less = house.text().replace(r#", "spillgate"]"#, "]");
    fs::write(&house.file, less).unwrap();
    assert_eq!(hidden(&house).as_deref(), Some("mcp.allowed"));
}

#[test]
fn permissions_in_a_file_of_their_own_name_the_entry_too() {
    let house = house_with(Client::ClaudeCode, ONE[0].1, true);
    let around = surroundings(house.home.path());
    let file = house.home.path().join(".claude/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let plan = || {
        let plan = spillgate_clients::permit(house.client, "spillgate", &around, &house.records());
        plan.unwrap()
    };
    // Without permissions for tools of other servers there is nothing to allow.
    fs::write(&file, r#"{"permissions": {"allow": ["Bash(ls)"]}}"#).unwrap();
    assert!(plan().is_none());
    let text = "{\n  \"permissions\": {\"allow\": [\"mcp__a\"]} // mine\n}\n";
    fs::write(&file, text).unwrap();
    let planned = plan().unwrap();
    assert!(
        planned.diff().contains("mcp__spillgate"),
        "{}",
        planned.diff()
    );
    planned.carry_out(&house.records()).unwrap();
    assert!(plan().is_none(), "it is there already");
    let files = house.records().files(house.client).unwrap();
    let files: Vec<_> = files
        .iter()
        .filter(|one| one.ends_with("settings.json"))
        .collect();
    let back = unwrap(
        house.client,
        files[0],
        &house.places(),
        true,
        &[],
        &house.records(),
    );
    let back = back.unwrap().unwrap();
    assert!(back.exact);
    back.carry_out(&house.records()).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn the_entry_goes_with_the_last_server_that_needs_it() {
    let text = r#"{"mcpServers": {"a": {"command": "a"}, "spillgate": {"command": "mine"}, "b": {"command": "b"}}}"#;
    let house = house_with(Client::Cursor, text, true);
    house.wrap(&["a", "b"]);
    let found = |house: &House| {
        spillgate_clients::lookups(house.client, &house.file, &house.places()).unwrap()
    };
    // The name `spillgate` was already taken.
    assert_eq!(found(&house), Lookups::Offered("spillgate_lookups".into()));
    house.unwrap(&["a"]);
    assert_eq!(found(&house), Lookups::Offered("spillgate_lookups".into()));
    assert!(house.unwrap(&["b"]).exact || !house.text().contains("lookups"));
    assert_eq!(found(&house), Lookups::Missing);
    assert!(house.text().contains("mine"));
}

#[test]
fn an_entry_that_is_off_offers_nothing() {
    for (client, text) in ONE {
        let house = house_with(client, text, true);
        house.wrap(&[]);
        let off = match client {
            Client::Goose => house.text().replace("enabled: true", "enabled: false"),
            Client::Codex => house
                .text()
                .replace("spillgate = {", "spillgate = { enabled = false,"),
            _ => {
                let mut values: serde_json::Value =
                    spillgate_clients::json_values(&house.text()).unwrap();
                let table = values.as_object_mut().unwrap();
                for servers in table.values_mut().filter_map(|one| one.as_object_mut()) {
                    servers["spillgate"]["disabled"] = true.into();
                }
                values.to_string()
            }
        };
        fs::write(&house.file, off).unwrap();
        let report = inspect(client, &house.file, &house.places(), &house.records());
        let report = report.unwrap().unwrap();
        assert_eq!(report.lookups, Lookups::Off("spillgate".into()), "{client}");
        assert!(report.servers.iter().any(|one| one.leaves_lookups));
    }
}

#[test]
fn lists_of_tools_let_ours_through_where_a_server_lists_them() {
    for (client, list) in [
        (Client::Codex, "enabled_tools"),
        (Client::Gemini, "includeTools"),
        (Client::Goose, "available_tools"),
    ] {
        let text = ONE.iter().find(|(one, _)| *one == client).unwrap().1;
        let house = house_with(client, text, false);
        let plan = house.plan(&[]).unwrap();
        assert!(plan.diff().contains("spillgate_query"), "{}", plan.diff());
        house.wrap(&[]);
        let hidden = |house: &House| {
            let report = inspect(client, &house.file, &house.places(), &house.records());
            report.unwrap().unwrap().servers[0].hidden_by.clone()
        };
        assert_eq!(hidden(&house), None);
        let without = house.text().replace("spillgate_grep", "other");
        fs::write(&house.file, without).unwrap();
        assert_eq!(hidden(&house).as_deref(), Some(list));
        // The record is lost: restores from the command lines alone.
        fs::remove_dir_all(house.home.path().join("state")).unwrap();
        house.unwrap(&[]);
        assert!(!house.text().contains("spillgate"), "{}", house.text());
    }
}

#[test]
fn claude_code() {
    assert_snapshot!(there_and_back(Client::ClaudeCode, include_str!("fixtures/claude-code.json")), @r#"
    {
      "numStartups": 7,
      "mcpServers": {
        "files": {
          "type": "stdio",
          "command": "/bin/spillgate",
          "args": [
            "mcp",
            "--name",
            "files",
            "--",
            "npx",
            "-y",
            "@modelcontextprotocol/server-filesystem",
            "/tmp"
          ],
          "env": {}
        },
        "tracker": {
          "type": "stdio",
          "command": "/bin/spillgate",
          "args": ["mcp", "--name", "tracker", "--url", "https://mcp.example.com/mcp", "--header-env", "Authorization=SPILLGATE_HEADER_AUTHORIZATION", "--header-env", "X-Team=SPILLGATE_HEADER_X_TEAM"],
          "env": {
            "SPILLGATE_HEADER_AUTHORIZATION": "Bearer ${TOKEN}",
            "SPILLGATE_HEADER_X_TEAM": "blue"
          }
        },
        "old": {
          "type": "stdio",
          "command": "/bin/spillgate",
          "args": ["mcp", "--name", "old", "--url", "https://mcp.example.com/sse", "--sse"]
        },
        "login": { "type": "http", "url": "https://mcp.example.com/", "oauth": { "clientId": "x" } },
        "socket": { "type": "ws", "url": "wss://mcp.example.com/" }
      },
      "projects": {
        "/home/ann/shop": {
          "allowedTools": [],
          "mcpServers": {
            "here": {
              "command": "/bin/spillgate",
              "args": ["mcp", "--name", "here", "--", "here"]
            }
          }
        },
        "/home/ann/other": { "mcpServers": { "there": { "command": "there" } } }
      }
    }---
    files (user): wrapped
    login (user): left: the client logs in to it by OAuth (`oauth`)
    old (user): wrapped
    socket (user): left: the gateway knows no `type` "ws"
    tracker (user): wrapped
    here (local): wrapped
    "#);
}

#[test]
fn codex() {
    assert_snapshot!(there_and_back(Client::Codex, include_str!("fixtures/codex.toml")), @r#"
    # my settings
    model = "gpt-5"   # the best

    [mcp_servers.files]
    # where it is
    command = "/bin/spillgate"
    args = ["mcp", "--name", "files", "--", "npx", "-y", "@modelcontextprotocol/server-filesystem", "/tmp"] # two

    [mcp_servers.files.env]
    A = "1"

    [mcp_servers.many]
    command = "/bin/spillgate"
    args = [
        "mcp",
        "--name",
        "many",
        "--",
        "python3",
        # the script
        "server.py",
        "--flag",
    ]
    startup_timeout_sec = 20

    [mcp_servers.far]
    # the tracker
    command = "/bin/spillgate"
    args = ["mcp", "--name", "far", "--url", "https://mcp.example.com/mcp", "--header-env", "X-Team=SPILLGATE_HEADER_X_TEAM", "--header-env", "Authorization=TRACKER_AUTH"]
    env = { SPILLGATE_HEADER_X_TEAM = "blue" }
    env_vars = ["TRACKER_AUTH"]
    tool_timeout_sec = 60

    [mcp_servers.token]
    command = "/bin/spillgate"
    args = ["mcp", "--name", "token", "--url", "https://mcp.example.com/mcp", "--bearer-env", "TOKEN"]
    env_vars = ["TOKEN"]

    [mcp_servers.off]
    command = "off"
    enabled = false

    [mcp_servers]
    inline = { command = "/bin/spillgate", args = ["mcp", "--name", "inline", "--", "run"] }

    [history]
    persistence = "none"
    ---
    far (user): wrapped
    files (user): wrapped
    inline (user): wrapped
    many (user): wrapped
    off (user): left: it is disabled
    token (user): wrapped
    "#);
}

/// Tests that an entry without a record can be restored from its command line.
#[test]
fn without_a_record() {
    for (client, text) in [
        (
            Client::Codex,
            "[mcp_servers.a]\nurl = \"https://a.example/mcp\"\nbearer_token_env_var = \"TOKEN\"\n",
        ),
        (
            Client::Codex,
            "[mcp_servers.a]\nurl = \"https://a.example/mcp?key=1\"\nenv_http_headers = { X = \"V\" }\n",
        ),
        (
            Client::Cursor,
            "{\"mcpServers\": {\"a\": {\"url\": \"https://a.example/${KEY}\", \"headers\": {\"X\": \"1\"}}}}",
        ),
    ] {
        let house = House::new(client, Scope::User, text);
        house.wrap(&[]);
        assert!(
            !house.text().contains("a.example/mcp?key=1\"]"),
            "{}",
            house.text()
        );
        fs::remove_dir_all(house.home.path().join("state")).unwrap();
        let back = house.unwrap(&[]);
        assert!(!back.exact);
        let words = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(words(&house.text()), words(text));
    }
}

#[test]
fn gemini() {
    assert_snapshot!(there_and_back(Client::Gemini, r#"{
    // the theme
    "theme": "Dracula",
    "mcpServers": {
        "git": {"command": "uvx", "args": ["mcp-server-git"], "cwd": "./repo", "trust": true},
        "far": {"httpUrl": "https://mcp.example.com/mcp", "headers": {"Authorization": "$AUTH"}, "timeout": 5000},
        "stream": {"url": "http://127.0.0.1:8080/sse", "type": "sse"},
        "google": {"httpUrl": "https://mcp.example.com/mcp", "authProviderType": "google_credentials"}
    }
}
"#), @r#"
    {
        // the theme
        "theme": "Dracula",
        "mcpServers": {
            "git": {"command": "/bin/spillgate", "args": ["mcp", "--name", "git", "--", "uvx",     "mcp-server-git"], "cwd": "./repo", "trust": true},
            "far": {
                "command": "/bin/spillgate",
                "args": ["mcp", "--name", "far", "--url", "https://mcp.example.com/mcp", "--header-env", "Authorization=SPILLGATE_HEADER_AUTHORIZATION"],
                "env": {
                    "SPILLGATE_HEADER_AUTHORIZATION": "$AUTH"
                },
                "timeout": 5000
            },
            "stream": {
                "command": "/bin/spillgate",
                "args": ["mcp", "--name", "stream", "--url", "http://127.0.0.1:8080/sse", "--sse"]
            },
            "google": {"httpUrl": "https://mcp.example.com/mcp", "authProviderType": "google_credentials"}
        }
    }
    ---
    far (user): wrapped
    git (user): wrapped
    google (user): left: the client logs in to it by OAuth (`authProviderType`)
    stream (user): wrapped
    "#);
}

#[test]
fn cursor() {
    assert_snapshot!(there_and_back(Client::Cursor, r#"{
	"mcpServers": {
		"files": {
			"command": "${workspaceFolder}/bin/server",
			"envFile": "${workspaceFolder}/.env"
		},
		"far": {
			"url": "https://mcp.example.com/mcp",
			"headers": {"Authorization": "Bearer ${env:TOKEN}"}
		},
		"login": {"url": "https://mcp.example.com/mcp", "auth": {"CLIENT_ID": "x"}}
	}
}
"#), @r#"
    {
    	"mcpServers": {
    		"files": {
    			"command": "/bin/spillgate",
    			"args": ["mcp", "--name", "files", "--", "${workspaceFolder}/bin/server"],
    			"envFile": "${workspaceFolder}/.env"
    		},
    		"far": {
    			"command": "/bin/spillgate",
    			"args": ["mcp", "--name", "far", "--url", "https://mcp.example.com/mcp", "--header-env", "Authorization=SPILLGATE_HEADER_AUTHORIZATION"],
    			"env": {
    				"SPILLGATE_HEADER_AUTHORIZATION": "Bearer ${env:TOKEN}"
    			}
    		},
    		"login": {"url": "https://mcp.example.com/mcp", "auth": {"CLIENT_ID": "x"}}
    	}
    }
    ---
    far (user): wrapped
    files (user): wrapped
    login (user): left: the client logs in to it by OAuth (`auth`)
    "#);
}

#[test]
fn vscode() {
    assert_snapshot!(there_and_back(Client::Vscode, r#"{
  // what is asked for
  "inputs": [{ "type": "promptString", "id": "key", "password": true }],
  "servers": {
    "files": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "server", /* where */ "${workspaceFolder}"],
      "env": { "KEY": "${input:key}" },
    },
    "far": {
      "type": "http",
      "url": "https://mcp.example.com/mcp", // the tracker
      "headers": { "Authorization": "Bearer ${input:key}" },
    },
    "asked": { "type": "http", "url": "https://${input:host}/mcp" },
    "own": { "command": "node", "args": ["x.js"], "dev": { "watch": "**" } },
    "boxed": { "command": "node", "args": ["x.js"], "sandboxEnabled": true },
  },
}
"#), @r#"
    {
      // what is asked for
      "inputs": [{ "type": "promptString", "id": "key", "password": true }],
      "servers": {
        "files": {
          "type": "stdio",
          "command": "/bin/spillgate",
          "args": ["mcp", "--name", "files", "--", "npx",     "-y", "server", /* where */ "${workspaceFolder}"],
          "env": { "KEY": "${input:key}" },
        },
        "far": {
          "type": "stdio",
          "command": "/bin/spillgate",
          "args": ["mcp", "--name", "far", "--url", "https://mcp.example.com/mcp", "--header-env", "Authorization=SPILLGATE_HEADER_AUTHORIZATION"],
          "env": {
            "SPILLGATE_HEADER_AUTHORIZATION": "Bearer ${input:key}",
          },
        },
        "asked": {
          "type": "stdio",
          "command": "/bin/spillgate",
          "args": ["mcp", "--name", "asked", "--url-env", "SPILLGATE_URL"],
          "env": {
            "SPILLGATE_URL": "https://${input:host}/mcp"
          }
        },
        "own": { "command": "node", "args": ["x.js"], "dev": { "watch": "**" } },
        "boxed": { "command": "node", "args": ["x.js"], "sandboxEnabled": true },
      },
    }
    ---
    asked (user): wrapped
    boxed (user): left: its sandbox (`sandboxEnabled`) would also confine the gateway, which then could not write to its store
    far (user): wrapped
    files (user): wrapped
    own (user): left: `dev` has VS Code watch or debug the server's own process
    "#);
}

#[test]
fn windsurf() {
    assert_snapshot!(there_and_back(Client::Windsurf, r#"{"mcpServers":{"a":{"command":"a","args":[],"disabledTools":["x"]},"b":{"serverUrl":"https://mcp.example.com/mcp"},"c":{"command":"c","disabled":true}}}"#), @r#"
    {"mcpServers":{"a":{"command":"/bin/spillgate","args":["mcp", "--name", "a", "--", "a"],"disabledTools":["x"]},"b":{
          "command": "/bin/spillgate",
          "args": ["mcp", "--name", "b", "--url", "https://mcp.example.com/mcp"]
        },"c":{"command":"c","disabled":true}}}---
    a (user): wrapped
    b (user): wrapped
    c (user): left: it is disabled
    "#);
}

#[test]
fn zed() {
    assert_snapshot!(there_and_back(Client::Zed, r#"// Zed settings
{
  "theme": "One Dark",
  "context_servers": {
    "files": {
      "source": "custom",
      "enabled": true,
      "command": "npx",
      "args": ["-y", "server"],
      "env": {},
    },
    "far": { "url": "https://mcp.example.com/mcp", "headers": { "Authorization": "Bearer x" } },
    "older": { "command": { "path": "x", "args": [] } },
    "extension": { "source": "extension", "enabled": true, "settings": {} },
  },
}
"#), @r#"
    // Zed settings
    {
      "theme": "One Dark",
      "context_servers": {
        "files": {
          "source": "custom",
          "enabled": true,
          "command": "/bin/spillgate",
          "args": ["mcp", "--name", "files", "--", "npx",     "-y", "server"],
          "env": {},
        },
        "far": {
          "command": "/bin/spillgate",
          "args": ["mcp", "--name", "far", "--url", "https://mcp.example.com/mcp", "--header-env", "Authorization=SPILLGATE_HEADER_AUTHORIZATION"],
          "env": {
            "SPILLGATE_HEADER_AUTHORIZATION": "Bearer x"
          }
        },
        "older": { "command": { "path": "x", "args": [] } },
        "extension": { "source": "extension", "enabled": true, "settings": {} },
      },
    }
    ---
    extension (user): left: an extension of Zed starts it
    far (user): wrapped
    files (user): wrapped
    older (user): left: `command` has the form of older versions; open Zed once, it rewrites it
    "#);
}

#[test]
fn opencode() {
    assert_snapshot!(there_and_back(Client::Opencode, r#"{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "files": {
      "type": "local",
      "command": ["npx", "-y", "server"],
      "environment": { "A": "1" },
      "enabled": true
    },
    "far": {
      "type": "remote",
      "url": "https://mcp.example.com/mcp",
      "oauth": false,
      "headers": { "Authorization": "Bearer {env:TOKEN}" }
    },
    "servers": {
      "second": { "type": "local", "command": ["second"] }
    }
  }
}
"#), @r#"
    {
      "$schema": "https://opencode.ai/config.json",
      "mcp": {
        "files": {
          "type": "local",
          "command": ["/bin/spillgate", "mcp", "--name", "files", "--",     "npx", "-y", "server"],
          "environment": { "A": "1" },
          "enabled": true
        },
        "far": {
          "type": "local",
          "command": ["/bin/spillgate", "mcp", "--name", "far", "--url", "https://mcp.example.com/mcp", "--header-env", "Authorization=SPILLGATE_HEADER_AUTHORIZATION"],
          "environment": {
            "SPILLGATE_HEADER_AUTHORIZATION": "Bearer {env:TOKEN}"
          }
        },
        "servers": {
          "second": { "type": "local", "command": ["/bin/spillgate", "mcp", "--name", "second", "--",     "second"] }
        }
      }
    }
    ---
    far (user): wrapped
    files (user): wrapped
    second (user): wrapped
    "#);
}

#[test]
fn goose() {
    assert_snapshot!(there_and_back(Client::Goose, include_str!("fixtures/goose.yaml")), @r#"
    GOOSE_PROVIDER: openai
    extensions:
      developer:
        bundled: true
        enabled: true
        type: builtin
      # files
      files:
        enabled: true
        type: stdio
        name: files
        cmd: /bin/spillgate
        args:
        - mcp
        - "--name"
        - files
        - "--"
        - npx
        - -y
        # the server
        - '@modelcontextprotocol/server-filesystem'
        envs: {}
        env_keys:
          - TOKEN
        timeout: 300
      flow: {enabled: true, type: stdio, cmd: /bin/spillgate, args: [mcp, "--name", flow, "--", run, a, "b c"], envs: {A: "1"}}
      bare:
        type: stdio
        cmd: /bin/spillgate   # alone
        args: [mcp, "--name", bare, "--", bare]
      far:
        type: stdio
        cmd: /bin/spillgate
        args: [mcp, "--name", far, "--url", "https://mcp.example.com/mcp", "--header-env", "Authorization=SPILLGATE_HEADER_AUTHORIZATION", "--header-env", "X-Team=SPILLGATE_HEADER_X_TEAM"]
        envs: {SPILLGATE_HEADER_AUTHORIZATION: "Bearer x", SPILLGATE_HEADER_X_TEAM: blue}
        timeout: 300
      filled:
        type: streamable_http
        uri: https://mcp.example.com/mcp
        headers: {Authorization: "Bearer ${TOKEN}"}
    last: |
      text
    ---
    bare (user): wrapped
    developer (user): left: `type: builtin`: it is a part of goose
    far (user): wrapped
    files (user): wrapped
    filled (user): left: goose fills in the header "Authorization" itself
    flow (user): wrapped
    "#);
}

#[test]
fn what_was_added_since_stays() {
    let before = r#"{
  "mcpServers": {
    "one": {"command": "one", "args": ["1"]},
    "far": {"type": "http", "url": "https://mcp.example.com/mcp", "headers": {"A": "b"}},
  },
}
"#;
    let house = House::new(Client::ClaudeCode, Scope::User, before);
    house.wrap(&[]);
    let mine = house
        .text()
        .replace(
            r#""SPILLGATE_HEADER_A": "b""#,
            r#""SPILLGATE_HEADER_A": "b", "MINE": "1""#,
        )
        .replace(r#""--", "one", "1""#, r#""--", "one", "1", "2""#)
        .replace(
            "\n  },\n}",
            "\n    \"new\": {\"command\": \"new\"}, // mine\n  },\n}",
        );
    fs::write(&house.file, &mine).unwrap();
    // Entries wrapped now are undone together with the others.
    let again = house.wrap(&[]);
    assert_snapshot!(told(&again.outcomes), @"
    far (user): already
    new (user): wrapped
    one (user): already
    ");
    assert_eq!(house.text().matches("/bin/spillgate").count(), 3);
    let back = house.unwrap(&[]);
    assert!(back.exact);
    assert_snapshot!(house.text(), @r#"
    {
      "mcpServers": {
        "one": {"command": "one", "args": ["1"]},
        "far": {
          "type": "http",
          "url": "https://mcp.example.com/mcp",
          "headers": {
            "A": "b"
          },
          "env": {
     "MINE": "1"
          }
        },
        "new": {"command": "new"}, // mine
      },
    }
    "#);
}

#[test]
fn some_at_a_time() {
    let before = "[mcp_servers.a]\ncommand = \"a\"\n[mcp_servers.b]\ncommand = 'b' # b\n";
    let house = House::new(Client::Codex, Scope::User, before);
    house.wrap(&["a"]);
    house.wrap(&["b"]);
    let plan = house.unwrap(&["a"]);
    assert!(!plan.exact);
    assert_snapshot!(house.text(), @r#"
    [mcp_servers.a]
    command = "a"
    [mcp_servers.b]
    command = "/bin/spillgate" # b
    args = ["mcp", "--name", "b", "--", "b"]
    "#);
    assert!(house.unwrap(&["b"]).exact);
    assert_eq!(house.text(), before);
}

#[test]
fn without_a_record_the_command_line_tells() {
    for (client, before) in [
        (
            Client::ClaudeCode,
            r#"{"mcpServers": {"a": {"command": "a", "args": ["x"]}, "b": {"type": "http", "url": "https://e.com/mcp", "headers": {"A": "b"}}}}"#,
        ),
        (
            Client::Goose,
            "extensions:\n  a:\n    type: stdio\n    cmd: a\n    args:\n    - x\n  b:\n    type: streamable_http\n    uri: https://e.com/mcp\n",
        ),
        (
            Client::Codex,
            "[mcp_servers.b]\nurl = \"https://e.com/mcp\"\nenv_http_headers = { A = \"B\" }\n",
        ),
    ] {
        let house = House::new(client, Scope::User, before);
        house.wrap(&[]);
        fs::remove_dir_all(house.home.path().join("state")).unwrap();
        assert!(!house.unwrap(&[]).exact);
        let clean = |text: &str| text.replace([' ', '\n', '"'], "");
        assert_eq!(clean(&house.text()), clean(before));
    }
}

#[test]
fn malformed_files_are_named_with_their_line() {
    for (client, text) in [
        (
            Client::ClaudeCode,
            "{\n  \"mcpServers\": {\n    \"a\": nothing\n}}",
        ),
        (Client::Cursor, "{\"mcpServers\": {'a': 1}}"),
        (Client::Codex, "[mcp_servers.a]\ncommand = \n"),
        (Client::Goose, "extensions:\n  a: [1\n  b: }\n"),
        (
            Client::Vscode,
            "{\"servers\": {\"a\": {\"command\": \"a\"}} \"b\"}",
        ),
    ] {
        let house = House::new(client, Scope::User, text);
        let error = house.plan(&[]).unwrap_err();
        assert!(matches!(error, ClientsError::Malformed { .. }), "{error:?}");
        let place = format!("{}:", house.file.display());
        assert!(error.to_string().starts_with(&place), "{error}");
        assert_eq!(house.text(), text);
    }
    let house = House::new(Client::Codex, Scope::User, "");
    fs::write(&house.file, b"[a]\nb = \"\xff\"\n").unwrap();
    let error = house.plan(&[]).unwrap_err().to_string();
    assert!(error.ends_with(":2: it is not UTF-8"), "{error}");
}

#[test]
fn files_without_servers_are_left() {
    for text in [
        "",
        "\n",
        "{}",
        "{\"mcpServers\": {}}",
        "{\"mcpServers\": []}",
    ] {
        let house = House::new(Client::Cursor, Scope::User, text);
        let plan = house.wrap(&[]);
        assert!(!plan.changes() && plan.outcomes.is_empty(), "{text}");
        assert_eq!(house.text(), text);
    }
}

#[test]
fn someone_else_writes_meanwhile() {
    let text = "{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}";
    let house = House::new(Client::Cursor, Scope::User, text);
    let plan = house.plan(&[]).unwrap();
    fs::write(&house.file, "{}").unwrap();
    let error = plan.carry_out(&house.records()).unwrap_err();
    assert!(matches!(error, ClientsError::Changed { .. }), "{error:?}");
    assert_eq!(house.text(), "{}");
    let left = fs::read_dir(house.home.path().join("state"))
        .unwrap()
        .count();
    assert_eq!(left, 0);
    let beside = fs::read_dir(house.file.parent().unwrap()).unwrap().count();
    assert_eq!(beside, 1);
}

#[test]
fn a_damaged_backup_is_not_put_back() {
    let text = "{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}";
    let house = House::new(Client::Cursor, Scope::User, text);
    let backup = house.wrap(&[]).backup.unwrap();
    let stands = |house: &House| {
        let report = inspect(house.client, &house.file, &house.places(), &house.records());
        report.unwrap().unwrap()
    };
    assert!(stands(&house).backup.unwrap().is_ok());
    fs::write(&backup, "other").unwrap();
    assert!(stands(&house).backup.unwrap().is_err());
    // The entries themselves are still undone.
    assert!(!house.unwrap(&[]).exact);
    assert!(house.text().contains("\"command\": \"a\""));
    assert_eq!(digest(&fs::read(&backup).unwrap()), digest(b"other"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Tests that spaces and comments between the values do not change, wherever they are.
    #[test]
    fn spaces_and_comments_survive(
        gaps in prop::collection::vec(r"[ \t]{0,3}(/\*[a-z ]{0,5}\*/)?(//[a-z]{0,4}\n)?\n{0,2}", 12),
        args in prop::collection::vec("[a-z\"\\\\é{}-]{0,6}", 0..4),
        windows in any::<bool>(),
        mark in any::<bool>(),
    ) {
        let args: Vec<String> = args.iter().map(|arg| format!("{arg:?}")).collect();
        let args = args.join(&format!(",{}", gaps[10]));
        // A comment before a list's first element moves with the elements inserted before it. In an
        // empty list a comment would have nothing to refer to.
        let inner = match (args.is_empty(), gaps[8].contains('/')) {
            (true, _) => ["", ""],
            (false, true) => ["", gaps[9].as_str()],
            (false, false) => [gaps[8].as_str(), gaps[9].as_str()],
        };
        let [a, b, c, d, e, f, g, h, ..] = gaps.as_slice() else { unreachable!() };
        let [i, j] = inner;
        let mut text = format!(
            "{a}{{{b}\"x\":{c}1,{d}\"mcpServers\":{e}{{{f}\"s\"{g}:{{\"command\":\"c\",{h}\"args\":[{i}{args}{j}]{a}}}}}{b}}}{}",
            gaps[11]
        );
        if windows {
            text = text.replace('\n', "\r\n");
        }
        if mark {
            text.insert(0, '\u{feff}');
        }
        let house = House::new(Client::Cursor, Scope::User, &text);
        house.wrap(&[]);
        let wrapped = house.text();
        prop_assert!(wrapped.contains("/bin/spillgate"));
        prop_assert_eq!(wrapped.starts_with('\u{feff}'), mark);
        prop_assert_eq!(wrapped.matches("/*").count(), text.matches("/*").count());
        prop_assert_eq!(wrapped.matches("//").count(), text.matches("//").count());
        // Without the backup, the file gets back the same number of comments.
        fs::remove_dir_all(house.home.path().join("state")).unwrap();
        house.unwrap(&[]);
        prop_assert_eq!(house.text().matches("/*").count(), text.matches("/*").count());
        fs::write(&house.file, &text).unwrap();
        house.wrap(&[]);
        prop_assert!(house.unwrap(&[]).exact);
        prop_assert_eq!(house.text(), text);
    }

    /// Tests that the file keeps its comment lines, empty lines, comments after values, and any
    /// indentation.
    #[test]
    fn lines_and_comments_survive(
        gaps in prop::collection::vec("( *# [a-z]{0,4}\n|\n){0,2}", 9),
        behind in prop::collection::vec("( {1,3}# [a-z]{0,4})?", 9),
        indent in 1usize..5,
        dash in 0usize..4,
        toml in any::<bool>(),
        windows in any::<bool>(),
    ) {
        let yaml = [
            (0, "a: 1"), (0, "extensions:"), (1, "s:"), (2, "type: stdio"), (2, "cmd: 'it'"),
            (2, "args:"), (2, "- \"x # y\""), (2, "- z"), (2, "timeout: 3"),
        ];
        let tables = [
            (0, "a = 1"), (0, "[mcp_servers.s]"), (1, "command = 'it'"), (1, "args = ["), (1, "  \"x # y\","),
            (1, "  'z',"), (1, "]"), (1, "timeout = 3"), (0, "[mcp_servers.s.env]"),
        ];
        let lines = if toml { tables } else { yaml };
        let mut text = String::new();
        for ((depth, line), (gap, behind)) in lines.iter().zip(gaps.iter().zip(&behind)) {
            let more = if line.starts_with('-') { dash } else { 0 };
            text += &format!("{gap}{}{line}{behind}\n", " ".repeat(depth * indent + more));
        }
        if windows {
            text = text.replace('\n', "\r\n");
        }
        let house = House::new(if toml { Client::Codex } else { Client::Goose }, Scope::User, &text);
        house.wrap(&[]);
        let wrapped = house.text();
        prop_assert!(wrapped.contains("/bin/spillgate"));
        prop_assert_eq!(wrapped.matches('#').count(), text.matches('#').count());
        prop_assert_eq!(wrapped.matches('\r').count() > 0, windows);
        fs::remove_dir_all(house.home.path().join("state")).unwrap();
        house.unwrap(&[]);
        // Apart from quotes, the file is restored.
        prop_assert_eq!(house.text().replace(['\'', '"'], ""), text.replace(['\'', '"'], ""));
        fs::write(&house.file, &text).unwrap();
        house.wrap(&[]);
        prop_assert!(house.unwrap(&[]).exact);
        prop_assert_eq!(house.text(), text);
    }
}

#[test]
fn permissions_that_keep_a_model_from_the_tools_are_found() {
    let home = tempfile::tempdir().unwrap();
    let around = surroundings(home.path());
    let users = home.path().join(".claude/settings.json");
    let own = around.project.join(".claude/settings.local.json");
    for file in [&users, &own] {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
    }
    let found = |user: &str, local: &str| {
        fs::write(&users, user).unwrap();
        fs::write(&own, local).unwrap();
        let found = forbidden(Client::ClaudeCode, "spillgate", &around).unwrap();
        match found {
            None => "none".to_owned(),
            Some(Forbidden::Denied(file)) => format!("denied {}", file == own),
            Some(Forbidden::NotAllowed(file)) => format!("not allowed {}", file == own),
        }
    };
    let allow = |list: &str| format!(r#"{{"permissions": {{"allow": [{list}]}}}}"#);
    let deny = |list: &str| format!(r#"{{"permissions": {{"deny": [{list}]}}}}"#);
    let all = ["read", "grep", "query", "search"]
        .map(|one| format!(r#""mcp__spillgate__spillgate_{one}""#));
    for (user, local, wanted) in [
        ("{}".to_owned(), "{}".to_owned(), "none"),
        (allow(r#""Bash(ls)""#), "{}".to_owned(), "none"),
        (allow(r#""mcp__a""#), "{}".to_owned(), "not allowed false"),
        ("{}".to_owned(), allow(r#""mcp__a__b""#), "not allowed true"),
        (allow(r#""mcp__a""#), allow(r#""mcp__spillgate""#), "none"),
        (
            allow(&all[..3].join(",")),
            "{}".to_owned(),
            "not allowed false",
        ),
        (allow(&all[..3].join(",")), allow(&all[3]), "none"),
        (allow(r#""mcp__spillgate""#), deny(&all[1]), "denied true"),
        (deny(r#""mcp__spillgate""#), "{}".to_owned(), "denied false"),
        (
            deny(r#""mcp__other", "mcp__spillgate2""#),
            "{}".to_owned(),
            "none",
        ),
    ] {
        assert_eq!(found(&user, &local), wanted, "{user} {local}");
    }
}
