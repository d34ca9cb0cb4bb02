//! Lists and signals processes, through `/proc`.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

/// A process as `/proc` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    /// Whether the process has ended and its parent has not reaped it.
    pub(crate) is_zombie: bool,
    /// Start time, in clock ticks since boot. Together with the id it identifies the process.
    started: u64,
}

impl Process {
    /// Reads the state of a process; `None` if there is none with this id.
    pub(crate) fn read(pid: i32) -> Option<Self> {
        Self::parse(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Parses `/proc/PID/stat` (`proc_pid_stat(5)`). The process name in it may contain any
    /// character, including `)` and newlines; the other fields follow the last `)`.
    fn parse(pid: i32, stat: &[u8]) -> Option<Self> {
        let name_end = stat.iter().rposition(|&byte| byte == b')')?;
        let rest = std::str::from_utf8(&stat[name_end + 1..]).ok()?;
        // The first of these fields is field 3 of the file, the state.
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        Some(Self {
            pid,
            is_zombie: matches!(*fields.first()?, "Z" | "X"),
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
        })
    }

    /// Returns the present state of this process; `None` if its id is free or belongs to another.
    pub(crate) fn now(&self) -> Option<Self> {
        Self::read(self.pid).filter(|now| now.started == self.started)
    }

    /// Whether it has not ended.
    pub(crate) fn is_alive(&self) -> bool {
        self.now().is_some_and(|now| !now.is_zombie)
    }

    /// Sends a signal to this process. Sends nothing if its id now belongs to another process.
    pub(crate) fn signal(&self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else {
            return;
        };
        let is_it = || self.now().is_some();
        // An error means that the process has ended or that we may not signal it. The caller checks
        // which processes still run.
        let _ = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(opened) if is_it() => pidfd_send_signal(opened, signal),
            Err(rustix::io::Errno::NOSYS) if is_it() => kill_process(pid, signal),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
    }
}

/// Lists all processes that we can see.
fn all() -> io::Result<Vec<Process>> {
    let mut all = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let pid = name.to_str().and_then(|name| name.parse().ok());
        all.extend(pid.and_then(Process::read));
    }
    Ok(all)
}

/// The children of `ancestor`, their children, and so on.
pub(crate) fn descendants(ancestor: Pid) -> io::Result<Vec<Process>> {
    Ok(below(ancestor.as_raw_nonzero().get(), all()?))
}

fn below(ancestor: i32, all: Vec<Process>) -> Vec<Process> {
    let mut children: BTreeMap<i32, Vec<Process>> = BTreeMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut parents = vec![ancestor];
    while let Some(parent) = parents.pop() {
        // The entry is removed from the map: parent ids are read while processes change, and an
        // inconsistent set of ids must not cause an endless loop.
        let more = children.remove(&parent).unwrap_or_default();
        parents.extend(more.iter().map(|process| process.pid));
        found.extend(more);
    }
    found
}

/// The processes of a group that have not ended.
pub(crate) fn living_in(group: Pid) -> io::Result<Vec<Process>> {
    let group = group.as_raw_nonzero().get();
    let is_in = |process: &Process| process.group == group && !process.is_zombie;
    Ok(all()?.into_iter().filter(is_in).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_lie() {
        let rest = "S 7 5 5 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 0 0";
        for name in ["sh", "a b", ") Z 1 1", "(\n)"] {
            let stat = format!("12 ({name}) {rest}");
            let want = Process {
                pid: 12,
                parent: 7,
                group: 5,
                is_zombie: false,
                started: 4711,
            };
            assert_eq!(Process::parse(12, stat.as_bytes()), Some(want), "{name:?}");
        }
        for broken in ["", "12 (sh", "12 (sh) S 7", "12 (sh) S x 5"] {
            assert_eq!(Process::parse(12, broken.as_bytes()), None, "{broken:?}");
        }
    }

    #[test]
    fn descendants_are_found_through_all_generations() {
        let process = |pid, parent| Process {
            pid,
            parent,
            group: 1,
            is_zombie: false,
            started: 0,
        };
        let all = vec![
            process(2, 1),
            process(3, 2),
            process(4, 3),
            process(5, 1),
            process(6, 9),
            process(9, 6),
        ];
        let pids = |ancestor| {
            let mut pids: Vec<i32> = below(ancestor, all.clone()).iter().map(|p| p.pid).collect();
            pids.sort_unstable();
            pids
        };
        assert_eq!(pids(1), [2, 3, 4, 5]);
        assert_eq!(pids(4), [0; 0]);
        assert_eq!(pids(6), [6, 9]);
    }
}
