//! Tests for the order of the newest files and for searches that take too long.

use insta::assert_snapshot;
use serde_json::Map;

use super::*;
use crate::workspace::Workspace;

#[test]
fn the_newest_are_kept_whoever_found_them() {
    let files = [(3, "c"), (9, "b"), (9, "a"), (1, "x"), (5, "y"), (5, "z")];
    for most in 0..8 {
        for split in 0..files.len() {
            let (mut one, mut other) = (NewestFiles::new(most), NewestFiles::new(most));
            for (at, (time, name)) in files.into_iter().enumerate() {
                let newest = if at < split { &mut one } else { &mut other };
                newest.push((time, 0), name.as_bytes());
            }
            one.join(other);
            assert_eq!(one.total, 6);
            let names: Vec<u8> = one.sorted(0..6).flatten().collect();
            assert_eq!(names, b"abyzcx"[..names.len()]);
            assert_eq!(names.len() as u64, most.min(6));
        }
    }
}

#[test]
fn time_ends_it() {
    let dir = tempfile::tempdir().unwrap();
    let shared = Shared::new(Workspace::open(dir.path()).unwrap(), Rules::default());
    let mut members = Map::new();
    members.insert("pattern".to_owned(), "*".into());
    let (arguments, stop) = (Arguments::from(members), Interrupt::default());
    let ended = call_within(&shared, &arguments, &stop, Duration::ZERO);
    assert_snapshot!(ended.unwrap_err(), @"Error: Search took longer than 0 s: 0 of 0 files match so far. Please narrow it with path parameter.");
    stop.cancel();
    let ended = call(&shared, &arguments, &stop);
    assert_snapshot!(ended.unwrap_err(), @"Error: Search was stopped, nobody waited for it.");
}
