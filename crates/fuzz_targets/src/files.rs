//! Fuzz targets for files that users and clients write: settings, agents, clients' configurations.

use std::fs;
use std::path::{Path, PathBuf};

use spillgate_agent_files::{ConfigFile, PromptFile, Settings, resolve};
use spillgate_clients::{
    Client, Gateway, Records, ServerTable, Surroundings, inspect, json_values, places, unwrap, wrap,
};
use spillgate_config::{Naming, read, toml};
use spillgate_extract::ExtractionSettings;
use spillgate_llm::{ModelConfig, ProviderConfig};
use spillgate_offload::{Policy, Rule};
use tempfile::TempDir;

use crate::first_line;

/// Looks up a variable for a configuration. Names of less than 4 bytes are set, all others are
/// unset.
fn variable(name: &str) -> Option<String> {
    (name.len() < 4).then(|| "value".to_owned())
}

/// Reads a `.ai-agent.json`. An invalid file must give errors. A valid file must give an agent, or
/// errors that name missing settings.
pub fn agent_config(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match ConfigFile::parse(&text, Path::new("/a/.ai-agent.json"), &variable) {
        Err(problems) => assert!(!problems.to_string().is_empty()),
        Ok(file) => {
            let prompt = "---\nmodels: a/b\ntools: [fs]\n---\nDo it.\n";
            let prompt = PromptFile::parse(prompt, Path::new("/a/b.ai")).unwrap();
            settled(&prompt, &[file]);
        }
    }
}

/// Reads a prompt file: frontmatter in YAML, then the prompt.
pub fn prompt_file(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match PromptFile::parse(&text, Path::new("/a/b.ai")) {
        Err(problems) => assert!(!problems.to_string().is_empty()),
        Ok(prompt) => settled(&prompt, &[]),
    }
}

fn settled(prompt: &PromptFile, files: &[ConfigFile]) {
    match resolve(&Settings::default(), prompt, files) {
        Err(problems) => assert!(!problems.to_string().is_empty()),
        Ok(agent) => drop(agent.settings().len()),
    }
}

/// Reads settings in TOML: the tables of `spillgate.toml` that the library crates read.
pub fn settings(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(root) = toml::parse(&text) else {
        return;
    };
    if let Ok(rule) = read::<Rule>(&root, Naming::Exact) {
        let _ = rule.clone().resolve();
        let _ = Policy::new(rule, [], []);
    }
    if let Ok(settings) = read::<ExtractionSettings>(&root, Naming::Exact) {
        let _ = settings.within(1000);
    }
    let _ = read::<ProviderConfig>(&root, Naming::Exact).map(|one| format!("{one:?}"));
    let _ = read::<ModelConfig>(&root, Naming::Exact).map(|one| format!("{one:?}"));
}

/// Wraps and unwraps the configuration of a client. The first line names the client, the rest is
/// its file. Servers must be wrapped only once, and unwrapping must restore the file byte for byte.
pub fn client_files(bytes: &[u8]) {
    let (name, text) = first_line(bytes);
    let name = String::from_utf8_lossy(name);
    let _ = std::str::from_utf8(text).map(json_values);
    let Ok(client) = name.trim().parse::<Client>() else {
        return;
    };
    let client_file = ClientFile::new(client, text);
    if client_file.inspected().is_err() || !client_file.wrap() {
        return;
    }
    let wrapped = fs::read(&client_file.file).unwrap();
    client_file.inspected().unwrap();
    assert!(client_file.wrap(), "what was wrapped can be wrapped again");
    assert_eq!(
        fs::read(&client_file.file).unwrap(),
        wrapped,
        "wrapping again changes nothing"
    );
    client_file.unwrap();
    let back = fs::read(&client_file.file).unwrap();
    assert_eq!(
        String::from_utf8_lossy(&back),
        String::from_utf8_lossy(text)
    );
    assert_eq!(back, text, "what comes out is what went in");
}

/// A client's file in a temporary home directory.
struct ClientFile {
    client: Client,
    home: TempDir,
    file: PathBuf,
}

impl ClientFile {
    fn new(client: Client, text: &[u8]) -> Self {
        let home = TempDir::new().unwrap();
        let file = all(client, home.path()).swap_remove(0).file;
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        Self { client, home, file }
    }

    fn places(&self) -> Vec<ServerTable> {
        all(self.client, self.home.path())
    }

    fn records(&self) -> Records {
        Records::new(self.home.path().join("state"))
    }

    fn inspected(&self) -> Result<(), spillgate_clients::ClientsError> {
        let report = inspect(self.client, &self.file, &self.places(), &self.records())?;
        assert!(report.is_some());
        Ok(())
    }

    /// Wraps the file's servers; returns whether that was possible.
    fn wrap(&self) -> bool {
        let gateway = Gateway {
            program: "/bin/spillgate".into(),
            arguments: vec![],
            lookups: true,
        };
        let (places, records) = (self.places(), self.records());
        let Ok(plan) = wrap(self.client, &self.file, &places, &[], &gateway, &records) else {
            return false;
        };
        let plan = plan.unwrap();
        let _ = plan.diff();
        plan.carry_out(&records).unwrap();
        true
    }

    fn unwrap(&self) {
        let (places, records) = (self.places(), self.records());
        let plan = unwrap(self.client, &self.file, &places, true, &[], &records);
        plan.unwrap().unwrap().carry_out(&records).unwrap();
    }
}

fn all(client: Client, home: &Path) -> Vec<ServerTable> {
    let around = Surroundings {
        home: home.to_owned(),
        config: home.join(".config"),
        project: home.join("project"),
        codex_home: None,
        copilot_home: None,
        claude_config: None,
        macos: false,
    };
    places(client, &around)
}
