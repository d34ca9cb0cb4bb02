//! How does a search end that takes too long?

use std::fs;
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::{Map, Value, json};

use super::*;
use crate::workspace::Workspace;

fn shared() -> (tempfile::TempDir, Shared) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "needle\n").unwrap();
    let shared = Shared::new(Workspace::open(dir.path()).unwrap(), Rules::default());
    (dir, shared)
}

fn arguments(arguments: Value) -> Arguments {
    let members: Map<String, Value> = serde_json::from_value(arguments).unwrap();
    Arguments::from(members)
}

#[test]
fn time_ends_it() {
    let (_dir, shared) = shared();
    let asked = [
        json!({"pattern": "needle"}),
        json!({"pattern": "needle", "max_results": 1}),
        json!({"pattern": "needle", "path": "file"}),
    ];
    let ended = asked.map(|asked| {
        let stop = Stop::default();
        let ended = call_within(&shared, &arguments(asked), &stop, Duration::ZERO);
        ended.unwrap_err().to_string()
    });
    assert_eq!(ended[0], ended[1]);
    assert_eq!(ended[0], ended[2]);
    assert_snapshot!(ended[0], @"Error: Search took longer than 0 s: 0 files searched, 0 matching lines in 0 files so far. Please narrow it with path or glob parameters.");
}

#[test]
fn who_is_gone_gets_nothing() {
    let (_dir, shared) = shared();
    let stop = Stop::default();
    stop.set();
    let ended = call(&shared, &arguments(json!({"pattern": "needle"})), &stop);
    assert_snapshot!(ended.unwrap_err(), @"Error: Search was stopped, nobody waited for it.");
}
