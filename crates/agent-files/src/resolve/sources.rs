//! Resolves the servers, HTTP APIs and other sources from which an agent takes its tools.

use globset::Glob;
use spillgate_config::{Position, camel};
use spillgate_llm::Target;

use super::{Run, or_dash};
use crate::agent::{SourceKind, ToolSource};
use crate::entry::Entry;
use crate::guarded::{self, GuardedTools};
use crate::problem::FileError;
use crate::sections::McpServer;
use crate::source::{Set, Source};
use crate::values::Names;
use crate::wrong::{nearest, quoted};

const KINDS: [SourceKind; 4] = [
    SourceKind::Mcp,
    SourceKind::Rest,
    SourceKind::OpenApi,
    SourceKind::Guarded,
];

/// Sections in which the variables of an entry must be set only if the entry is used.
const LAZY: [&str; 5] = [
    "providers",
    "mcpServers",
    "restTools",
    "openapiSpecs",
    guarded::SECTION,
];

/// The name of guarded tools without an entry: they work below the working directory, with the
/// built-in settings.
const GUARDED: &str = "guarded";

impl Run<'_> {
    pub(super) fn tools(&mut self) -> Vec<ToolSource> {
        let set = self.layers.pick("tools", |of| of.tools.clone());
        let set = set.unwrap_or_else(|| Set::built_in(Names::default()));
        let mut known = self.known();
        if is_unwritten(&set.value, &known) {
            known.push(self.unwritten(&set.source));
        }
        let mut chosen: Vec<ToolSource> = Vec::new();
        for (index, name) in set.value.0.iter().enumerate() {
            if let Err((what, hint)) = choose(name, &known, &mut chosen) {
                let is_hidden = set.written.is_some();
                let what = match is_hidden {
                    true => "names no tools; its value is not shown".to_owned(),
                    false => what,
                };
                let error = self.layers.wrong_element(&set.source, "tools", index, what);
                self.problems.add(error.hint(hint));
            }
        }
        self.row("tools", &set, |names| or_dash(names.0.join(", ")));
        chosen
    }

    /// Returns the guarded tools that `tools` names but no file configures. An entry of that name
    /// in any section takes precedence.
    fn unwritten(&self, named: &Source) -> ToolSource {
        let (file, place) = match named {
            Source::File { path, place, .. } => (path, *place),
            Source::CommandLine | Source::BuiltIn => (&self.layers.prompt.path, Position::START),
        };
        ToolSource {
            kind: SourceKind::Guarded,
            only: Vec::new(),
            server: None,
            guarded: Some(GuardedTools::default()),
            entry: Entry::unwritten(file, place, guarded::SECTION, GUARDED),
        }
    }

    /// Returns all entries that are a source of tools. If several entries have the same name, the
    /// one that takes precedence is returned.
    fn known(&mut self) -> Vec<ToolSource> {
        let mut known: Vec<ToolSource> = Vec::new();
        for file in self.layers.files {
            for kind in KINDS {
                for entry in file.entries(kind.section()) {
                    let same = known.iter().find(|one| one.entry.name() == entry.name());
                    match same {
                        None => known.push(ToolSource {
                            kind,
                            only: Vec::new(),
                            server: match kind {
                                SourceKind::Mcp => file.server(entry.name()).cloned(),
                                _ => None,
                            },
                            guarded: match kind {
                                SourceKind::Guarded => file.guarded(entry.name()).cloned(),
                                _ => None,
                            },
                            entry,
                        }),
                        Some(same) if same.kind != kind => {
                            let what = same_name(&same.entry, same.kind);
                            self.problems.add(entry.wrong(&[], what));
                        }
                        Some(_) => {}
                    }
                }
            }
        }
        known
    }

    /// Reports variables that are needed but unset.
    pub(super) fn unset(&mut self, models: &[Target], extract: &[Target], tools: &[ToolSource]) {
        let mut missing: Vec<FileError> = Vec::new();
        for file in self.layers.files {
            for unset in &file.unset {
                let section = unset.key.first().map(|key| camel(key)).unwrap_or_default();
                let name = unset.key.get(1).map(String::as_str).unwrap_or_default();
                let is_used = match section.as_str() {
                    "providers" => {
                        let mut targets = models.iter().chain(extract);
                        let nearest = self.layers.files.iter();
                        let mut nearest =
                            nearest.filter(|file| file.given.providers.contains_key(name));
                        targets.any(|target| target.provider == name)
                            && nearest.next().is_some_and(|one| one.path == file.path)
                    }
                    section if LAZY.contains(&section) => tools.iter().any(|tool| {
                        tool.entry.name() == name
                            && tool.entry.file() == file.path
                            && tool.kind.section() == section
                    }),
                    _ => true,
                };
                if is_used {
                    missing.push(file.unset(unset));
                }
            }
        }
        self.problems.0.extend(missing);
    }
}

/// Returns whether `guarded` is named and no file configures it.
fn is_unwritten(names: &Names, known: &[ToolSource]) -> bool {
    let mut known = known.iter();
    let is_named = |name: &String| {
        let host = name.split('/').next().unwrap_or_default();
        host.trim() == GUARDED
    };
    names.0.iter().any(is_named) && known.all(|one| one.entry.name() != GUARDED)
}

fn same_name(entry: &Entry, kind: SourceKind) -> String {
    format!(
        "has the name of one of {} ({}:{}), and `tools` could not tell them apart",
        kind.section(),
        entry.file().display(),
        entry.place().line
    )
}

/// Adds the sources and tools that `name` selects. If it selects none, returns the error and
/// advice.
fn choose(
    name: &str,
    known: &[ToolSource],
    chosen: &mut Vec<ToolSource>,
) -> Result<(), (String, String)> {
    let (of, tools) = parts(name.trim(), known);
    let glob = |text: &str| {
        Glob::new(text).map_err(|error| {
            let what = format!("{} is not a pattern: {}", quoted(name), error.kind());
            (
                what,
                "write NAME, or NAME/PATTERN such as fs/read_*".to_owned(),
            )
        })
    };
    let matcher = glob(of)?.compile_matcher();
    if let Some(tools) = tools {
        glob(tools)?;
    }
    let is_meant = |one: &&ToolSource| one.entry.name() == of || matcher.is_match(one.entry.name());
    let found: Vec<&ToolSource> = known.iter().filter(is_meant).collect();
    if found.is_empty() {
        let what = format!("there is no tool source {}", quoted(of));
        return Err((what, advice(of, known)));
    }
    for source in found {
        let is_named = source.entry.name() == of;
        if source.server.as_ref().is_some_and(McpServer::is_off) {
            if is_named {
                let entry = &source.entry;
                let (file, line) = (entry.file().display(), entry.place().line);
                let what = format!("{} is switched off ({file}:{line})", quoted(of));
                return Err((what, "remove `disabled` there, or the name here".to_owned()));
            }
            continue;
        }
        if tools.is_some() && source.kind == SourceKind::Rest {
            let what = format!("{} is a single tool and has no tools below it", quoted(of));
            return Err((what, format!("write {of}")));
        }
        add(source, tools, chosen);
    }
    Ok(())
}

/// Splits a name into the source and the pattern of its tools. The name of the source may itself
/// contain slashes, such as a name from the MCP registry: `io.github.owner/name`.
fn parts<'n>(name: &'n str, known: &[ToolSource]) -> (&'n str, Option<&'n str>) {
    let mut slashes = name.rmatch_indices('/').map(|(at, _)| at);
    let is_known = |name: &str| known.iter().any(|one| one.entry.name() == name);
    if is_known(name) {
        return (name, None);
    }
    let at = slashes.find(|&at| is_known(name[..at].trim()));
    match at.or_else(|| name.find('/')) {
        Some(at) => (name[..at].trim(), Some(name[at + 1..].trim())),
        None => (name, None),
    }
}

fn add(source: &ToolSource, tools: Option<&str>, chosen: &mut Vec<ToolSource>) {
    let same = |one: &&mut ToolSource| one.entry.name() == source.entry.name();
    match (chosen.iter_mut().find(same), tools) {
        (None, tools) => chosen.push(ToolSource {
            only: tools.map(str::to_owned).into_iter().collect(),
            ..source.clone()
        }),
        // All tools of the source are already chosen.
        (Some(one), Some(_)) if one.only.is_empty() => {}
        (Some(one), Some(tools)) => one.only.push(tools.to_owned()),
        (Some(one), None) => one.only.clear(),
    }
}

fn advice(name: &str, known: &[ToolSource]) -> String {
    match name {
        "batch" | "agent__batch" => {
            return "every session offers this tool by itself; see `batch`".to_owned();
        }
        "get_continuation" => {
            return "the session offers this tool with `toolOutput: {profile: continuation}`"
                .to_owned();
        }
        "tool_output" => {
            return "the session offers this tool once a result is stored; see `toolOutput`"
                .to_owned();
        }
        name if name.starts_with("agent__") => {
            return "every session offers this tool by itself".to_owned();
        }
        _ => {}
    }
    if known.is_empty() {
        return format!("no .ai-agent.json has servers or tools; `{GUARDED}` needs none");
    }
    let names = known.iter().map(|one| one.entry.name());
    nearest(name, names.chain([GUARDED]))
}
