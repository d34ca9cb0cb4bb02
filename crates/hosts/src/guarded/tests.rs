//! What does an agent get of the guarded tools?

use std::fs;

use spillgate_agent::{OpKind, Span};
use spillgate_guarded::{Rules, Workspace};
use tempfile::TempDir;

use super::*;

struct Lab {
    _root: TempDir,
    host: GuardedTools,
}

fn lab(rules: Rules) -> Lab {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("small"), "one\ntwo\n").unwrap();
    let workspace = Workspace::open(root.path()).unwrap();
    let host = GuardedTools::new("work", Guarded::new(workspace, rules));
    Lab { _root: root, host }
}

impl Lab {
    async fn called(&self, name: &str, arguments: &str) -> (String, bool) {
        let call = ToolCall {
            id: "1".to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        };
        let span = Span::root(OpKind::Agent, "test");
        let mut given = self.host.call(&call, span.scope()).await;
        let mut text = String::new();
        given.body.read_to_string(&mut text).unwrap();
        (text, given.is_error)
    }
}

fn only(names: &[&str]) -> Rules {
    Rules {
        only: names.iter().map(|&name| name.to_owned()).collect(),
        ..Rules::default()
    }
}

#[test]
fn its_tools_are_those_that_can_work() {
    let names = |rules: Rules| {
        let tools = lab(rules).host.tools();
        let names: Vec<String> = tools.into_iter().map(|tool| tool.name).collect();
        names.join(" ")
    };
    let all = "read_file grep_content glob_files execute_shell web_fetch";
    assert_eq!(names(Rules::default()), all);
    assert_eq!(
        names(only(&["glob_files", "read_file"])),
        "read_file glob_files"
    );
    let without = Rules {
        shell: None,
        web: None,
        ..Rules::default()
    };
    assert_eq!(names(without), "read_file grep_content glob_files");
}

#[tokio::test]
async fn what_no_tool_takes_is_told() {
    let lab = lab(only(&["read_file"]));
    let mut told = Vec::new();
    for (name, arguments) in [
        ("read_file", "{"),
        ("read_file", "[1]"),
        ("execute_shell", "{\"command\": \"id\"}"),
        ("no\nsuch", ""),
    ] {
        let (text, is_error) = lab.called(name, arguments).await;
        assert!(is_error, "{name} {arguments}");
        told.push(text);
    }
    insta::assert_snapshot!(told.join("\n"), @r#"
    Error: The arguments are no JSON: EOF while parsing an object at line 1 column 1. Write an object, {"name": value}.
    Error: The arguments are no JSON object. Write {"name": value}.
    Error: Tool 'execute_shell' not found. There are read_file.
    Error: Tool 'no
    such' not found. There are read_file.
    "#);
}
