//! Tests how chunks are rendered for a model.

use std::fmt::Write;

use insta::assert_snapshot;

use super::*;

/// Renders all chunks, each below its position.
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
    assert_snapshot!(shown(&artifact, 150), @"
    == 1-4, own from 1
    1|2026-11-21T10:00:00Z INFO worker-0 processed batch id=0 ok
    2|2026-11-21T10:00:01Z INFO worker-1 processed batch id=7919 ok
    3|2026-11-21T10:00:02Z INFO worker-2 processed batch id=15838 ok
    4|2026-11-21T10:00:03Z INFO worker-3 processed batch id=23757 ok
    == 5-9, own from 5
    5|2026-11-21T10:00:04Z INFO worker-4 processed batch id=31676 ok
    6|2026-11-21T10:00:05Z INFO worker-5 processed batch id=39595 ok
    7|2026-11-21T10:00:06Z ERROR no room
    8|	at disk.write(disk.rs:7)
    9|	at main
    == 9-10, own from 10
    9|	at main
    10|long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long 
    == 11-11, own from 11
    11+long long long long long long long long long long
    ");
}

#[test]
fn nested_json() {
    let note = "word ".repeat(60);
    let orders: Vec<Value> = (0..5)
        .map(|i| json!({"id": i, "lines": [{"sku": format!("s{i}"), "note": note}, {"sku": "x", "n": [1, 2, 3]}]}))
        .collect();
    let value = json!({"a": {"total": 5, "odd key": orders}, "tail": "end"});
    let artifact = laid_out(&value.to_string());
    assert_snapshot!(shown(&artifact, 230), @r#"
    == 1-37, own from 1, .a."odd key"[0:2] from .
    1|{
    2|"a":{
    3|"odd key":[
    4-20|{"id":0,"lines":[{"note":"word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word ","sku":"s0"},{"n":[1,2,3],"sku":"x"}]},
    21-37|{"id":1,"lines":[{"note":"word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word ","sku":"s1"},{"n":[1,2,3],"sku":"x"}]},
    == 38-71, own from 38, .a."odd key"[2:4] from .a."odd key"[2]
    38-54|{"id":2,"lines":[{"note":"word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word ","sku":"s2"},{"n":[1,2,3],"sku":"x"}]},
    55-71|{"id":3,"lines":[{"note":"word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word ","sku":"s3"},{"n":[1,2,3],"sku":"x"}]},
    == 72-93, own from 72, . from .a."odd key"[4]
    72-88|{"id":4,"lines":[{"note":"word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word ","sku":"s4"},{"n":[1,2,3],"sku":"x"}]}
    89|],
    90|"total":5
    91|},
    92|"tail":"end"
    93|}
    "#);
}

#[test]
fn a_table() {
    let mut table = "id,text\n".to_owned();
    for i in 0..6 {
        writeln!(table, "{i},\"one\ntwo {i}\"").unwrap();
    }
    let artifact = plain(&table, ContentKind::Csv);
    assert_snapshot!(shown(&artifact, 48), @r#"
    == 1-7, own from 1
    1|id,text
    2|0,"one
    3|two 0"
    4|1,"one
    5|two 1"
    6|2,"one
    7|two 2"
    == 8-13, own from 8
    1|id,text
    8|3,"one
    9|two 3"
    10|4,"one
    11|two 4"
    12|5,"one
    13|two 5"
    "#);
}

#[test]
fn markdown() {
    let text = "# One\n\nSome words of a paragraph\nwith a second line.\n\n## Two\n\n```sh\n# run it\nmake all\n```\n\nThe end of it, in a few more words.\n";
    let artifact = plain(text, ContentKind::Markdown);
    assert_snapshot!(shown(&artifact, 34), @"
    == 1-5, own from 1
    1|# One
    2|
    3|Some words of a paragraph
    4|with a second line.
    5|
    == 5-10, own from 6
    5|
    6|## Two
    7|
    8|```sh
    9|# run it
    10|make all
    == 11-13, own from 11
    11|```
    12|
    13|The end of it, in a few more words.
    ");
}
