//! The sandbox settings of commands.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::protocol::Confinement;

/// The paths that commands may read and execute: the system's directories, but no home directories.
/// Missing paths are skipped. Of `/run`, the list contains only what is needed to resolve names and
/// to find the system's programs.
const SYSTEM: [&str; 16] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/proc",
    "/sys",
    "/dev",
    "/run/current-system",
    "/run/systemd/resolve",
    "/run/resolvconf",
];

/// The limits of commands (Landlock: Linux 6.2 or newer). Commands may write below the root and
/// in a private directory (their `TMPDIR` and `HOME`), and read there and in the system's
/// directories. If the system cannot enforce this, no command runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sandbox {
    /// Directories and files that may be read and executed in addition to the system's directories.
    pub readable: Vec<PathBuf>,
    /// Directories that may be written in addition to the root.
    pub writable: Vec<PathBuf>,
    /// Network access.
    pub network: Network,
}

/// The network access of a command. No variant restricts sockets in the file system, such as the
/// socket of a container engine or of a key agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Unrestricted.
    #[default]
    On,
    /// No TCP (Landlock: Linux 6.7 or newer); UDP still works.
    NoTcp,
    /// No network, not even this machine's own addresses. The command runs in a network namespace
    /// of its own, which the system must allow us to create.
    Off,
}

impl Sandbox {
    /// The confinement of commands below `root`, with `temp` as their private directory.
    pub(crate) fn confinement(&self, root: &Path, temp: &Path) -> Confinement {
        let mut writable = vec![root.to_owned(), temp.to_owned()];
        writable.extend(self.writable.iter().cloned());
        let mut readable: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        readable.extend(self.readable.iter().cloned());
        Confinement {
            readable,
            writable,
            network: self.network,
        }
    }
}
