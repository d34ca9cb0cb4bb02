//! Tests that the settings of the guarded tools take effect in the tools.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_testkit::log;

use super::tool::Tool;

/// Calls a tool from the command line with these settings, and returns the output.
fn called(tool: &Tool, settings: &str, name: &str, arguments: &Value) -> String {
    let (home, config) = (tool.home(), tool.home().join("guarded.toml"));
    fs::write(&config, settings).unwrap();
    let (config, home) = (config.to_str().unwrap(), home.to_str().unwrap());
    let arguments = arguments.to_string();
    let args = [
        "tools", "--config", config, "--root", home, "--call", name, &arguments,
    ];
    let output = tool.run(&args, b"");
    String::from_utf8(output.stdout).unwrap()
}

/// A server whose robots.txt forbids everything; it answers this many requests.
fn closed(requests: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(requests) {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]).unwrap();
            let rules = "User-agent: *\nDisallow: /\n";
            let length = rules.len();
            write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\
                 connection: close\r\n\r\n{rules}"
            )
            .unwrap();
        }
    });
    address
}

#[test]
fn robots_are_heeded_where_that_is_set() {
    let (tool, address) = (Tool::new(), closed(2));
    let page = json!({"url": format!("http://{address}/page")});
    let web = format!("[guarded.web]\nallow = [\"{address}\"]\n");
    let told = [
        called(&tool, &web, "web_fetch", &page),
        called(&tool, &(web + "robots = true\n"), "web_fetch", &page),
    ];
    let told = told.join("---\n").replace(&address.to_string(), "SERVER");
    assert_snapshot!(told, @"
    [http://SERVER/page, 200, text/plain]

    User-agent: *
    Disallow: /
    ---
    Error: 127.0.0.1 does not want programs to fetch this page: its robots.txt says so. Use another source; a person can open the page, or switch this check off in the configuration.
    ");
}

#[test]
fn refusals_are_detailed_where_that_is_set() {
    let tool = Tool::new();
    fs::write(tool.home().join("large.log"), log(5000)).unwrap();
    let file = json!({"file_path": "large.log"});
    let plain = called(&tool, "", "read_file", &file);
    let detailed = called(
        &tool,
        "[guarded]\ndetailed_recovery = true\n",
        "read_file",
        &file,
    );
    let block = detailed.strip_prefix(plain.trim_end()).unwrap();
    assert_snapshot!(block, @r#"


    --- Recovery Options ---
    File: large.log | 5000 lines, 316,518 chars

    Structure:
      - levels: ERROR 1, INFO 4,999
      - from 2026-11-21T10:00:00Z to 2026-11-21T10:59:59Z
      - 4,999× (line 1) <*> INFO worker-<*> processed batch id=<*> ok
      - 1× (line 501) <*> ERROR worker-<*> code=<*> disk quota exceeded on /data/<*>

    Commands:
      • grep_content(pattern="(?i)error|fail|warn|fatal|panic", path="large.log", max_results=40)
      • read_file(file_path="large.log", offset=0, limit=100)
      • read_file(file_path="large.log", offset=4900, limit=100)
    "#);
}
