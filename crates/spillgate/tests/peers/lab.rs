//! The installed peers, a fresh directory for one test, and a way to run a driver.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The binary under test.
pub(crate) const GATEWAY: &str = env!("CARGO_BIN_EXE_spillgate");

/// Time limit of a driver. Its own time limits are shorter, so a driver that takes longer hangs.
const DRIVER_LIMIT: Duration = Duration::from_mins(5);

/// The installed peers and a fresh directory for one test.
pub(crate) struct Lab {
    pub(crate) peers: PathBuf,
    drivers: PathBuf,
    pub(crate) work: PathBuf,
    pub(crate) store: PathBuf,
}

impl Lab {
    pub(crate) fn new(test: &str) -> Self {
        // Read at run time: checkouts that share a target directory also share the compiled test.
        let package = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let peers = package.join("../../.peers");
        assert!(
            peers.join("stamp").is_file(),
            "no peers here: run `cargo xtask peers` first"
        );
        // Kept after the test, for the analysis of a failure; the next run clears it.
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

    /// Returns the command of an npm server.
    pub(crate) fn node_server(&self, name: &str) -> Vec<String> {
        let script = self.peers.join("node/node_modules/.bin").join(name);
        vec![shown(&self.peers.join("bin/node")), shown(&script)]
    }

    /// Returns the command of server-filesystem on the test's own directory.
    pub(crate) fn filesystem_server(&self) -> Vec<String> {
        let mut command = self.node_server("mcp-server-filesystem");
        command.push(shown(&self.work));
        command
    }

    pub(crate) fn hostile_server(&self) -> Vec<String> {
        vec![
            shown(&self.python()),
            shown(&self.drivers.join("hostile_server.py")),
        ]
    }

    /// Returns the command of a server with a few well-behaved tools.
    pub(crate) fn shelf_server(&self) -> Vec<String> {
        vec![
            shown(&self.python()),
            shown(&self.drivers.join("shelf_server.py")),
        ]
    }

    fn python(&self) -> PathBuf {
        self.peers.join("python/bin/python")
    }

    /// Runs a driver against `server` behind the gateway.
    pub(crate) fn drive(&self, driver: &str, server: &[String]) -> Verdict {
        self.drive_with(driver, &[], server)
    }

    /// Runs a driver with options that only this driver has.
    pub(crate) fn drive_with(&self, driver: &str, options: &[&str], server: &[String]) -> Verdict {
        let mut command = Command::new(self.python());
        command
            .arg(self.drivers.join(format!("{driver}.py")))
            .args(["--gateway", GATEWAY])
            .arg("--store")
            .arg(&self.store)
            .arg("--work")
            .arg(&self.work)
            .arg("--peers")
            .arg(&self.peers)
            .args(options)
            .arg("--")
            .args(server)
            // The drivers' directory is source: Python must not put compiled files there.
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

    /// Runs a command within the time limit, expects exit code 0, and returns its standard output.
    pub(crate) fn finish(&self, command: &mut Command) -> String {
        // Files instead of pipes: no output, however long, has to be read meanwhile.
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

    fn stderr_file(&self) -> PathBuf {
        self.work.join("stderr.txt")
    }

    /// Returns the end of what the last command and its children wrote to standard error.
    pub(crate) fn stderr(&self) -> String {
        let bytes = fs::read(self.stderr_file()).unwrap_or_default();
        let from = bytes.len().saturating_sub(2000);
        String::from_utf8_lossy(&bytes[from..]).into_owned()
    }
}

/// The findings of a driver.
pub(crate) struct Verdict {
    verdict: Value,
    stderr: String,
}

impl Verdict {
    /// Asserts that all checks of the driver passed, and that the checks `names` were made.
    #[track_caller]
    pub(crate) fn shows(&self, names: &[&str]) {
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

    /// Returns a measured number.
    pub(crate) fn fact(&self, name: &str) -> f64 {
        self.verdict["facts"][name]
            .as_f64()
            .expect("the fact was measured")
    }
}

/// Returns a path as text, because the peers accept only text.
pub(crate) fn shown(path: &Path) -> String {
    path.to_str()
        .expect("paths of a checkout are text")
        .to_owned()
}
