//! `cargo xtask screens`: takes pictures of commands in a real terminal, for the documentation. With
//! `--page`, takes those of the page in a browser instead.
//!
//! The terminal is tmux. It runs each command in a pane of 80 columns and returns what stands there,
//! with and without colours.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anstyle_svg::Term;
use anyhow::{Context, Result, bail};

use crate::command;
use crate::page;
use crate::peers;
use crate::report::Report;
use crate::workspace;

/// The directory of the pictures, below the root.
const SCREENS: &str = "docs/screens";

/// The home of the user in the pictures.
const HOME: &str = "/tmp/spillgate-screens";

/// The socket of our tmux server.
const SOCKET: &str = "spillgate-screens";

/// Longest time of a command.
const LIMIT: Duration = Duration::from_secs(60);

/// What is stored before the pictures are taken: results of a server, a table and a build.
const BEFORE: &str = r#"
seq 1 4000 | awk '{ printf "{\"id\":%d,\"name\":\"lamp %d\",\"price\":%d.50,\"city\":\"%s\"}\n", $1, $1, $1 % 90, ($1 % 3 ? "Oslo" : "Riga") }' > lamps.ndjson
spillgate put lamps.ndjson > shown
cat > build.sh <<'END'
#!/bin/sh
seq 1 900 | awk '{ printf "   Compiling part-%03d v1.4.%d\n", $1, $1 % 7 }'
echo "warning: unused variable: \`limit\`"
echo "  --> src/shop/cart.rs:41:9"
seq 901 1400 | awk '{ printf "   Compiling part-%03d v1.4.%d\n", $1, $1 % 7 }'
echo "error[E0308]: mismatched types"
echo "  --> src/shop/price.rs:112:17"
echo "    |"
echo "112 |     let total: u64 = price * 1.25;"
echo "    |                      ^^^^^^^^^^^^ expected u64, found f64"
echo "error: could not compile shop (lib) due to 1 previous error; 1 warning emitted"
exit 101
END
chmod +x build.sh
spillgate run -- sh -c 'seq 1 9000 | sed "s/^/2026-11-26T10:00:00Z INFO request /"' > shown
spillgate run -- ./build.sh > shown || true
spillgate grep last error > shown
spillgate query lamps.ndjson length > shown
"#;

/// The pictures: a name and a command line.
const PICTURES: [(&str, &str); 6] = [
    ("run", "spillgate run -- ./build.sh"),
    ("ls", "spillgate ls"),
    ("grep", "spillgate grep last -i 'error|warning' -A 2"),
    ("search", "spillgate search last why did the build fail"),
    ("stats", "spillgate stats"),
    ("doctor", "spillgate doctor"),
];

/// Runs the command with the program `--spillgate FILE`, or with the one in the target directory.
pub(crate) fn run_with(report: &mut Report, arguments: &[String]) -> Result<()> {
    let (is_page, arguments) = match arguments {
        [first, rest @ ..] if first == "--page" => (true, rest),
        _ => (false, arguments),
    };
    let program = match arguments {
        [] => {
            report.step("build", || {
                command::run(&mut command::cargo("build -p spillgate --features full"))
            })?;
            workspace::built()?.join("spillgate")
        }
        [option, file] if option == "--spillgate" => {
            fs::canonicalize(file).with_context(|| file.clone())?
        }
        _ => bail!("usage: cargo xtask screens [--page] [--spillgate FILE]"),
    };
    if is_page {
        peers::install(report)?;
        report.step("install", page::install)?;
        return report.step("pictures of the page", || page::pictures(&program));
    }
    report.step("screens", || pictures(&program))
}

fn pictures(program: &Path) -> Result<()> {
    let home = Home::new(program)?;
    home.shell(BEFORE)?;
    let to = workspace::root().join(SCREENS);
    fs::create_dir_all(&to)?;
    for (name, line) in PICTURES {
        let coloured = home.picture(line, true)?;
        let plain = home.picture(line, false)?;
        fs::write(
            to.join(name).with_extension("svg"),
            Term::new().render_svg(&coloured),
        )?;
        fs::write(to.join(name).with_extension("txt"), plain)?;
    }
    Ok(())
}

/// A home with nothing but the program; removed with this value.
struct Home(PathBuf);

impl Home {
    fn new(program: &Path) -> Result<Self> {
        let home = PathBuf::from(HOME);
        fs::create_dir(&home).with_context(|| format!("{HOME} must not exist"))?;
        let home = Self(home);
        fs::create_dir(home.0.join("bin"))?;
        fs::copy(program, home.0.join("bin/spillgate"))?;
        // The server ends with its last session, so one stays between the pictures.
        home.tmux(&["new-session", "-d", "-s", "home", "sleep 600"])?;
        Ok(home)
    }

    fn environment(&self, command: &mut Command) {
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .env_clear()
            .env("HOME", &self.0)
            .env("LANG", "C.UTF-8")
            .env("PATH", format!("{}:{path}", self.0.join("bin").display()))
            .current_dir(&self.0);
    }

    fn shell(&self, script: &str) -> Result<()> {
        let mut shell = Command::new("sh");
        self.environment(&mut shell);
        command::run(shell.args(["-ec", script]))
    }

    fn tmux(&self, arguments: &[&str]) -> Result<String> {
        let mut tmux = Command::new("tmux");
        self.environment(&mut tmux);
        let tmux = tmux.args(["-L", SOCKET, "-f", "/dev/null"]).args(arguments);
        let output = tmux
            .output()
            .context("tmux, the terminal, cannot be started")?;
        if !output.status.success() {
            bail!(
                "tmux {}: {}",
                arguments.join(" "),
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Returns what the terminal shows after a command.
    fn picture(&self, line: &str, is_coloured: bool) -> Result<String> {
        let end = self.0.join("ended");
        drop(fs::remove_file(&end));
        let no_color = if is_coloured {
            ""
        } else {
            "export NO_COLOR=1; "
        };
        let shown = line.replace('\'', "'\\''");
        let script = format!("{no_color}printf '%s\\n' '$ {shown}'; {line}; touch ended; sleep 60");
        self.tmux(&[
            "new-session",
            "-d",
            "-s",
            "screen",
            "-x",
            "80",
            "-y",
            "50",
            &script,
        ])?;
        let started = Instant::now();
        while !end.exists() && started.elapsed() < LIMIT {
            std::thread::sleep(Duration::from_millis(50));
        }
        let style: &[&str] = if is_coloured { &["-e"] } else { &[] };
        let screen = self.tmux(&[&["capture-pane", "-p", "-t", "screen"], style].concat());
        self.tmux(&["kill-session", "-t", "screen"])?;
        Ok(format!("{}\n", screen?.trim_end()))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        drop(self.tmux(&["kill-server"]));
        drop(fs::remove_dir_all(&self.0));
    }
}
