//! What does a model see of a chunk?

use std::fmt::Write;

use insta::assert_snapshot;

use super::*;

/// All chunks, each under where it lies.
fn shown(artifact: &Artifact, tokens: u64) -> String {
    let plan = checked(artifact, &want(tokens));
    let mut text = String::new();
    for chunk in &plan.chunks {
        let (first, last) = (chunk.lines.first, chunk.lines.last);
        write!(text, "== {first}-{last}, own from {}", chunk.own_first).unwrap();
        if let (Some(path), Some(begins)) = (&chunk.path, &chunk.begins) {
            write!(text, ", {path} from {begins}").unwrap();
        }
        text.push('\n');
        text.push_str(&plan.render(artifact, chunk).unwrap());
    }
    text
}

#[test]
fn a_log() {
    let mut log = spillgate_testkit::log(6);
    log.push_str("2026-11-21T10:00:06Z ERROR no room\n\tat disk.write(disk.rs:7)\n\tat main\n");
    log.push_str(&format!("{}\n", "long ".repeat(210)));
    let artifact = plain(&log, ContentKind::Log);
    assert_snapshot!(shown(&artifact, 150), @"");
}

#[test]
fn nested_json() {
    let note = "word ".repeat(60);
    let orders: Vec<Value> = (0..5)
        .map(|i| json!({"id": i, "lines": [{"sku": format!("s{i}"), "note": note}, {"sku": "x", "n": [1, 2, 3]}]}))
        .collect();
    let value = json!({"a": {"total": 5, "odd key": orders}, "tail": "end"});
    let artifact = laid_out(&value.to_string());
    assert_snapshot!(shown(&artifact, 230), @"");
}

#[test]
fn a_table() {
    let mut table = "id,text\n".to_owned();
    for i in 0..6 {
        writeln!(table, "{i},\"one\ntwo {i}\"").unwrap();
    }
    let artifact = plain(&table, ContentKind::Csv);
    assert_snapshot!(shown(&artifact, 48), @"");
}

#[test]
fn markdown() {
    let text = "# One\n\nSome words of a paragraph\nwith a second line.\n\n## Two\n\n```sh\n# run it\nmake all\n```\n\nThe end of it, in a few more words.\n";
    let artifact = plain(text, ContentKind::Markdown);
    assert_snapshot!(shown(&artifact, 42), @"");
}
