//! Restricts what a process may access before it becomes the shell of a command.
//!
//! The process cannot undo the restrictions. If one of them fails, the shell does not start.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, Scope, make_bitflags, path_beneath_rules,
};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid};
use rustix::thread::{
    CapabilitySet, UnshareFlags, capabilities, remove_capability_from_bounding_set,
    set_capabilities,
};

use crate::execute_shell::protocol::Confinement;
use crate::execute_shell::sandbox::Network;

/// Devices that commands may read and write. None of them stores data.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// Confines this process, which must have a single thread, and all its descendants.
pub(super) fn confine(confinement: &Confinement) -> Result<(), String> {
    if confinement.network == Network::Off {
        leave_network().map_err(|error| {
            format!(
                "the system does not let us take the network away ({error}); \
                 network = \"no_tcp\" needs less"
            )
        })?;
    }
    lock(confinement)
        .map_err(|error| format!("the system's Landlock cannot confine the command: {error}"))?;
    give_up_capabilities().map_err(|error| {
        format!("cannot drop the capabilities that let root read other processes' /proc: {error}")
    })
}

/// With these capabilities, a process that runs as root can read the environment variables and the
/// memory maps of any other process in `/proc`, because the kernel skips Landlock's check (Linux:
/// `perfmon_capable`).
const SEES_OTHERS: [CapabilitySet; 2] = [CapabilitySet::PERFMON, CapabilitySet::SYS_ADMIN];

/// Drops the capabilities permanently: neither executing a program as root nor inheritance restores
/// them.
fn give_up_capabilities() -> std::io::Result<()> {
    let mut sets = capabilities(None)?;
    for capability in SEES_OTHERS {
        match remove_capability_from_bounding_set(capability) {
            // An old kernel does not know all of these capabilities.
            Ok(()) | Err(Errno::INVAL) => {}
            // A process without the capability cannot gain it: Landlock sets `no_new_privs`.
            Err(_) if !sets.permitted.contains(capability) => {}
            Err(error) => return Err(error.into()),
        }
        for set in [
            &mut sets.effective,
            &mut sets.permitted,
            &mut sets.inheritable,
        ] {
            set.remove(capability);
        }
    }
    Ok(set_capabilities(None, sets)?)
}

/// The oldest Landlock version that suffices: older versions let a process truncate files that it
/// may not write.
const FILES: ABI = ABI::V3;

fn lock(confinement: &Confinement) -> Result<(), Box<dyn Error>> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(FILES))?;
    if confinement.network != Network::On {
        rules = rules.handle_access(AccessNet::from_all(ABI::V4))?;
    }
    let rules = rules
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::IoctlDev)?
        // Prevents the command from signalling its supervisor or our process.
        .scope(make_bitflags!(Scope::{AbstractUnixSocket | Signal}))?;
    let mut rules = rules.create()?;
    // All access rights except to create device nodes, because with a device node root could
    // access every disk.
    let write = AccessFs::from_all(FILES) & !make_bitflags!(AccessFs::{MakeChar | MakeBlock});
    for path in &confinement.writable {
        rules = rules.add_rule(PathBeneath::new(PathFd::new(path)?, write))?;
    }
    let read = AccessFs::from_read(FILES);
    let device = make_bitflags!(AccessFs::{ReadFile | WriteFile | IoctlDev});
    // Missing paths are skipped.
    rules
        .add_rules(path_beneath_rules(&confinement.readable, read))?
        .add_rules(path_beneath_rules(DEVICES.map(PathBuf::from), device))?
        .restrict_self()?;
    Ok(())
}

/// Enters an empty network namespace. Without the privilege to do so, the process first enters a
/// user namespace, in which it keeps its user id.
fn leave_network() -> Result<(), std::io::Error> {
    if unshare(UnshareFlags::NEWNET).is_ok() {
        return Ok(());
    }
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNET)?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

#[expect(
    deprecated,
    reason = "what took its place is `unsafe` for `UnshareFlags::FILES` alone, which is not used"
)]
fn unshare(flags: UnshareFlags) -> std::io::Result<()> {
    Ok(rustix::thread::unshare(flags)?)
}
