//! Tests that the calls suggested in refusals work.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use serde_json::{Map, Value, json};
use spillgate_workspace_tools::{OnOverflow, Rules, Workspace, WorkspaceTools};
use tempfile::TempDir;

use crate::tree::{refused, told, touch, tree};
use crate::{RUNTIME, web};

fn detailed(root: &Path, rules: Rules) -> WorkspaceTools {
    let rules = Rules {
        detailed_recovery: true,
        ..rules
    };
    WorkspaceTools::new(Workspace::open(root).unwrap(), rules)
}

/// Parses a suggested call, `tool(name=VALUE, name=VALUE)`, into the tool and its arguments.
fn parsed(call: &str) -> (String, Value) {
    let (tool, mut rest) = call.strip_suffix(')').unwrap().split_once('(').unwrap();
    let mut arguments = Map::new();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=').unwrap();
        let mut values = serde_json::Deserializer::from_str(after).into_iter::<Value>();
        let value = values.next().unwrap().unwrap();
        rest = after[values.byte_offset()..].trim_start_matches(", ");
        arguments.insert(name.to_owned(), value);
    }
    (tool.to_owned(), arguments.into())
}

/// Makes the calls that a refusal suggests, in order. Each call must return some text that is
/// within the limit (`call` checks the limit). Returns the beginnings of the answers.
fn followed(tools: &WorkspaceTools, refusal: &str) -> Vec<String> {
    let (_, calls) = refusal.split_once("\nCommands:\n").expect(refusal);
    let calls = calls.lines().map(|line| line.strip_prefix("  • ").unwrap());
    let answers = calls.map(|call| {
        let (tool, arguments) = parsed(call);
        let answer = told(tools, &tool, &arguments);
        let first = answer.lines().next().unwrap_or_default();
        first.chars().take(70).collect()
    });
    answers.collect()
}

/// Returns a refusal, and the beginnings of the answers to its suggested calls.
fn shown(tools: &WorkspaceTools, name: &str, arguments: &Value) -> String {
    let refusal = refused(tools, name, arguments);
    let firsts = followed(tools, &refusal);
    format!("{refusal}\n----\n{}", firsts.join("\n"))
}

/// A class with this many methods.
fn class(methods: usize) -> String {
    let mut text = "import os\n\n\nclass Store(Base):\n".to_owned();
    for method in 0..methods {
        let body = "        return self.kept.get(key, default)\n".repeat(4);
        write!(text, "    def get_{method}(self, key, default):\n{body}\n").unwrap();
    }
    text
}

#[test]
fn a_file() {
    let root = tree(&[("src/store.py", &class(600))]);
    let tools = detailed(root.path(), Rules::default());
    let path = root.path().join("src/store.py");
    assert_snapshot!(shown(&tools, "read_file", &json!({"file_path": path})), @r#"
    Error: File content (~31480 tokens) exceeds maximum allowed tokens (25000). Please use offset and limit parameters to read specific portions of the file, or use grep_content to search for specific content.

    --- Recovery Options ---
    File: src/store.py | 3604 lines, 125,921 chars

    Structure:
      - class Store(Base) (line 4)
      - def get_0(self, key, default) (line 5)
      - def get_1(self, key, default) (line 11)
      - def get_2(self, key, default) (line 17)
      - def get_3(self, key, default) (line 23)
      - def get_4(self, key, default) (line 29)
      - def get_5(self, key, default) (line 35)
      - def get_6(self, key, default) (line 41)
      - def get_7(self, key, default) (line 47)
      - def get_8(self, key, default) (line 53)
      (… 591 more)

    Commands:
      • grep_content(pattern="Store", path="src/store.py", max_results=40)
      • read_file(file_path="src/store.py", offset=0, limit=100)
    ----
    Found 1 matching line in 1 file
    [Lines 1-100 of 3604]
    "#);
    // The number of lines is known after a page was read.
    told(
        &tools,
        "read_file",
        &json!({"file_path": "src/store.py", "limit": 1}),
    );
    let page = refused(
        &tools,
        "read_file",
        &json!({"file_path": "src/store.py", "offset": 1}),
    );
    assert!(page.contains("File: src/store.py | 3604 lines, "), "{page}");
}

#[test]
fn pages_of_a_file_are_within_the_limit_to_the_byte() {
    // The lines are so long that the header of a page decides whether it fits.
    let root = tree(&[("f.txt", &format!("{}\n", "x".repeat(9090)).repeat(100))]);
    let tools = detailed(root.path(), Rules::default());
    let refusal = refused(&tools, "read_file", &json!({"file_path": "f.txt"}));
    followed(&tools, &refusal);
}

#[test]
fn files_of_all_kinds_lead_on() {
    let log = |words: &str| {
        let line = |at| format!("2026-11-21T10:00:{:02}Z INFO worker {words}\n", at % 60);
        (0..3000).map(line).collect::<String>()
    };
    let utf16 = |text: &str| -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect()
    };
    let objects = "{\"state\":\"open\",\"note\":null},".repeat(9000);
    let files: [(&str, Vec<u8>); 9] = [
        (
            "it's one.json",
            format!("{{\"items\":[{objects}1]}}").into(),
        ),
        ("rows.csv", "id,name\n1,one\n".repeat(30_000).into()),
        ("short.log", log("did it").into()),
        ("long.log", log(&"did it ".repeat(900)).into()),
        ("guide.md", "# A\n\nWords. \n\n## B\n".repeat(9000).into()),
        ("x.txt", "x".repeat(2 << 20).into()),
        ("latin.txt", b"caf\xe9 cr\xe8me\n".repeat(20_000)),
        ("wide.txt", utf16(&"a line of it\n".repeat(20_000))),
        ("\u{e9} $(x).txt", "a line\n".repeat(90_000).into()),
    ];
    for max_tokens in [100, 1000, 25_000] {
        let root = TempDir::new().unwrap();
        let rules = Rules {
            max_tokens,
            ..Rules::default()
        };
        let tools = detailed(root.path(), rules);
        for (name, content) in &files {
            fs::write(root.path().join(name), content).unwrap();
            let refusal = refused(&tools, "read_file", &json!({"file_path": name}));
            assert!(
                max_tokens == 100 || refusal.contains("Commands:"),
                "{refusal}"
            );
            if refusal.contains("Commands:") {
                followed(&tools, &refusal);
            }
        }
    }
}

#[test]
fn only_what_is_too_much_has_a_block() {
    let root = tree(&[("f.txt", "one\n")]);
    fs::write(root.path().join("f.bin"), vec![0; 300_000]).unwrap();
    let tools = detailed(root.path(), Rules::default());
    let calls = [
        ("read_file", json!({"file_path": "none"})),
        ("read_file", json!({"file_path": "f.txt", "offset": 7})),
        ("read_file", json!({"file_path": "f.bin"})),
        ("grep_content", json!({"pattern": "("})),
        ("glob_files", json!({"pattern": "*.txt", "offset": 9})),
        ("execute_shell", json!({"command": ""})),
        ("web_fetch", json!({"url": "http://127.0.0.1/"})),
    ];
    for (name, arguments) in calls {
        let text = refused(&tools, name, &arguments);
        assert!(!text.contains("Recovery Options"), "{text}");
    }
}

#[test]
fn no_call_is_of_a_tool_that_is_not_there() {
    let root = tree(&[("large.py", &class(5000))]);
    let rules = Rules {
        only: vec!["read_file".to_owned()],
        ..Rules::default()
    };
    let tools = detailed(root.path(), rules);
    let refusal = refused(&tools, "read_file", &json!({"file_path": "large.py"}));
    let (_, calls) = refusal.split_once("\nCommands:\n").unwrap();
    assert!(
        calls.lines().all(|call| call.starts_with("  • read_file(")),
        "{calls}"
    );
}

#[test]
fn a_command() {
    let root = TempDir::new().unwrap();
    let tools = detailed(root.path(), Rules::default());
    let command = "seq -f 'test number %g ... ok' 9000; echo 'test x ... FAILED'; exit 3";
    assert_snapshot!(shown(&tools, "execute_shell", &json!({"command": command})), @r#"
    Error: Command output (~53729 tokens) exceeds maximum allowed. Please pipe output through head/tail/grep, or redirect to a file and read specific portions.

    [exit 3]

    --- Recovery Options ---
    Command: seq -f 'test number %g ... ok' 9000; echo 'test x ... FAILED'; exit 3 | 9001 lines, 214,911 bytes

    Commands:
      • execute_shell(command="(seq -f 'test number %g ... ok' 9000; echo 'test x ... FAILED'; exit 3) 2>&1 | tail -n 100")
      • execute_shell(command="(seq -f 'test number %g ... ok' 9000; echo 'test x ... FAILED'; exit 3) 2>&1 | grep -n -i -E 'error|fail|warn|fatal|panic' | head -n 100")
    ----
    test number 8902 ... ok
    9001:test x ... FAILED
    "#);
    // A hundred lines of the first command are too large for a page, and so is a single line of the
    // second command.
    for command in [
        "seq -s ' ' 9000 | sed 'p;p;p;p'",
        "head -c 200000 /dev/zero | tr '\\0' x",
    ] {
        let refusal = refused(&tools, "execute_shell", &json!({"command": command}));
        followed(&tools, &refusal);
    }
}

#[test]
fn a_command_that_does_not_end() {
    let root = TempDir::new().unwrap();
    let shell = spillgate_workspace_tools::ShellRules {
        max_output_bytes: 300_000,
        ..spillgate_workspace_tools::ShellRules::default()
    };
    let rules = Rules {
        shell: Some(shell),
        ..Rules::default()
    };
    let tools = detailed(root.path(), rules);
    let refusal = refused(&tools, "execute_shell", &json!({"command": "yes error"}));
    assert_eq!(followed(&tools, &refusal), ["error", "1:error"]);
}

#[test]
fn what_is_offloaded_has_no_block() {
    let root = TempDir::new().unwrap();
    let rules = Rules {
        on_overflow: OnOverflow::Offload,
        ..Rules::default()
    };
    let tools = detailed(root.path(), rules);
    let Value::Object(arguments) = json!({"command": "seq 30000"}) else {
        unreachable!()
    };
    let answer = RUNTIME.block_on(tools.call("execute_shell", arguments));
    let spillgate_workspace_tools::Body::Oversized(mut whole) = answer.body else {
        panic!("it is given whole");
    };
    let mut text = String::new();
    std::io::Read::read_to_string(&mut whole.whole, &mut text).unwrap();
    assert!(text.ends_with("\n30000\n"));
}

#[test]
fn a_search() {
    let many = "let key = 1; // and what else there is to say of it in a line that is long, \
                as lines of a program should not be, but as they are\n"
        .repeat(300);
    let names: Vec<String> = (0..30).map(|at| format!("src/{at}.rs")).collect();
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), &*many)).collect();
    let most = many.repeat(3);
    files[4].1 = &most;
    files.push((".hidden/x.rs", &many));
    let root = tree(&files);
    let tools = detailed(root.path(), Rules::default());
    let arguments = json!({"pattern": "KEY =", "ignore_case": true, "glob": "*.rs"});
    assert_snapshot!(shown(&tools, "grep_content", &arguments), @r#"
    Error: Search returned ~341499 tokens of matches. Please use a more specific pattern or limit results with max_results parameter.

    --- Recovery Options ---
    Search: KEY = | 9600 matches, 30 files

    Structure:
      - src/4.rs (900 matches)
      - src/0.rs (300 matches)
      - src/1.rs (300 matches)
      - src/10.rs (300 matches)
      - src/11.rs (300 matches)
      - src/12.rs (300 matches)
      - src/13.rs (300 matches)
      - src/14.rs (300 matches)
      - src/15.rs (300 matches)
      - src/16.rs (300 matches)

    Commands:
      • grep_content(pattern="KEY =", path="src/4.rs", glob="*.rs", ignore_case=true, max_results=40)
      • grep_content(pattern="KEY =", path=".", glob="*.rs", ignore_case=true, mode="count")
      • grep_content(pattern="KEY =", path=".", glob="*.rs", ignore_case=true, max_results=40)
    ----
    [Results 1-40 of 900]
    Found 9600 matching lines in 30 files
    [Results 1-40 of 9600]
    "#);
    let other = [
        json!({"pattern": "key", "max_results": 3000}),
        json!({"pattern": "key", "path": "src/4.rs", "max_results": 0, "context": 1, "no_ignore": "true"}),
        json!({"pattern": "key", "path": "src", "hidden": true}),
    ];
    for arguments in other {
        let refusal = refused(&tools, "grep_content", &arguments);
        followed(&tools, &refusal);
    }
}

#[test]
fn a_search_for_names() {
    let root = TempDir::new().unwrap();
    for at in 0..300 {
        fs::write(root.path().join(format!("{}{at}", "n".repeat(50))), "key\n").unwrap();
    }
    let rules = Rules {
        max_tokens: 1000,
        ..Rules::default()
    };
    let tools = detailed(root.path(), rules);
    for mode in ["files", "count", "lines"] {
        let arguments = json!({"pattern": "key", "mode": mode});
        let refusal = refused(&tools, "grep_content", &arguments);
        followed(&tools, &refusal);
    }
}

#[test]
fn a_list_of_files() {
    let root = TempDir::new().unwrap();
    for (directory, files) in [("src/a", 700), ("src/b", 40), ("docs", 300), (".", 5)] {
        fs::create_dir_all(root.path().join(directory)).unwrap();
        for at in 0..files {
            let name = format!("{directory}/{at}.md");
            fs::write(root.path().join(&name), "").unwrap();
            // The newest come first. Of one age, the order does not depend on the clock.
            touch(&root, &name, 0);
        }
    }
    let tools = detailed(root.path(), Rules::default());
    assert_snapshot!(shown(&tools, "glob_files", &json!({"pattern": "*.md"})), @r#"
    Error: File list (1045 files) exceeds maximum allowed files (1000). Please use a more specific pattern or limit results with max_results parameter.

    --- Recovery Options ---
    Pattern: *.md | 1045 files

    Structure:
      - src/a (700 files)
      - docs (300 files)
      - src/b (40 files)
      - . (5 files)

    Commands:
      • glob_files(pattern="*.md", path="src/a", max_results=100)
      • glob_files(pattern="*.md", path=".", max_results=100)
    ----
    [Files 1-100 of 700]
    [Files 1-100 of 1045]
    "#);
    let small = Rules {
        max_tokens: 500,
        ..Rules::default()
    };
    let small = detailed(root.path(), small);
    let arguments = json!({"pattern": "src/**/*.md", "no_ignore": true, "max_results": 600});
    assert_snapshot!(shown(&small, "glob_files", &arguments), @r#"
    Error: File list (~1938 tokens) exceeds maximum allowed tokens (500). Please use a more specific pattern. Or list fewer at a time with max_results and offset parameters.

    --- Recovery Options ---
    Pattern: src/**/*.md | 740 files

    Structure:
      - src/a (700 files)
      - src/b (40 files)

    Commands:
      • glob_files(pattern="src/**/*.md", path=".", no_ignore=true, max_results=6)
    ----
    [Files 1-6 of 740]
    "#);
}

#[test]
fn a_page() {
    let root = tree(&[("page.md", "there already\n")]);
    let mut body = "<main><h1>Reference</h1>".to_owned();
    for part in 0..40 {
        let text = "<p>Words of it.</p>".repeat(250);
        write!(body, "<h2>Part {part}</h2>{text}").unwrap();
    }
    let server = RUNTIME.block_on(web::server::Server::start(vec![
        ("/page", web::server::page(200, "text/html", &body)),
        (
            "/raw",
            web::server::page(200, "text/plain", body.replace('>', ">\n")),
        ),
    ]));
    let tools = detailed(root.path(), web::rules(&server));
    let text = shown(&tools, "web_fetch", &json!({"url": server.url("/page")}));
    assert_snapshot!(server.masked(&text), @r#"
    Error: Page content (~35132 tokens) exceeds maximum allowed tokens (25000). Please use save_to parameter to save content to a file, then use grep_content to search it.

    --- Recovery Options ---
    Page: http://SERVER/page | 20081 lines, 140,482 chars

    Structure:
      - 10,041 paragraphs
      - 1: # Reference
      - 3: ## Part 0
      - 5: Words of it.
      - 1089: Words of it.
      - 3329: Words of it.
      - 5377: Words of it.
      - 7681: Words of it.
      - 9729: Words of it.
      - 12289: Words of it.
      (… 3 more)

    Commands:
      • web_fetch(url="http://SERVER/page", save_to="page-2.md")
    ----
    Saved [http://SERVER/page, 200, text/html] to 'page-2.md' as
    "#);
    let saved = fs::read_to_string(root.path().join("page-2.md")).unwrap();
    assert!(saved.starts_with("# Reference\n"), "{saved}");
    let refusal = refused(
        &tools,
        "web_fetch",
        &json!({"url": server.url("/raw"), "raw": true}),
    );
    assert!(refusal.contains("raw=true"), "{refusal}");
    followed(&tools, &refusal);
}
