//! What a command may reach.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::protocol::Confinement;

/// What commands may read and run: the system, no home directory. What is not there
/// is left out; `/run` only where names and programs of the system are looked up.
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

/// What confines commands (Landlock: Linux 6.2 or newer). Writing is allowed below the
/// root and in a private directory (`TMPDIR` and `HOME` of commands), reading there and
/// in the system's directories. Where the system cannot do that, no command runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sandbox {
    /// Directories and files that may be read and run beside the system's.
    pub readable: Vec<PathBuf>,
    /// Directories that may be written beside the root.
    pub writable: Vec<PathBuf>,
    /// What of the network may be used.
    pub network: Network,
}

/// What of the network a command may use. Sockets that are files (a container
/// engine's, an agent's of keys) are not covered by any of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// All of it.
    #[default]
    On,
    /// No TCP (Landlock: Linux 6.7 or newer); UDP goes through.
    NoTcp,
    /// Nothing, not even this machine's own addresses: a namespace of its own, which
    /// the system must let us make.
    Off,
}

impl Sandbox {
    /// What commands below `root` are confined to, with `temp` as their private
    /// directory.
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
