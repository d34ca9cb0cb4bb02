//! Makes glibc's allocator give free memory back while a gateway runs, and while a command uses a bucket (ADR 23).

use std::io;
use std::thread::Builder;
use std::time::Duration;

/// How often free memory is returned to the system. Returning it takes some milliseconds, and
/// memory that is needed again must be requested again.
const GIVE_BACK_EVERY: Duration = Duration::from_secs(30);

/// Configures the allocator and starts a thread that returns free memory until the process ends.
/// Call it before other threads start, because each of them would otherwise get an arena of its
/// own.
pub(crate) fn keep_little() -> io::Result<()> {
    if !allocator::set_up() {
        return Ok(()); // another C library, which has no such settings
    }
    let work = || loop {
        std::thread::sleep(GIVE_BACK_EVERY);
        allocator::give_back();
    };
    Builder::new().name("give-back".to_owned()).spawn(work)?;
    Ok(())
}

/// Configures the allocator for a process that sends and fetches parts of large outputs. It would
/// otherwise keep the memory of parts that are done.
#[cfg(feature = "objects")]
pub(crate) fn map_parts() {
    allocator::set_up();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "functions of the C library that nobody wraps")]
mod allocator {
    use libc::{M_ARENA_MAX, M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, c_int};

    /// Number of arenas. glibc creates up to eight for each processor, and free memory of one arena
    /// cannot be used by another.
    const ARENAS: c_int = 2;

    /// Size in bytes from which a block gets its own memory mapping, which is returned to the
    /// system when the block is freed. glibc's default threshold rises to the size of the largest
    /// block freed so far, up to 32 MiB. After the first result of 16 MB, glibc would therefore
    /// allocate blocks of this size among the small ones. A smaller result is in memory as a whole
    /// (`DEFAULT_SPOOL_BYTES`); with a mapping of its own, each of its pages would be requested
    /// from the system again for each result.
    const MAPPED: c_int = 4 << 20;

    /// Free bytes at the end of an arena from which on they are returned at once: less than a
    /// result and its text need.
    const TRIMMED: c_int = 8 << 20;

    /// Configures the allocator; returns whether it succeeded.
    pub(super) fn set_up() -> bool {
        let settings = [
            (M_ARENA_MAX, ARENAS),
            (M_MMAP_THRESHOLD, MAPPED),
            (M_TRIM_THRESHOLD, TRIMMED),
        ];
        // SAFETY: mallopt takes two numbers and does its own locking.
        let is_set = |(name, value)| unsafe { libc::mallopt(name, value) == 1 };
        settings.into_iter().all(is_set)
    }

    /// Returns free whole pages of all arenas to the system.
    pub(super) fn give_back() {
        // SAFETY: malloc_trim takes a number and locks the arenas itself; it does not move blocks
        // in use.
        let _ = unsafe { libc::malloc_trim(0) };
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod allocator {
    pub(super) fn set_up() -> bool {
        false
    }

    pub(super) fn give_back() {}
}

#[cfg(test)]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::allocator;

    /// Returns the resident memory of this process in MB.
    fn resident() -> usize {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib: usize = line
            .unwrap()
            .trim()
            .trim_end_matches(" kB")
            .parse()
            .unwrap();
        kib / 1000
    }

    #[test]
    fn what_is_free_between_what_is_used_is_given_back() {
        assert!(allocator::set_up());
        let blocks: Vec<Vec<u8>> = (0..20_000).map(|_| vec![1; 4096]).collect();
        let full = resident();
        let kept: Vec<Vec<u8>> = blocks.into_iter().step_by(100).collect();
        allocator::give_back();
        let left = resident();
        assert!(full >= 80 && left + 50 <= full, "{left} MB of {full}");
        assert_eq!(kept.len(), 200);
    }
}
