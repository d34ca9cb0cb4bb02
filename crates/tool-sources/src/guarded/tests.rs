//! Tests calls of the guarded tools by an agent.

use std::fs;

use spillgate_agent::{OpKind, Span};
use spillgate_web::{FetchSettings, Fetcher};
use spillgate_workspace_tools::{OnOverflow, Rules, Workspace};
use tempfile::TempDir;

use super::*;

struct Lab {
    root: TempDir,
    host: GuardedTools,
}

fn lab(rules: Rules) -> Lab {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("small"), "one\ntwo\n").unwrap();
    let workspace = Workspace::open(root.path()).unwrap();
    let host = GuardedTools::new("work", WorkspaceTools::new(workspace, rules));
    Lab { root, host }
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
async fn of_what_is_too_much_nothing_is_lost_even_if_it_failed() {
    let mut rules = only(&["execute_shell"]);
    rules.on_overflow = OnOverflow::Offload;
    rules.max_tokens = 100;
    let lab = lab(rules);
    let all: String = (1..=200).map(|line| format!("{line}\n")).collect();
    for (command, end) in [
        ("seq 200", ""),
        ("seq 200; exit 3", "\n[exit 3]\n"),
        ("seq 200; sleep 60", "\nError: Command timed out after 1 s"),
    ] {
        let arguments = format!(r#"{{"command": "{command}", "timeout": 1}}"#);
        let (text, is_error) = lab.called("execute_shell", &arguments).await;
        assert!(!is_error, "{command}: it would be cut");
        let told = text.strip_prefix(&all).unwrap();
        assert!(told.starts_with(end), "{command}: {told}");
    }
}

#[tokio::test]
async fn what_no_tool_takes_is_told() {
    let lab = lab(only(&["read_file"]));
    let mut told = Vec::new();
    for (name, arguments) in [
        ("read_file", "{"),
        ("read_file", "[1]"),
        ("execute_shell", "{\"command\": \"id\"}"),
        ("nosuch", ""),
    ] {
        let (text, is_error) = lab.called(name, arguments).await;
        assert!(is_error, "{name} {arguments}");
        told.push(text);
    }
    insta::assert_snapshot!(told.join("\n"), @r#"
    Error: The arguments are no JSON: EOF while parsing an object at line 1 column 1. Write an object, {"name": value}.
    Error: The arguments are no JSON object. Write {"name": value}.
    Error: Tool 'execute_shell' not found. There are read_file.
    Error: Tool 'nosuch' not found. There are read_file.
    "#);
}

#[tokio::test]
async fn what_is_too_much_is_given_whole() {
    let offload = Rules {
        on_overflow: OnOverflow::Offload,
        ..Rules::default()
    };
    let lab = lab(offload);
    let command = "{\"command\": \"seq 1 100000\"}";
    let (text, is_error) = lab.called("execute_shell", command).await;
    let all: String = (1..=100_000).map(|n| format!("{n}\n")).collect();
    assert!(text == all && !is_error, "{text:.100}");
    let rejecting = self::lab(Rules::default());
    let (text, is_error) = rejecting.called("execute_shell", command).await;
    assert!(
        text.starts_with("Error: Command output") && is_error,
        "{text:.200}"
    );
}

#[tokio::test]
async fn a_command_has_its_own_time_and_other_tools_have_ours() {
    // This listener accepts connections but never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let settings = FetchSettings {
        allowed: vec![address.to_string()],
        ..FetchSettings::default()
    };
    let mut lab = lab(Rules {
        web: Some(Fetcher::new(settings)),
        ..Rules::default()
    });
    lab.host = lab.host.within(Duration::ZERO);
    assert!(lab.host.keeps_time());
    let command = lab.called("execute_shell", "{\"command\": \"echo on\"}");
    assert_eq!(command.await, ("on\n".to_owned(), false));
    let page = format!("{{\"url\": \"http://{address}/\"}}");
    let (text, is_error) = lab.called("web_fetch", &page).await;
    assert!(is_error);
    insta::assert_snapshot!(text, @"Error: web_fetch gave nothing within 0 s and was stopped. Ask for less at once.");
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_ends_its_command() {
    let lab = lab(Rules::default());
    let command = "{\"command\": \"echo $$ > pid; exec sleep 600\"}";
    let pid = lab.root.path().join("pid");
    {
        let call = lab.called("execute_shell", command);
        let begun = async {
            while fs::read_to_string(&pid).unwrap_or_default().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            _ = call => panic!("it ends by itself"),
            () = begun => {}
        }
    }
    let pid = fs::read_to_string(&pid).unwrap();
    let process = format!("/proc/{}/cmdline", pid.trim());
    let ended = async {
        // A process that has ended, but for which its parent has not waited, has an empty command
        // line.
        while !fs::read(&process).unwrap_or_default().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let patience = Duration::from_secs(60);
    tokio::time::timeout(patience, ended).await.unwrap();
}
