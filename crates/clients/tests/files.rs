//! Tests of file system errors: permissions, links and missing files.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use spillgate_clients::{Client, Gateway, Plan, Records, Scope, ServerTable, unwrap, wrap};

const TEXT: &str = "{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}";

fn places(file: &Path) -> Vec<ServerTable> {
    vec![ServerTable {
        scope: Scope::User,
        file: file.to_owned(),
        table: vec!["mcpServers".into()],
    }]
}

fn plan(file: &Path, records: &Records) -> Option<Plan> {
    let gateway = Gateway {
        program: "spillgate".into(),
        arguments: vec!["--store".into(), "/s".into()],
        lookups: false,
    };
    wrap(Client::Cursor, file, &places(file), &[], &gateway, records).unwrap()
}

fn home() -> (tempfile::TempDir, PathBuf, Records) {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("mcp.json");
    fs::write(&file, TEXT).unwrap();
    let records = Records::new(home.path().join("state/clients"));
    (home, file, records)
}

#[test]
fn a_link_stays_a_link() {
    let (home, file, records) = home();
    let link = home.path().join("link.json");
    symlink(&file, &link).unwrap();
    plan(&link, &records).unwrap().carry_out(&records).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .contains("\"--store\", \"/s\"")
    );
    let back = unwrap(Client::Cursor, &link, &places(&link), true, &[], &records);
    back.unwrap().unwrap().carry_out(&records).unwrap();
    assert_eq!(fs::read_to_string(&link).unwrap(), TEXT);
}

#[test]
fn modes_stay_and_backups_are_private() {
    for mode in [0o600, 0o644, 0o640] {
        let (home, file, records) = home();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let plan = plan(&file, &records).unwrap();
        plan.carry_out(&records).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, mode);
        let backup = plan.backup.unwrap();
        assert_eq!(fs::read_to_string(&backup).unwrap(), TEXT);
        assert_eq!(fs::metadata(&backup).unwrap().mode() & 0o777, 0o600);
        let state = home.path().join("state/clients");
        assert_eq!(fs::metadata(&state).unwrap().mode() & 0o777, 0o700);
        for entry in fs::read_dir(&state).unwrap() {
            assert_eq!(entry.unwrap().metadata().unwrap().mode() & 0o777, 0o600);
        }
    }
}

#[test]
fn a_missing_file_is_no_error_and_a_directory_is_one() {
    let (home, _, records) = home();
    assert!(plan(&home.path().join("none.json"), &records).is_none());
    let directory = home.path().join("d.json");
    fs::create_dir(&directory).unwrap();
    let gateway = Gateway {
        program: "spillgate".into(),
        arguments: vec![],
        lookups: false,
    };
    let error = wrap(
        Client::Cursor,
        &directory,
        &places(&directory),
        &[],
        &gateway,
        &records,
    );
    assert_eq!(error.unwrap_err().kind(), "io");
}

#[test]
fn a_directory_that_cannot_be_written_changes_nothing() {
    // The directory of the records lies below a file, so that not even root can create it.
    let (home, file, _) = home();
    let records = Records::new(file.join("state"));
    let plan = plan(&file, &Records::new(home.path().join("other"))).unwrap();
    assert_eq!(plan.carry_out(&records).unwrap_err().kind(), "io");
    assert_eq!(fs::read_to_string(&file).unwrap(), TEXT);
}

#[test]
fn a_protected_file_is_left_to_its_owner() {
    let (_home, file, records) = home();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    let plan = plan(&file, &records).unwrap();
    // Root can write the file nevertheless.
    let may = fs::File::options().write(true).open(&file).is_ok();
    assert_eq!(plan.carry_out(&records).is_ok(), may);
    assert_eq!(fs::read_to_string(&file).unwrap() != TEXT, may);
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o444);
}
