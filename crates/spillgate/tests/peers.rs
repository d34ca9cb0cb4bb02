//! Real MCP clients and servers, none of them ours, on both sides of the gateway.
//!
//! The Python `mcp` package and the inspector's command line are the clients; server-filesystem,
//! server-everything and a deliberately bad server are upstream. `cargo xtask peers` installs them.
//! The scenarios are the Python drivers in `tests/peers/`; each prints a verdict, and a test here
//! asserts on it: every check is green, and the checks that matter were made at all.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The binary under test.
const GATEWAY: &str = env!("CARGO_BIN_EXE_spillgate");

/// A driver that takes longer hangs: each has its own, shorter, time limits for what it waits for.
const DRIVER_LIMIT: Duration = Duration::from_mins(5);

/// What hosts cut or divert is longer than this: SPEC 4.1.
const PREVIEW_BYTES_MAX: usize = 10_000;

#[test]
fn a_large_file_comes_back_as_a_preview_and_every_byte_is_there() {
    let lab = Lab::new("filesystem");
    let verdict = lab.drive("filesystem", &lab.filesystem_server());
    verdict.shows(&[
        "our tools are listed last",
        "a small read is untouched",
        "a small structured read is untouched",
        "content is a preview",
        "the preview is short",
        "structuredContent is the same",
        "grep finds the needle",
        "read gives that line",
        "pages join without gap or repeat",
        "raw content is the file",
        "raw structuredContent is the file",
        "the discovering client is served too",
    ]);
}

#[test]
fn a_client_sees_the_same_server_with_and_without_the_gateway() {
    let lab = Lab::new("everything");
    let verdict = lab.drive("everything", &lab.node_server("mcp-server-everything"));
    verdict.shows(&[
        "our tools",
        "tools/list",
        "a small echo",
        "an image",
        "structured content",
        "a request for roots",
        "a request for sampling",
        "a request for elicitation",
        "resources/list",
        "prompts/list",
        "completion/complete",
        "its progress",
        "a call after cancellation",
        "notifications",
    ]);
}

#[test]
fn small_replies_of_server_everything_are_the_same_to_the_byte() {
    let lab = Lab::new("identity-everything");
    let verdict = lab.drive("identity", &lab.node_server("mcp-server-everything"));
    verdict.shows(&[
        "initialize",
        "call echo",
        "call get-tiny-image",
        "other lines",
    ]);
}

#[test]
fn small_replies_of_server_filesystem_are_the_same_to_the_byte() {
    let lab = Lab::new("identity-filesystem");
    let verdict = lab.drive("identity", &lab.filesystem_server());
    verdict.shows(&["initialize", "call read_text_file", "call read_media_file"]);
}

#[test]
fn a_widened_output_schema_holds_for_a_client_that_validates() {
    let lab = Lab::new("schemas");
    let verdict = lab.drive("schemas", &lab.hostile_server());
    verdict.shows(&[
        "a small tree fits its schema",
        "a large tree fits its schema",
        "a tree without content fits its schema",
        "large: a preview",
        "without content: a preview",
    ]);
}

#[test]
fn a_server_on_a_bad_day_does_not_kill_the_relay() {
    let lab = Lab::new("hostile");
    let verdict = lab.drive("hostile", &lab.hostile_server());
    verdict.shows(&[
        "surrogate: small is identical",
        "surrogate: cat --raw is what was sent",
        "noise: lines pass unchanged",
        "noise: all that was sent arrives unchanged",
        "huge: the whole reply is short",
        "exit: call 1 gets an error",
        "exit: the gateway ends by itself",
        "hang-up: the call gets an error",
        "progress: as it happens",
        "cancellation: reaches the server",
        "ask: the answer went back",
        "picture: other blocks are identical",
        "terminated: the server goes too",
        "a server that stays: the server goes too",
        "last calls: all are answered",
        "a launcher: the server goes too",
    ]);
    let seconds = verdict.fact("seconds for 50 MB");
    assert!(seconds < 60.0, "50 MB took {seconds} s");
}

#[test]
fn the_inspector_lists_and_calls_through_the_gateway() {
    let lab = Lab::new("inspector");
    let config = lab.inspector_config();
    let listed = lab.inspect(&config, &["--method", "tools/list"]);
    let names: Vec<_> = listed["tools"]
        .as_array()
        .expect("tools/list prints tools")
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert!(names.contains(&"read_text_file"), "{names:?}");
    assert!(
        names.ends_with(&[
            "spillgate_read",
            "spillgate_grep",
            "spillgate_query",
            "spillgate_search"
        ]),
        "{names:?}"
    );

    let file = lab.big_file();
    let argument = format!("path={}", file.display());
    let call = [
        "--method",
        "tools/call",
        "--tool-name",
        "read_text_file",
        "--tool-arg",
        &argument,
    ];
    let result = lab.inspect(&config, &call);
    let text = result["content"][0]["text"].as_str().expect("a text block");
    assert!(
        text.starts_with("[spillgate] read_text_file returned "),
        "{text}"
    );
    assert!(text.len() < PREVIEW_BYTES_MAX, "{} bytes", text.len());
    assert_eq!(result["structuredContent"]["spillgate"], json!(text));
}

/// The installed peers, and a fresh directory for one test.
struct Lab {
    peers: PathBuf,
    drivers: PathBuf,
    work: PathBuf,
    store: PathBuf,
}

impl Lab {
    fn new(test: &str) -> Self {
        // Asked at run time: checkouts that share a target directory share the compiled test too.
        let package = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let peers = package.join("../../.peers");
        assert!(
            peers.join("stamp").is_file(),
            "no peers here: run `cargo xtask peers` first"
        );
        // Kept after the test, for whoever looks into a failure; the next run clears it.
        let home = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("peers")
            .join(test);
        let lab = Self {
            peers: peers.canonicalize().expect("the peers are there"),
            drivers: package.join("tests/peers"),
            work: home.join("work"),
            store: home.join("store"),
        };
        if home.exists() {
            fs::remove_dir_all(&home).expect("the last run's directory goes");
        }
        fs::create_dir_all(&lab.work).expect("a directory for the files");
        fs::create_dir_all(&lab.store).expect("a directory for the store");
        lab
    }

    /// The command of an npm server.
    fn node_server(&self, name: &str) -> Vec<String> {
        let script = self.peers.join("node/node_modules/.bin").join(name);
        vec![shown(&self.peers.join("bin/node")), shown(&script)]
    }

    /// server-filesystem on the test's own directory.
    fn filesystem_server(&self) -> Vec<String> {
        let mut command = self.node_server("mcp-server-filesystem");
        command.push(shown(&self.work));
        command
    }

    fn hostile_server(&self) -> Vec<String> {
        vec![
            shown(&self.python()),
            shown(&self.drivers.join("hostile_server.py")),
        ]
    }

    fn python(&self) -> PathBuf {
        self.peers.join("python/bin/python")
    }

    /// Runs a driver against `server` behind the gateway.
    fn drive(&self, driver: &str, server: &[String]) -> Verdict {
        let mut command = Command::new(self.python());
        command
            .arg(self.drivers.join(format!("{driver}.py")))
            .args(["--gateway", GATEWAY])
            .arg("--store")
            .arg(&self.store)
            .arg("--work")
            .arg(&self.work)
            .arg("--")
            .args(server)
            // The drivers' directory is source: no compiled files into it.
            .env("PYTHONDONTWRITEBYTECODE", "1");
        let stdout = self.finish(&mut command);
        let last = stdout.lines().next_back().unwrap_or_default();
        let verdict = serde_json::from_str(last)
            .unwrap_or_else(|error| panic!("no verdict ({error}): {stdout}\n{}", self.stderr()));
        Verdict {
            verdict,
            stderr: self.stderr(),
        }
    }

    /// The inspector's configuration: server-filesystem behind the gateway. A configuration,
    /// because the inspector's own command line swallows the `--` before the server's command.
    fn inspector_config(&self) -> PathBuf {
        let mut arguments = vec!["mcp".to_owned(), "--".to_owned()];
        arguments.extend(self.filesystem_server());
        let server = json!({
            "command": GATEWAY,
            "args": arguments,
            "env": { "SPILLGATE_STORE": self.store },
        });
        let path = self.work.join("inspector.json");
        let config = json!({ "mcpServers": { "files": server } });
        fs::write(&path, config.to_string()).expect("the configuration is written");
        path
    }

    /// Runs the inspector's command line and gives the JSON that it prints.
    fn inspect(&self, config: &Path, arguments: &[&str]) -> Value {
        let inspector = self.node_server("mcp-inspector");
        let mut command = Command::new(&inspector[0]);
        command
            .args(&inspector[1..])
            .args(["--cli", "--server", "files", "--config"])
            .arg(config)
            .args(arguments)
            // It keeps files in the home directory otherwise, and asks the keychain.
            .env("HOME", &self.work)
            .env("MCP_INSPECTOR_SECRET_STORE", "memory");
        let stdout = self.finish(&mut command);
        serde_json::from_str(&stdout)
            .unwrap_or_else(|error| panic!("no JSON ({error}): {stdout}\n{}", self.stderr()))
    }

    /// Runs a command to its end within the limit, wants exit code 0, and gives its stdout.
    fn finish(&self, command: &mut Command) -> String {
        // Files instead of pipes: nobody has to read along, however much comes.
        let stdout = self.work.join("stdout.txt");
        let mut child = command
            .stdin(Stdio::null())
            .stdout(File::create(&stdout).expect("a file for stdout"))
            .stderr(File::create(self.stderr_file()).expect("a file for stderr"))
            .spawn()
            .expect("the peer starts");
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("the peer can be waited for") {
                break status;
            }
            if start.elapsed() > DRIVER_LIMIT {
                child.kill().expect("the peer can be killed");
                child.wait().expect("the peer ends");
                panic!(
                    "{command:?} still ran after {DRIVER_LIMIT:?}\n{}",
                    self.stderr()
                );
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let output = fs::read_to_string(&stdout).expect("stdout is text");
        assert!(
            status.success(),
            "{command:?}: {status}\n{output}\n{}",
            self.stderr()
        );
        output
    }

    /// A text file of five megabytes.
    fn big_file(&self) -> PathBuf {
        let path = self.work.join("big.log");
        let line = "12:00:00 GET /items/4711 200 in 3 ms by worker 17\n";
        fs::write(&path, line.repeat(5_000_000 / line.len())).expect("the file is written");
        path
    }

    fn stderr_file(&self) -> PathBuf {
        self.work.join("stderr.txt")
    }

    /// The end of what the last command, and the processes under it, wrote to stderr.
    fn stderr(&self) -> String {
        let bytes = fs::read(self.stderr_file()).unwrap_or_default();
        let from = bytes.len().saturating_sub(2000);
        String::from_utf8_lossy(&bytes[from..]).into_owned()
    }
}

/// What a driver found.
struct Verdict {
    verdict: Value,
    stderr: String,
}

impl Verdict {
    /// Fails unless all checks are green and those of `names` are among them.
    #[track_caller]
    fn shows(&self, names: &[&str]) {
        let checks = self.verdict["checks"]
            .as_array()
            .expect("a verdict has checks");
        let red: Vec<String> = checks
            .iter()
            .filter(|check| check["ok"] != json!(true))
            .map(|check| format!("{}: {}", check["name"], check["detail"]))
            .collect();
        let missing: Vec<_> = names
            .iter()
            .filter(|name| !checks.iter().any(|check| check["name"] == json!(name)))
            .collect();
        assert!(
            red.is_empty() && missing.is_empty(),
            "{} of {} checks are red:\n{}\nnever made: {missing:?}\nfacts: {}\nstderr: {}",
            red.len(),
            checks.len(),
            red.join("\n"),
            self.verdict["facts"],
            self.stderr,
        );
    }

    /// A measured number.
    fn fact(&self, name: &str) -> f64 {
        self.verdict["facts"][name]
            .as_f64()
            .expect("the fact was measured")
    }
}

/// A path as text; the peers take nothing else.
fn shown(path: &Path) -> String {
    path.to_str()
        .expect("paths of a checkout are text")
        .to_owned()
}
