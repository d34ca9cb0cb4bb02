//! How many requests each operation sends. `cargo xtask simulate --plan` calculates with these counts
//! (xtask/planning.json).

use std::collections::BTreeMap;

use spillgate_artifact::{Clock, SystemClock};
use spillgate_store::{ArtifactStore, Gone};

use super::server::Server;
use super::{Machine, OPTIONS, large};
use crate::Patience;

/// Returns the requests that an operation sent, by method.
fn sent(server: &Server, operation: impl FnOnce()) -> String {
    server.seen();
    operation();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for request in server.seen() {
        let method = request.split(' ').next().unwrap_or_default();
        *counts.entry(method.to_owned()).or_default() += 1;
    }
    let counts = counts
        .iter()
        .map(|(method, count)| format!("{count} {method}"));
    counts.collect::<Vec<_>>().join(", ")
}

#[test]
fn each_operation_sends_few_requests() {
    let server = Server::start();
    let [maker, other] = [(); 2].map(|()| {
        let patience = Patience::default();
        Machine::patient("s3://bucket/a", &server.environment(), OPTIONS, patience)
    });
    let mut table = String::new();
    let mut row = |what: &str, operation: &mut dyn FnMut()| {
        let requests = sent(&server, operation);
        table.push_str(&format!("{what}: {requests}\n"));
    };
    let mut handle = None;
    row("store 10 bytes", &mut || {
        handle = maker.put(b"some bytes").ok();
    });
    let small = handle.unwrap();
    row("look up on the machine that stored it", &mut || {
        drop(maker.store.open(small).unwrap());
    });
    row("look up on another machine", &mut || {
        drop(other.store.open(small).unwrap());
    });
    row("look up there again", &mut || {
        drop(other.store.open(small).unwrap());
    });
    let body = large(20 << 20);
    row("store 20 MiB", &mut || handle = maker.put(&body).ok());
    let big = handle.unwrap();
    row("read a page of it on another machine", &mut || {
        let stored = other.store.open(big).unwrap();
        let page = 9 << 20;
        stored.view.bytes(page, page + 1000).unwrap();
    });
    let body = large(64 << 20);
    row("store 64 MiB", &mut || handle = maker.put(&body).ok());
    let huge = handle.unwrap();
    // After 23 MiB, the rest is copied to the cache.
    row("read all of it on another machine", &mut || {
        let stored = other.store.open(huge).unwrap();
        let (mut at, mut hash) = (0, Vec::new());
        while at < stored.raw.len() {
            let part = stored.raw.bytes(at, at + (1 << 20)).unwrap();
            at += part.len() as u64;
            hash.extend(part);
        }
        assert!(hash == body, "other bytes were read");
    });
    maker
        .store
        .remove(huge, Gone::Removed, SystemClock.now())
        .unwrap();
    row("list 2 outputs", &mut || drop(maker.store.list().unwrap()));
    row("sweep 2 outputs", &mut || {
        other.store.sweep_if_due(None, SystemClock.now()).unwrap();
    });
    row("remove", &mut || {
        maker
            .store
            .remove(small, Gone::Removed, SystemClock.now())
            .unwrap();
    });
    insta::assert_snapshot!(table, @r"
    store 10 bytes: 3 PUT
    look up on the machine that stored it: 1 GET
    look up on another machine: 3 GET
    look up there again: 1 GET
    store 20 MiB: 2 POST, 5 PUT
    read a page of it on another machine: 3 GET
    store 64 MiB: 2 POST, 10 PUT
    read all of it on another machine: 16 GET
    list 2 outputs: 3 GET
    sweep 2 outputs: 1 GET, 2 HEAD, 1 PUT
    remove: 1 GET, 3 POST, 1 PUT
    ");
}
