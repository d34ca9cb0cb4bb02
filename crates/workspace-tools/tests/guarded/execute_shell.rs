//! Tests for the answers of `execute_shell`, and for ending the processes of commands.
//!
//! These commands run without a supervisor. `spillgate/tests/cli/guarded_shell.rs` tests commands
//! with a supervisor.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use spillgate_workspace_tools::{
    Body, OnOverflow, OversizedOutput, Rules, Sandbox, ShellRules, ToolResult, Workspace,
    WorkspaceTools,
};
use tempfile::TempDir;

struct Lab {
    root: TempDir,
    tools: WorkspaceTools,
}

impl Lab {
    fn new(change: impl FnOnce(&mut Rules, &mut ShellRules)) -> Self {
        let root = tempfile::tempdir().unwrap();
        let mut rules = Rules::default();
        let mut shell = ShellRules::default();
        change(&mut rules, &mut shell);
        rules.shell = Some(shell);
        let tools = WorkspaceTools::new(Workspace::open(root.path()).unwrap(), rules);
        Self { root, tools }
    }

    async fn answer(&self, arguments: Value) -> ToolResult {
        let Value::Object(arguments) = arguments else {
            panic!("no object");
        };
        self.tools.call("execute_shell", arguments).await
    }

    /// Returns the answer with its notes, after checking that only errors begin with `Error: `.
    async fn with_notes(&self, arguments: Value) -> String {
        let answer = self.answer(arguments).await;
        let text = match answer.body {
            Body::Text(text) => text,
            Body::Oversized(OversizedOutput {
                mut whole, notes, ..
            }) => {
                let mut all = Vec::new();
                whole.read_to_end(&mut all).unwrap();
                let shown = format!("({} bytes)", all.len());
                OversizedOutput::with_notes(&notes, answer.is_error, &shown)
            }
        };
        assert_eq!(answer.is_error, text.starts_with("Error: "), "{text}");
        let text = text.replace(self.root.path().to_str().unwrap(), "ROOT");
        text.replace(root_name(self.root.path()), "ROOT")
    }

    async fn ran(&self, command: &str) -> String {
        self.with_notes(json!({ "command": command })).await
    }
}

fn root_name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

#[tokio::test]
async fn output_comes_as_it_was_written() {
    let lab = Lab::new(|_, _| {});
    let cases = [
        ("echo out; echo err >&2; echo out", "out\nerr\nout\n"),
        ("printf 'no newline'", "no newline"),
        ("printf '\\033[31mred\\033[0m 1%%\\r100%%\\n'", "100%\n"),
        ("printf '\\377\\n'", "\u{fffd}\n"),
        ("cat; echo end of input", "end of input\n"),
        ("true", "Command executed successfully (no output)"),
        (
            "echo; echo ' '",
            "Command executed successfully (no output)",
        ),
        ("echo x; exit 3", "x\n[exit 3]"),
        ("exit 3", "[exit 3]"),
        ("echo x; kill -9 $$", "x\n[killed by signal 9 (SIGKILL)]"),
        ("kill -TERM $$", "[killed by signal 15 (SIGTERM)]"),
        ("--version 2>/dev/null", "[exit 127]"),
        ("(sleep 0.2; echo late) & echo early", "early\nlate\n"),
        (
            "[[ -t 0 || -t 1 ]] || [[ ab == a* ]] && echo bash",
            "bash\n",
        ),
        ("yes | head -2", "y\ny\n"),
    ];
    for (command, want) in cases {
        assert_eq!(lab.ran(command).await, want, "{command}");
    }
    insta::assert_snapshot!(lab.ran("echo x | grep y").await, @"[exit 1: no output; from grep and the like that means no match, from a test false]");
    insta::assert_snapshot!(lab.ran("nosuch").await, @"
    /bin/bash: line 1: nosuch: command not found
    [exit 127]
    ");
}

#[tokio::test]
async fn too_much_is_refused_and_the_command_ends_by_itself() {
    let lab = Lab::new(|_, _| {});
    let most = lab.ran("head -c 100003 /dev/zero | tr '\\0' x").await;
    assert_eq!(most.len(), 100_003);
    insta::assert_snapshot!(
        lab.ran("head -c 100004 /dev/zero | tr '\\0' x; touch done").await, @"Error: Command output (~25001 tokens) exceeds maximum allowed. Please pipe output through head/tail/grep, or redirect to a file and read specific portions.");
    assert!(lab.root.path().join("done").exists());
    insta::assert_snapshot!(lab.ran("head -c 300000 /dev/zero | tr '\\0' x; exit 3").await, @"
    Error: Command output (~75002 tokens) exceeds maximum allowed. Please pipe output through head/tail/grep, or redirect to a file and read specific portions.

    [exit 3]
    ");
    // The output alone is within the limit, but not the output with its note.
    insta::assert_snapshot!(
        lab.ran("head -c 100000 /dev/zero | tr '\\0' x; exit 3").await, @"
    Error: Command output (~25002 tokens) exceeds maximum allowed. Please pipe output through head/tail/grep, or redirect to a file and read specific portions.

    [exit 3]
    ");
}

#[tokio::test]
async fn what_is_too_much_is_whole_where_it_is_stored() {
    let lab = Lab::new(|rules, _| rules.on_overflow = OnOverflow::Offload);
    insta::assert_snapshot!(lab.ran("seq 500000; exit 3").await, @"
    (3388895 bytes)
    [exit 3]
    ");
    insta::assert_snapshot!(lab.ran("seq 500000").await, @"(3388895 bytes)");
    let nowhere = Lab::new(|rules, shell| {
        rules.on_overflow = OnOverflow::Offload;
        shell.temp_dir = "/nowhere".into();
    });
    insta::assert_snapshot!(nowhere.ran("seq 500000; touch done; exit 3").await, @"
    Error: Command output (~847225 tokens) could not be kept: No such file or directory (os error 2). This is our machine's fault, not the command's, which ran to its end. Please pipe output through head/tail/grep if it is run again.

    [exit 3]
    ");
    assert!(nowhere.root.path().join("done").exists());
    let small = Lab::new(|rules, shell| {
        rules.on_overflow = OnOverflow::Offload;
        shell.timeout = Duration::from_secs(3);
    });
    let told = small.ran("seq 50000; sleep 1000").await;
    insta::assert_snapshot!(told, @"
    Error: Command timed out after 3 s and was stopped with its process group. Please set timeout to more (up to 600), or run it in the background with its output in a file: (command) > out.log 2>&1 &

    (288894 bytes)
    ");
}

#[tokio::test]
async fn one_that_never_stops_talking_is_stopped() {
    let lab = Lab::new(|_, shell| shell.max_output_bytes = 200_000);
    let told = lab.ran("yes").await;
    let digits = |c: char| c.is_ascii_digit();
    let (start, rest) = told.split_once(digits).unwrap();
    insta::assert_snapshot!(format!("{start}N{}", rest.trim_start_matches(digits)), @"
    Error: Command output (~N tokens) exceeds maximum allowed. Please pipe output through head/tail/grep, or redirect to a file and read specific portions.

    [The command had printed more than 200000 bytes and was stopped with its process group.]
    ");
}

#[tokio::test]
async fn time_is_up() {
    let lab = Lab::new(|_, shell| shell.timeout = Duration::from_secs(3));
    let (talks, silent, held, loud) = tokio::join!(
        lab.ran("echo begun; sleep 1000"),
        lab.ran("sleep 1000"),
        lab.ran("sleep 1000 & echo begun; exit 3"),
        lab.ran("seq 50000; sleep 1000"),
    );
    insta::assert_snapshot!(talks, @"
    Error: Command timed out after 3 s and was stopped with its process group. Please set timeout to more (up to 600), or run it in the background with its output in a file: (command) > out.log 2>&1 &

    Its output until then:
    begun
    ");
    insta::assert_snapshot!(silent, @"
    Error: Command timed out after 3 s and was stopped with its process group. Please set timeout to more (up to 600), or run it in the background with its output in a file: (command) > out.log 2>&1 &

    It had printed nothing.
    ");
    insta::assert_snapshot!(held, @"
    Error: Command timed out after 3 s and was stopped with its process group. Its shell had ended before [exit 3], but something that it left in the background still held its output. Please set timeout to more (up to 600), or run it in the background with its output in a file: (command) > out.log 2>&1 &

    Its output until then:
    begun
    ");
    insta::assert_snapshot!(loud, @"
    Error: Command timed out after 3 s and was stopped with its process group. Please set timeout to more (up to 600), or run it in the background with its output in a file: (command) > out.log 2>&1 &

    Its output until then (~72223 tokens) is too much to be shown.
    ");
}

async fn all_told(lab: &Lab, cases: Vec<Value>) -> String {
    let mut told = Vec::new();
    for arguments in cases {
        told.push(lab.with_notes(arguments).await);
    }
    told.join("\n---\n")
}

#[tokio::test]
async fn arguments_are_forgiven_or_refused() {
    let lab = Lab::new(|_, _| {});
    let cases = vec![
        json!({"command": "echo x; exit 2", "timeout": 120_000, "description": "ignored"}),
        json!({"command": "true", "timeout": 601}),
        json!({"command": "true", "timeout": "5"}),
        json!({"command": "true", "timeout": 0, "workdir": "", "cwd": null}),
        json!({}),
        json!({"command": " "}),
        json!({"command": ["ls"]}),
        json!({"command": "a\0b"}),
        json!({"command": "x".repeat(200_000)}),
        json!({"command": "true", "timeout": "soon"}),
    ];
    insta::assert_snapshot!(all_told(&lab, cases).await, @r"
    x
    [exit 2]
    [timeout is in seconds and 600 at most; it was 120000, 600 was taken]
    ---
    Command executed successfully (no output)
    [timeout is in seconds and 600 at most; it was 601, 600 was taken]
    ---
    Command executed successfully (no output)
    ---
    Command executed successfully (no output)
    ---
    Error: command is missing. Please say what is to be run.
    ---
    Error: command is missing. Please say what is to be run.
    ---
    Error: command must be a string
    ---
    Error: command has a NUL byte in it, which no command can have. Please write \0 for printf, or put the bytes into a file.
    ---
    Error: command has 200000 bytes; the system takes 131071 at most. Please write it into a file in parts and run that.
    ---
    Error: timeout must be a whole number from 0 on
    ");
}

#[tokio::test]
async fn a_command_runs_below_the_root() {
    let lab = Lab::new(|_, _| {});
    std::fs::create_dir(lab.root.path().join("sub")).unwrap();
    std::fs::write(lab.root.path().join("file"), "").unwrap();
    std::os::unix::fs::symlink("/", lab.root.path().join("out")).unwrap();
    let inside = lab.root.path().join("sub").display().to_string();
    let cases = vec![
        json!({"command": "pwd"}),
        json!({"command": "pwd", "workdir": "sub"}),
        json!({"command": "pwd", "cwd": "sub/../sub"}),
        json!({"command": "pwd", "workdir": inside}),
        json!({"command": "pwd", "workdir": lab.root.path().to_str()}),
        json!({"command": "true", "workdir": ".."}),
        json!({"command": "true", "workdir": "out"}),
        json!({"command": "true", "workdir": "/etc"}),
        json!({"command": "true", "workdir": "gone"}),
        json!({"command": "true", "workdir": "file"}),
    ];
    insta::assert_snapshot!(all_told(&lab, cases).await, @"
    ROOT

    ---
    ROOT/sub

    ---
    ROOT/sub

    ---
    ROOT/sub

    ---
    ROOT

    ---
    Error: '..' leads out of the root. Give a path from the root to something inside it.
    ---
    Error: 'out' leads out of the root. Give a path from the root to something inside it.
    ---
    Error: '/etc' leads out of the root. Give a path from the root to something inside it.
    ---
    Error: Directory 'gone' not found. Use glob_files to find it.
    ---
    Error: 'file' is a file, not a directory. Give the directory that it is in.
    ");
}

#[tokio::test]
async fn a_command_sees_few_variables() {
    let secret = [
        ("API_KEY", "s3cret"),
        ("PATH", "/usr/bin:/bin"),
        ("MY_X", "1"),
    ];
    let lab = Lab::new(|_, shell| {
        let variables = secret.map(|(name, value)| (name.into(), value.into()));
        shell.environment = variables.into_iter().collect();
        shell.pass_env = vec!["MY_*".to_owned()];
    });
    insta::assert_snapshot!(lab.ran("env | grep -v '^\\(PWD\\|_\\|SHLVL\\)=' | sort").await, @"
    GIT_PAGER=cat
    GIT_TERMINAL_PROMPT=0
    MY_X=1
    PAGER=cat
    PATH=/usr/bin:/bin
    TERM=dumb
    ");
}

/// Whether a running process has `mark` in its command line.
fn lives(mark: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().any(|entry| {
        let line = std::fs::read(entry.unwrap().path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(mark)
    })
}

#[tokio::test]
async fn what_is_left_in_the_group_is_ended() {
    let lab = Lab::new(|_, shell| shell.timeout = Duration::from_secs(20));
    let mark = format!("1000.{}99", std::process::id());
    let left = "(trap '' TERM; sleep MARK; sleep MARK) >/dev/null 2>&1 & echo x";
    assert_eq!(lab.ran(&left.replace("MARK", &mark)).await, "x\n");
    assert!(!lives(&mark), "it was ended before the answer");
    // Dropping the call ends the command.
    let command = format!("sleep {mark}; sleep {mark}");
    tokio::select! {
        told = lab.ran(&command) => panic!("{told}"),
        () = until(|| lives(&mark)) => {}
    }
    until(|| !lives(&mark)).await;
}

async fn until(what: impl Fn() -> bool) {
    for _ in 0..2000 {
        if what() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it does not happen");
}

#[tokio::test]
async fn nothing_runs_where_a_sandbox_cannot_be_made() {
    let lab = Lab::new(|_, shell| shell.sandbox = Some(Sandbox::default()));
    insta::assert_snapshot!(lab.ran("touch done").await, @"Error: The command was not run: it may run only in a sandbox, and nothing makes one. This is a matter of how the tools are set up, not of the command.");
    assert!(!lab.root.path().join("done").exists());
    let gone = Lab::new(|_, shell| shell.shell = "/nowhere/bash".into());
    insta::assert_snapshot!(gone.ran("true").await, @"Error: The command was not run: /nowhere/bash does not start: No such file or directory (os error 2). This is a matter of how the tools are set up, not of the command.");
}

#[test]
fn it_is_described() {
    let lab = Lab::new(|_, _| {});
    let all = lab.tools.definitions();
    let shell = all
        .iter()
        .find(|tool| tool.name == "execute_shell")
        .unwrap();
    insta::assert_snapshot!(shell.description, @"Runs a command with bash -c and gives what it printed, standard output and standard error in the order in which they were written, and [exit n] if n is not 0. Output that is too much is refused, never cut: pipe it through head/tail/grep, or redirect it to a file and read portions. Standard input is empty; nothing is kept from one call to the next but files. What is to run on: (command) > out.log 2>&1 &");
    insta::assert_snapshot!(serde_json::to_string_pretty(&shell.schema).unwrap(), @r#"
    {
      "properties": {
        "command": {
          "description": "What is run.",
          "type": "string"
        },
        "timeout": {
          "description": "Seconds after which it is stopped; 120 unless set, 600 at most.",
          "type": "integer"
        },
        "workdir": {
          "description": "The directory that it runs in, from the root; the root unless set.",
          "type": "string"
        }
      },
      "required": [
        "command"
      ],
      "type": "object"
    }
    "#);
}
