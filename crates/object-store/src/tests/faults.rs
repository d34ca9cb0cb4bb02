//! What happens if the server, the network or the credentials fail: nothing gets a handle that is not
//! stored, nothing is half there, and the error says whose fault it is.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use spillgate_store::{ArtifactStore, Remote, StoreError};

use super::server::{Fault, Server};

use super::{Machine, OPTIONS, large};
use crate::Patience;

fn machine(server: &Server) -> Machine {
    Machine::at("s3://bucket/a", &server.environment(), OPTIONS)
}

/// A client that does not give up while a large output is sent on a busy machine.
fn patient(server: &Server) -> Machine {
    let patience = Patience::default();
    Machine::patient("s3://bucket/a", &server.environment(), OPTIONS, patience)
}

/// Returns the kind and the text of an error, which must not contain a secret.
fn told(error: &StoreError) -> (Remote, String) {
    let text = error.to_string();
    for secret in ["SECRET", "AKIDEXAMPLE", "wJalr", "127.0.0.1"] {
        assert!(!text.contains(secret), "{text}");
    }
    match error {
        StoreError::Remote { why, what, .. } => (*why, what.clone()),
        other => panic!("{other}"),
    }
}

/// Checks that the bucket has no artifact and nothing of one besides a mark that it will never be.
fn nothing_is_there(server: &Server) {
    for (key, bytes) in server.objects() {
        let text = String::from_utf8_lossy(&bytes);
        assert!(
            key.ends_with("manifest.json") && text.contains("barred"),
            "{key}: {text}"
        );
    }
}

#[test]
fn what_cannot_be_stored_gets_no_handle() {
    let mut table = String::new();
    for (name, fault) in [
        ("hangs", Fault::Hang),
        ("cut before", Fault::CutBefore),
        ("cut after", Fault::CutAfter),
        ("500", Fault::Status(500, "InternalError")),
        ("503", Fault::Status(503, "SlowDown")),
        ("403", Fault::Status(403, "AccessDenied")),
        ("expired", Fault::Status(400, "ExpiredToken")),
        ("clock", Fault::Status(403, "RequestTimeTooSkewed")),
        ("signature", Fault::Status(403, "SignatureDoesNotMatch")),
        ("no bucket", Fault::Status(404, "NoSuchBucket")),
        ("odd", Fault::Status(418, "Teapot")),
    ] {
        // The index, the body, and the manifest, which is the third object that is stored.
        for failing in ["index", "body", "manifest.json"] {
            let server = Server::start();
            let machine = machine(&server);
            server.fails(move |request, _| {
                let is_it = request.method == "PUT" && request.key.ends_with(failing);
                is_it.then_some(fault)
            });
            match machine.put(b"some bytes") {
                Err(error) => {
                    let (why, what) = told(&error);
                    if failing == "body" {
                        table.push_str(&format!("{name}: {why:?}: {what}\n"));
                    }
                    server.works();
                    let left = server.objects();
                    let heads = left.iter().filter(|(key, bytes)| {
                        let text = String::from_utf8_lossy(bytes);
                        key.ends_with("manifest.json") && !text.contains("barred")
                    });
                    assert_eq!(heads.count(), 0, "{name} {failing}");
                    assert!(machine.store.list().unwrap().is_empty(), "{name} {failing}");
                }
                // The request was carried out, and reading it back shows that.
                Ok(handle) => {
                    assert_eq!(fault, Fault::CutAfter, "{failing}");
                    server.works();
                    let stored = machine.store.open(handle).unwrap();
                    assert_eq!(stored.raw.bytes(0, 99).unwrap(), b"some bytes");
                }
            }
            let cached = machine.store.cache().list().unwrap().len();
            let stored = machine.store.list().unwrap().len();
            assert_eq!(cached, stored, "{name} {failing}");
            // Afterwards all is well.
            let handle = machine.put(b"more bytes").unwrap();
            assert!(machine.store.open(handle).is_ok());
        }
    }
    insta::assert_snapshot!(table, @"
    hangs: Unreachable: storing an output failed: it did not answer in time
    cut before: Unreachable: storing an output failed: the connection broke
    cut after: Unreachable: storing an output failed: the connection broke
    500: Busy: storing an output failed: it failed by itself (status 500: InternalError, a message)
    503: Busy: storing an output failed: it is overloaded (status 503: SlowDown, a message)
    403: Denied: storing an output failed: the credentials are not accepted, or do not allow it (status 403: AccessDenied, a message)
    expired: Denied: storing an output failed: the credentials have expired (status 400: ExpiredToken, a message)
    clock: Denied: storing an output failed: the clock of this machine is wrong (status 403: RequestTimeTooSkewed, a message)
    signature: Denied: storing an output failed: the credentials are not accepted, or do not allow it (status 403: SignatureDoesNotMatch)
    no bucket: Refused: storing an output failed: it does not exist (status 404: NoSuchBucket, a message)
    odd: Refused: storing an output failed: it refused the request (status 418: Teapot, a message)
    ");
}

#[test]
fn a_failure_that_passes_is_not_noticed() {
    for (name, fault) in [
        ("slow", Fault::Slow(Duration::from_millis(100))),
        ("cut before", Fault::CutBefore),
        ("cut after", Fault::CutAfter),
        ("503", Fault::Status(503, "SlowDown")),
        ("500", Fault::Status(500, "InternalError")),
    ] {
        for at in 0..6 {
            let server = Server::start();
            let machine = machine(&server);
            server.fails(move |_, number| (number == at).then_some(fault));
            let handle = machine.put(b"some bytes");
            let handle = handle.unwrap_or_else(|error| panic!("{name} at {at}: {error}"));
            let stored = machine.store.open(handle).unwrap();
            assert_eq!(stored.raw.bytes(0, 99).unwrap(), b"some bytes");
        }
    }
}

/// The client does not send a conditional request again after no answer came in time.
#[test]
fn what_is_created_without_an_answer_is_created_again() {
    let patience = Patience {
        connect: Duration::from_secs(5),
        request: Duration::from_millis(400),
        retry: Duration::from_secs(10),
    };
    for (name, fault) in [
        ("never arrives", Fault::Hang),
        ("arrives late", Fault::Slow(Duration::from_millis(700))),
    ] {
        for object in ["index", "manifest.json"] {
            let server = Server::start();
            let machine =
                Machine::patient("s3://bucket/a", &server.environment(), OPTIONS, patience);
            let is_first = AtomicBool::new(true);
            server.fails(move |request, _| {
                let is_it = request.method == "PUT" && request.key.ends_with(object);
                (is_it && is_first.swap(false, Ordering::Relaxed)).then_some(fault)
            });
            let handle = machine.put(b"some bytes");
            let handle = handle.unwrap_or_else(|error| panic!("{name} {object}: {error}"));
            std::thread::sleep(Duration::from_millis(400));
            let stored = machine.store.open(handle).unwrap();
            assert_eq!(stored.raw.bytes(0, 99).unwrap(), b"some bytes");
        }
    }
}

#[test]
fn an_upload_whose_end_has_no_answer_is_stored() {
    let raw = large(20 << 20);
    for fault in [Fault::CutAfter, Fault::CutBefore] {
        let server = Server::start();
        let machine = patient(&server);
        let is_first = AtomicBool::new(true);
        server.fails(move |request, _| {
            let is_it = request.method == "POST" && request.query.contains("uploadId");
            (is_it && is_first.swap(false, Ordering::Relaxed)).then_some(fault)
        });
        let handle = machine.put(&raw).unwrap();
        let stored = machine.store.open(handle).unwrap();
        assert!(stored.raw.bytes(0, u64::MAX).unwrap() == raw, "{fault:?}");
    }
}

#[test]
fn nobody_waits_for_the_removal_of_what_an_unreachable_bucket_did_not_take() {
    let server = Server::start();
    let machine = machine(&server);
    server.fails(|request, _| request.key.ends_with("body").then_some(Fault::Hang));
    let error = machine.put(b"some bytes").unwrap_err();
    assert_eq!(told(&error).0, Remote::Unreachable);
    server.works();
    // It is removed nevertheless.
    let end = std::time::Instant::now() + Duration::from_secs(10);
    while server.objects().keys().any(|key| key.ends_with("index")) {
        assert!(std::time::Instant::now() < end, "the index is left over");
        std::thread::sleep(Duration::from_millis(20));
    }
    nothing_is_there(&server);
}

#[test]
fn a_large_output_that_fails_leaves_nothing() {
    let raw = large(20 << 20);
    // The index, the beginning, three parts, the end, the manifest.
    for at in 0..7 {
        let server = Server::start();
        let machine = patient(&server);
        server.fails(move |_, number| (number == at).then_some(Fault::Status(403, "AccessDenied")));
        assert!(machine.put(&raw).is_err(), "{at}");
        server.works();
        nothing_is_there(&server);
        assert!(machine.store.list().unwrap().is_empty());
    }
}

#[test]
fn what_cannot_be_read_is_an_error_and_nothing_else() {
    let mut table = String::new();
    for (name, fault) in [
        ("hangs", Fault::Hang),
        ("cut", Fault::CutBefore),
        ("503", Fault::Status(503, "SlowDown")),
        ("expired", Fault::Status(400, "ExpiredToken")),
        ("whole for part", Fault::WholeForPart),
        ("other part", Fault::OtherPart),
        ("short", Fault::Short),
    ] {
        let server = Server::start();
        let (writer, reader) = (patient(&server), machine(&server));
        let raw = large(9 << 20);
        let handle = writer.put(&raw).unwrap();
        let stored = reader.store.open(handle).unwrap();
        server.fails(move |request, _| request.key.ends_with("body").then_some(fault));
        let error = stored.raw.bytes(4 << 20, 5 << 20).unwrap_err();
        let error = error
            .get_ref()
            .unwrap()
            .downcast_ref::<StoreError>()
            .unwrap();
        let (why, what) = told(error);
        table.push_str(&format!("{name}: {why:?}: {what}\n"));
        server.works();
        assert!(stored.raw.bytes(4 << 20, 5 << 20).unwrap() == raw[4 << 20..5 << 20]);
    }
    insta::assert_snapshot!(table, @"
    hangs: Unreachable: reading an output failed: it did not answer in time
    cut: Unreachable: reading an output failed: the connection broke
    503: Busy: reading an output failed: it is overloaded (status 503: SlowDown, a message)
    expired: Denied: reading an output failed: the credentials have expired (status 400: ExpiredToken, a message)
    whole for part: Refused: reading an output failed: its answer makes no sense
    other part: Refused: reading an output failed: its answer makes no sense
    short: Unreachable: reading an output failed: the connection broke
    ");
}
