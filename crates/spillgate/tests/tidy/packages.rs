//! What packages and manifests for other programs must agree on.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use crate::{metadata, root};

/// The crates for users. All others say that they are internal.
const FOR_USERS: [&str; 2] = ["spillgate", "spillgate-offload"];

fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

fn json(path: &str) -> Value {
    let text = std::fs::read_to_string(root().join(path)).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn crates_can_be_published() {
    let metadata = metadata(&["--no-deps"]);
    let packages = metadata["packages"].as_array().unwrap();
    let mut wrong = Vec::new();
    for package in packages.iter().filter(|one| one["publish"].is_null()) {
        let name = package["name"].as_str().unwrap();
        let description = package["description"].as_str().unwrap_or_default();
        let is_internal = description.starts_with("Internal crate of Spillgate.");
        if description.is_empty() || is_internal == FOR_USERS.contains(&name) {
            wrong.push(format!(
                "{name}: its description does not say for whom it is"
            ));
        }
        for member in ["license", "readme", "repository", "homepage"] {
            if !package[member].is_string() {
                wrong.push(format!("{name} has no {member}"));
            }
        }
        let manifest = package["manifest_path"].as_str().unwrap();
        for file in ["LICENSE-MIT", "LICENSE-APACHE"] {
            if !std::path::Path::new(manifest).with_file_name(file).exists() {
                wrong.push(format!("{name} has no {file}"));
            }
        }
        for dependency in package["dependencies"].as_array().unwrap() {
            let on = dependency["name"].as_str().unwrap();
            // Cargo leaves a dev-dependency without a version out of the package, so that two crates
            // may need each other in tests.
            let expected = match dependency["kind"] == "dev" {
                true => "*".to_owned(),
                false => format!("={}", version()),
            };
            if on.starts_with("spillgate-") && dependency["req"] != expected {
                wrong.push(format!(
                    "{name} needs {on} {}, not {expected}",
                    dependency["req"]
                ));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn versions_are_equal_everywhere() {
    let plugins = [
        "plugins/claude-code/.claude-plugin/plugin.json",
        "plugins/codex/.codex-plugin/plugin.json",
        "plugins/gemini/gemini-extension.json",
        "bindings/typescript/package.json",
        "bindings/typescript/package-lock.json",
        "packaging/server.json",
    ];
    let mut found: BTreeMap<String, Value> = BTreeMap::new();
    for path in plugins {
        found.insert(path.to_owned(), json(path)["version"].clone());
    }
    let market = json(".claude-plugin/marketplace.json");
    found.insert(
        "marketplace.json".into(),
        market["plugins"][0]["version"].clone(),
    );
    for package in json("packaging/server.json")["packages"]
        .as_array()
        .unwrap()
    {
        let kind = package["registryType"].as_str().unwrap();
        let version = match kind {
            "oci" => package["identifier"]
                .as_str()
                .unwrap()
                .rsplit(':')
                .next()
                .unwrap()
                .into(),
            _ => package["version"].clone(),
        };
        found.insert(format!("packaging/server.json, {kind}"), version);
    }
    found.retain(|_, found| *found != version());
    assert_eq!(found, BTreeMap::new(), "Cargo.toml has {}", version());
    // The wheel, the formula and the installer take the version from Cargo.toml.
    for (path, way) in [
        ("bindings/python/pyproject.toml", "dynamic = [\"version\"]"),
        ("packaging/spillgate.rb", "version \"@VERSION@\""),
        ("packaging/install.sh", "released=@VERSION@"),
    ] {
        assert!(
            std::fs::read_to_string(root().join(path))
                .unwrap()
                .contains(way),
            "{path}"
        );
    }
}

#[test]
fn the_registry_of_servers_accepts_the_names() {
    let server = json("packaging/server.json");
    let name = server["name"].as_str().unwrap();
    assert!(server["description"].as_str().unwrap().len() <= 100);
    // The registry looks for the name in each package.
    assert_eq!(json("bindings/typescript/package.json")["mcpName"], name);
    for (path, marker) in [
        ("bindings/python/README.md", format!("mcp-name: {name} ")),
        (
            "packaging/Dockerfile",
            format!("io.modelcontextprotocol.server.name=\"{name}\""),
        ),
    ] {
        let text = std::fs::read_to_string(root().join(path)).unwrap();
        assert!(text.contains(&marker), "{path} lacks {marker:?}");
    }
}

/// A plugin covers what `wrap --hooks` covers, and its server is the one with the look-up tools.
#[test]
fn plugins_do_what_wrap_does() {
    let cases = [
        ("claude-code", ".claude/settings.json", ".mcp.json"),
        ("codex", ".codex/hooks.json", ".mcp.json"),
        ("gemini", ".gemini/settings.json", "gemini-extension.json"),
    ];
    for (client, written, servers) in cases {
        let home = tempfile::tempdir().unwrap();
        let done = Command::new(env!("CARGO_BIN_EXE_spillgate"))
            .args(["wrap", client, "--hooks"])
            .env_clear()
            .env("HOME", home.path())
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
        let text = std::fs::read_to_string(home.path().join(written)).unwrap();
        let written: Value = serde_json::from_str(&text).unwrap();
        let plugin = json(&format!("plugins/{client}/hooks/hooks.json"));
        assert_eq!(hooks(&plugin), hooks(&written), "{client}");
        let commands = plugin["hooks"].to_string();
        assert!(
            commands.contains(&format!("spillgate hook {client}")),
            "{commands}"
        );
        let server = &json(&format!("plugins/{client}/{servers}"))["mcpServers"]["spillgate"];
        assert_eq!(server["command"], "spillgate", "{client}");
        assert_eq!(
            server["args"],
            serde_json::json!(["mcp", "--lookups"]),
            "{client}"
        );
    }
}

/// The events of hooks, with the tools and the time that each may take.
fn hooks(file: &Value) -> BTreeMap<String, (Value, Value)> {
    let events = file["hooks"].as_object().unwrap().iter();
    let entry = |(event, groups): (&String, &Value)| {
        let group = &groups[0];
        (
            event.clone(),
            (
                group["matcher"].clone(),
                group["hooks"][0]["timeout"].clone(),
            ),
        )
    };
    events.map(entry).collect()
}
