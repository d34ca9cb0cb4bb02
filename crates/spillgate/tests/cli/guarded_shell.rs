//! Tests that nothing outlives a command, and that a sandboxed command reaches only what it may.
//!
//! They use the tools' library, with `spillgate __shell` as the supervisor of commands.

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use spillgate_workspace_tools::{
    Body, Network, Rules, Sandbox, ShellRules, Supervisor, Workspace, WorkspaceTools,
};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

/// Environment variable with the root of the tools in [`a_server_to_be_killed`].
const SERVER: &str = "SPILLGATE_TEST_SHELL_SERVER";

struct Lab {
    root: TempDir,
    /// A directory that commands must not touch.
    outside: TempDir,
    tools: WorkspaceTools,
}

impl Lab {
    fn new(change: impl FnOnce(&mut ShellRules)) -> Self {
        let root = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "s3cret\n").unwrap();
        let tools = tools(root.path(), change);
        Self {
            root,
            outside,
            tools,
        }
    }

    async fn ran(&self, command: &str) -> String {
        let command = command.replace("OUTSIDE", &self.outside.path().display().to_string());
        ran(&self.tools, &command).await
    }

    fn secret(&self) -> String {
        fs::read_to_string(self.outside.path().join("secret")).unwrap()
    }
}

fn tools(root: &Path, change: impl FnOnce(&mut ShellRules)) -> WorkspaceTools {
    let mut shell = ShellRules {
        supervisor: Some(Supervisor {
            program: env!("CARGO_BIN_EXE_spillgate").into(),
            arguments: vec!["__shell".into()],
        }),
        ..ShellRules::default()
    };
    change(&mut shell);
    let rules = Rules {
        shell: Some(shell),
        ..Rules::default()
    };
    WorkspaceTools::new(Workspace::open(root).unwrap(), rules)
}

async fn ran(tools: &WorkspaceTools, command: &str) -> String {
    let Value::Object(arguments) = json!({ "command": command }) else {
        unreachable!("it is one");
    };
    let answer = tools.call("execute_shell", arguments).await;
    match answer.body {
        Body::Text(text) => text,
        Body::Oversized(_) => panic!("too much"),
    }
}

/// Returns a unique argument for `sleep`, by which the test finds the processes of a command.
fn mark() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("1000.{}00{next}", std::process::id())
}

/// Returns the number of processes whose command line contains `mark`.
fn living(mark: &str) -> usize {
    let has_it = |entry: std::io::Result<fs::DirEntry>| {
        let line = fs::read(entry.unwrap().path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(mark)
    };
    fs::read_dir("/proc")
        .unwrap()
        .map(has_it)
        .filter(|&has| has)
        .count()
}

async fn until(what: impl Fn() -> bool, told: &str) {
    for _ in 0..2000 {
        if what() {
            return;
        }
        sleep(Duration::from_millis(20)).await;
    }
    panic!("{told}");
}

#[tokio::test]
async fn a_supervisor_tells_the_truth() {
    let lab = Lab::new(|_| {});
    let cases = [
        ("echo out; echo err >&2; echo out", "out\nerr\nout\n"),
        ("true", "Command executed successfully (no output)"),
        ("cat; echo x; exit 3", "x\n[exit 3]"),
        ("kill -9 $$", "[killed by signal 9 (SIGKILL)]"),
        ("kill -TERM $$", "[killed by signal 15 (SIGTERM)]"),
        ("yes | head -2", "y\ny\n"),
        ("(sleep 0.2; echo late) & echo early", "early\nlate\n"),
        ("--version 2>/dev/null", "[exit 127]"),
        ("printf '%s\n' \"a  'b'\" | tr a-z A-Z", "A  'B'\n"),
        (
            "exec 9>/dev/tty",
            "bash: line 1: /dev/tty: No such device or address\n[exit 1]",
        ),
        ("env | grep -c .", "8\n"),
        ("nohup sleep 0.1 >/dev/null 2>&1 & echo x", "x\n"),
    ];
    for (command, want) in cases {
        let told = lab.ran(command).await.replace("/bin/bash", "bash");
        assert_eq!(told, want, "{command}");
    }
    assert_eq!(
        lab.ran("pwd").await.trim(),
        lab.root.path().to_str().unwrap()
    );
    // The command inherits no more open files than any child of this process.
    let count = "ls /proc/self/fd | wc -l";
    let mut plain = Command::new("sh");
    let plain = plain.args(["-c", count]).stdin(Stdio::null()).output();
    let plain = String::from_utf8(plain.unwrap().stdout).unwrap();
    assert_eq!(lab.ran(count).await, plain);
    let gone = Lab::new(|shell| shell.shell = "/nowhere/bash".into());
    insta::assert_snapshot!(gone.ran("true").await, @"Error: The command was not run: /nowhere/bash does not start: No such file or directory (os error 2). This is a matter of how the tools are set up, not of the command.");
    let broken = Lab::new(|shell| shell.supervisor.as_mut().unwrap().program = "/bin/true".into());
    insta::assert_snapshot!(broken.ran("true").await, @"Error: The command was not run: its supervisor ended before it. This is a matter of how the tools are set up, not of the command.");
}

/// Commands that try to leave a process behind; `MARK` stands for the argument of `sleep`.
const ESCAPES: [&str; 7] = [
    "sleep MARK",
    "kill -STOP $PPID; sleep MARK; sleep MARK",
    "setsid sh -c 'trap \"\" TERM; sleep MARK; sleep MARK' & sleep MARK",
    "(setsid sleep MARK &); (setsid nohup sleep MARK >/dev/null 2>&1 &); sleep MARK",
    "trap '' TERM HUP INT; while :; do sleep MARK; done",
    "for i in $(seq 40); do setsid sh -c 'trap \"\" TERM; sleep MARK & sleep MARK & wait; wait; sleep MARK' & done; wait",
    "f() { sleep MARK & setsid sleep MARK & [ $1 -gt 0 ] && { f $(($1 - 1)) & f $(($1 - 1)) & }; wait; }; f 4",
];

#[tokio::test]
async fn nothing_survives_a_timeout() {
    let lab = Lab::new(|shell| shell.timeout = Duration::from_secs(1));
    for escape in ESCAPES {
        let mark = mark();
        let told = lab.ran(&escape.replace("MARK", &mark)).await;
        let said = "timed out after 1 s and was stopped with everything it had started.";
        assert!(told.contains(said), "{told}");
        assert_eq!(living(&mark), 0, "{escape}");
    }
}

#[tokio::test]
async fn nothing_survives_a_cancellation() {
    let lab = Lab::new(|_| {});
    for escape in ESCAPES {
        let mark = mark();
        let command = escape.replace("MARK", &mark);
        let call = lab.ran(&command);
        let begun = until(|| living(&mark) > 0, "it does not begin");
        tokio::select! {
            told = call => panic!("{told}"),
            () = begun => {}
        }
        until(|| living(&mark) == 0, escape).await;
    }
}

#[tokio::test]
async fn a_supervisor_that_is_suspended_again_and_again_ends() {
    let lab = Lab::new(|shell| shell.timeout = Duration::from_secs(1));
    let suspends = "trap '' TERM; while :; do kill -STOP $PPID; sleep 0.01; done; sleep MARK";
    let mark = [mark(), mark()];
    let told = lab.ran(&suspends.replace("MARK", &mark[0])).await;
    let said = "timed out after 1 s and was stopped with everything it had started.";
    assert!(told.contains(said), "{told}");
    assert_eq!(living(&mark[0]), 0);
    let lab = Lab::new(|_| {});
    let command = suspends.replace("MARK", &mark[1]);
    tokio::select! {
        told = lab.ran(&command) => panic!("{told}"),
        () = until(|| living(&mark[1]) > 0, "it does not begin") => {}
    }
    until(|| living(&mark[1]) == 0, "it runs on after a cancellation").await;
}

#[tokio::test]
async fn what_runs_on_in_the_background_ends_with_the_tools() {
    let lab = Lab::new(|_| {});
    let marks = [mark(), mark()];
    let command = "(trap '' TERM; sleep MARK; sleep MARK) > out.log 2>&1 & echo begun";
    for mark in &marks {
        assert_eq!(lab.ran(&command.replace("MARK", mark)).await, "begun\n");
    }
    let setsid = format!(
        "setsid sleep {} </dev/null >/dev/null 2>&1 & sleep 0.2",
        marks[0]
    );
    assert_eq!(
        lab.ran(&setsid).await,
        "Command executed successfully (no output)"
    );
    assert_eq!(lab.ran("echo x").await, "x\n");
    assert!(marks.iter().all(|mark| living(mark) > 0), "they run on");
    drop(lab);
    for mark in marks {
        until(|| living(&mark) == 0, "it runs on without the tools").await;
    }
}

/// Not a test by itself: the next test runs this function in a separate process.
#[tokio::test]
async fn a_server_to_be_killed() {
    if let Some(root) = std::env::var_os(SERVER) {
        let tools = tools(Path::new(&root), |_| {});
        let command = fs::read_to_string(Path::new(&root).join("command")).unwrap();
        ran(&tools, &command).await;
    }
}

#[tokio::test]
async fn nothing_survives_a_server_that_is_killed() {
    for escape in ESCAPES {
        let (root, mark) = (tempfile::tempdir().unwrap(), mark());
        fs::write(root.path().join("command"), escape.replace("MARK", &mark)).unwrap();
        let mut server = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "guarded_shell::a_server_to_be_killed"])
            .env(SERVER, root.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        until(|| living(&mark) > 0, "it does not begin").await;
        server.kill().unwrap();
        server.wait().unwrap();
        until(|| living(&mark) == 0, escape).await;
    }
}

#[tokio::test]
async fn a_supervisor_that_is_killed_takes_the_shell_with_it() {
    let lab = Lab::new(|_| {});
    let mark = mark();
    let told = lab
        .ran(&format!("kill -9 $PPID; sleep {mark}; sleep {mark}"))
        .await;
    insta::assert_snapshot!(told, @"Error: The command was started, but how it ended is not known: its supervisor ended before it. Please look at what it did before you run it again.");
    until(|| living(&mark) == 0, "the shell is there still").await;
}

/// Returns whether the system lacks a feature that the test needs. In this case the command was not
/// run.
#[expect(clippy::print_stderr, reason = "a test that is left out says so")]
fn is_lacking(told: &str) -> bool {
    let lacking = told.starts_with("Error: The command was not run: the system");
    if lacking {
        eprintln!("left out here: {told}");
    }
    lacking
}

#[tokio::test]
async fn a_sandbox_lets_only_the_root_be_written() {
    let lab = Lab::new(|shell| shell.sandbox = Some(Sandbox::default()));
    if is_lacking(&lab.ran("true").await) {
        return;
    }
    let cases = [
        (
            "echo x > inside && mkdir d && mv inside d/ && cat d/inside",
            "x\n",
        ),
        (
            "echo x > $TMPDIR/t && cat $HOME/t && ls /usr >/dev/null && cat /etc/passwd >/dev/null && echo ok >/dev/null && echo ok",
            "x\nok\n",
        ),
        ("echo x | tee /dev/null /dev/fd/2 | cat", "x\nx\n"),
        ("cat OUTSIDE/secret 2>/dev/null || echo no", "no\n"),
        ("ls OUTSIDE 2>/dev/null || echo no", "no\n"),
        (
            "ln -s OUTSIDE/secret link; cat link 2>/dev/null || echo no",
            "no\n",
        ),
        ("ln OUTSIDE/secret hard 2>/dev/null || echo no", "no\n"),
        ("(echo x > OUTSIDE/new) 2>/dev/null || echo no", "no\n"),
        ("(echo x > OUTSIDE/secret) 2>/dev/null || echo no", "no\n"),
        (
            "truncate -s 0 OUTSIDE/secret 2>/dev/null || echo no",
            "no\n",
        ),
        (
            "which perl >/dev/null || { echo no; exit; }; perl -e 'truncate(\"OUTSIDE/secret\", 0) or print \"no\\n\"'",
            "no\n",
        ),
        ("rm -f OUTSIDE/secret 2>/dev/null || echo no", "no\n"),
        ("mv OUTSIDE/secret . 2>/dev/null || echo no", "no\n"),
        (
            "(echo x > /etc/spillgate-test) 2>/dev/null || echo no",
            "no\n",
        ),
        ("mknod disk b 8 0 2>/dev/null || echo no", "no\n"),
        (
            "sh -c 'cat OUTSIDE/secret' 2>/dev/null || setsid -w cat OUTSIDE/secret 2>/dev/null || echo no",
            "no\n",
        ),
    ];
    for (command, want) in cases {
        assert_eq!(lab.ran(command).await, want, "{command}");
    }
    assert_eq!(lab.secret(), "s3cret\n");
    let outside = lab.outside.path().to_owned();
    let more = Lab::new(|shell| {
        shell.sandbox = Some(Sandbox {
            readable: vec![outside.clone()],
            ..Sandbox::default()
        });
    });
    let command = "cat OTHER/secret; (echo x > OTHER/secret) 2>/dev/null || echo no";
    let command = command.replace("OTHER", &outside.display().to_string());
    assert_eq!(more.ran(&command).await, "s3cret\nno\n");
}

/// Tests that commands cannot read the server's environment variables, which may be keys. Without
/// the sandbox, root could read them.
#[tokio::test]
async fn a_sandbox_hides_the_servers_variables() {
    let lab = Lab::new(|shell| shell.sandbox = Some(Sandbox::default()));
    if is_lacking(&lab.ran("true").await) {
        return;
    }
    let server = r"S=$(sed -n 's/^PPid:\t//p' /proc/$PPID/status); test -d /proc/$S && echo there";
    for what in ["environ", "maps", "cwd/Cargo.toml"] {
        let command = format!("{server}; (: < /proc/$S/{what}) 2>/dev/null || echo no");
        assert_eq!(lab.ran(&command).await, "there\nno\n", "{what}");
    }
}

#[tokio::test]
async fn a_sandbox_does_not_help_to_survive() {
    let lab = Lab::new(|shell| {
        shell.timeout = Duration::from_secs(1);
        shell.sandbox = Some(Sandbox::default());
    });
    if is_lacking(&lab.ran("true").await) {
        return;
    }
    let mark = mark();
    let told = lab.ran(&ESCAPES[2].replace("MARK", &mark)).await;
    assert!(told.contains("with everything it had started"), "{told}");
    assert_eq!(living(&mark), 0);
    // Since Landlock ABI 6 (Linux 6.12), a command in the sandbox cannot send signals to processes
    // outside.
    let told = lab.ran("kill -9 $PPID 2>/dev/null || echo no").await;
    assert!(told == "no\n" || told.starts_with("Error: "), "{told}");
}

#[tokio::test]
async fn a_sandbox_takes_the_network_away() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    let tcp = listener.local_addr().unwrap().port();
    let udp = socket.local_addr().unwrap().port();
    let command = format!(
        "(: </dev/tcp/127.0.0.1/{tcp}) 2>/dev/null && echo tcp; \
         (echo x >/dev/udp/127.0.0.1/{udp}) 2>/dev/null && echo udp; \
         id -u; touch written && echo written"
    );
    let user = rustix::process::geteuid().as_raw();
    for (network, reached) in [
        (Network::On, "tcp\nudp\n"),
        (Network::NoTcp, "udp\n"),
        (Network::Off, ""),
    ] {
        let lab = Lab::new(|shell| {
            shell.sandbox = Some(Sandbox {
                network,
                ..Sandbox::default()
            });
        });
        let told = lab.ran(&command).await;
        if is_lacking(&told) {
            continue;
        }
        assert_eq!(told, format!("{reached}{user}\nwritten\n"), "{network:?}");
        let arrived = timeout(Duration::from_secs(5), async {
            while reached.contains("udp") && socket.recv(&mut [0; 9]).is_err() {
                sleep(Duration::from_millis(10)).await;
            }
        });
        arrived.await.unwrap();
    }
    assert!(socket.recv(&mut [0; 9]).is_err(), "nothing more came");
}
