//! Tests of what the sketch of the extraction design requires (docs/spec/sources.md). Its report
//! states some requirements more exactly; these are tested in `seed_001.rs`.

use std::os::unix::fs::PermissionsExt;

use spillgate_offload::{Outcome, Profile, Rule};
use spillgate_store::Lifetime;

use super::{file_store, in_store, offer};

fn handle_rule() -> Rule {
    Rule {
        profile: Some(Profile::Handle),
        ..Rule::default()
    }
}

/// "Proposed Design 1: Store each large tool output as a file with a random UUID filename." The
/// file modes are Spillgate's own.
#[test]
fn each_large_output_is_a_file_of_its_own() {
    let (_base, store) = file_store(Lifetime::Durable);
    let offloader = in_store(store.clone(), handle_rule());
    let large = "line of text\n".repeat(2000);
    for _ in 0..2 {
        let Outcome::Offloaded(stored) = offer(&offloader, "tool", &large) else {
            panic!("26 KB are over 12,288 bytes");
        };
        let path = store.base().join(stored.receipt.handle().to_string());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), large);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    assert_eq!(offloader.store().list().unwrap().len(), 2);
}

/// "Proposed Design 1: Directory removed on session end (success, failure,
/// abort)."
#[test]
fn the_directory_goes_with_the_session() {
    let (base, store) = file_store(Lifetime::Session);
    let offloader = in_store(store, handle_rule());
    offer(&offloader, "tool", &"x".repeat(20_000));
    assert_eq!(std::fs::read_dir(base.path()).unwrap().count(), 1);
    drop(offloader);
    assert_eq!(std::fs::read_dir(base.path()).unwrap().count(), 0);
}

/// "Proposed Design 1: Store metadata (bytes, lines, tokens) for routing
/// decisions."
#[test]
fn figures_are_stored_with_it() {
    let (_base, store) = file_store(Lifetime::Durable);
    let offloader = in_store(store, handle_rule());
    offer(&offloader, "tool", &"word\n".repeat(4000));
    let listed = offloader.store().list().unwrap();
    let stats = &listed[0].manifest.facts.stats;
    assert_eq!((stats.bytes, stats.lines), (20_000, 4001));
    assert!(stats.tokens.exact && stats.tokens.count > 4000);
}

/// "Problem Statement: Large tool outputs are truncated or dropped, losing
/// critical information."
#[test]
fn nothing_is_lost() {
    let (_base, store) = file_store(Lifetime::Durable);
    let offloader = in_store(store, handle_rule());
    let large: String = (0..5000).map(|i| format!("{i}\u{1b}[31m é \r\n")).collect();
    let Outcome::Offloaded(stored) = offer(&offloader, "tool", &large) else {
        panic!("it is large");
    };
    let artifact = offloader.artifact(stored.receipt.handle()).unwrap();
    let raw = artifact.raw().bytes(0, u64::MAX).unwrap();
    assert_eq!(raw, large.as_bytes());
}
