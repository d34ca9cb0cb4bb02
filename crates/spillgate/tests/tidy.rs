//! Tests of the project's rules. CONTRIBUTING.md explains each of them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

#[path = "tidy/packages.rs"]
mod packages;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Parses the rules for dependencies (`deny.toml`).
fn deny() -> toml_edit::DocumentMut {
    let text = std::fs::read_to_string(root().join("deny.toml")).unwrap();
    text.parse().unwrap()
}

fn metadata(arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO"))
        .current_dir(root())
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--all-features",
        ])
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns all Rust files of the workspace, by path from its root.
fn sources() -> BTreeMap<String, String> {
    let sources = files(&["crates", "xtask", "benches"], "rs");
    assert!(sources.len() > 50, "the sources are somewhere else now");
    sources
}

/// Returns the files with this extension in and below these directories, by path from the root.
fn files(below: &[&str], ending: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut directories: Vec<PathBuf> = below.iter().map(|one| root().join(one)).collect();
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == ending)
            {
                let name = path.strip_prefix(root()).unwrap().display().to_string();
                found.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

fn is_test_file(name: &str) -> bool {
    name.contains("/tests/") || name.contains("testkit/") || name.starts_with("benches/")
}

#[test]
fn crates_keep_to_their_floors() {
    let metadata = metadata(&["--no-deps"]);
    let packages = metadata["packages"].as_array().unwrap();
    let floor = |package: &Value| package["metadata"]["spillgate"]["floor"].as_u64();
    let name = |package: &Value| package["name"].as_str().unwrap().to_owned();
    let floors: BTreeMap<String, u64> = packages
        .iter()
        .filter_map(|package| Some((name(package), floor(package)?)))
        .collect();
    let mut wrong = Vec::new();
    for package in packages {
        let of = name(package);
        // What only tests and measurements need has no floor.
        let Some(&own) = floors.get(&of) else {
            if !["spillgate-testkit", "spillgate-counts"].contains(&&*of) {
                wrong.push(format!("{of} says no `package.metadata.spillgate.floor`"));
            }
            continue;
        };
        for dependency in package["dependencies"].as_array().unwrap() {
            let on = dependency["name"].as_str().unwrap();
            let is_dev = dependency["kind"] == "dev";
            let is_ours = on.starts_with("spillgate");
            if !is_dev && is_ours && floors.get(on).is_none_or(|&floor| floor >= own) {
                wrong.push(format!("{of} (floor {own}) depends on {on}"));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn dependencies_have_licences_that_ours_allow() {
    let platform = "x86_64-unknown-linux-gnu";
    let deny = deny();
    let allowed = deny["licenses"]["allow"].as_array().unwrap();
    let allowed: BTreeSet<&str> = allowed.iter().filter_map(|one| one.as_str()).collect();
    let mut wrong = Vec::new();
    for package in metadata(&["--filter-platform", platform])["packages"]
        .as_array()
        .unwrap()
    {
        let licence = package["license"].as_str().unwrap_or("none");
        // At least one alternative must be allowed with all of its parts.
        let fits = licence.replace('/', " OR ").split(" OR ").any(|one| {
            let one = one.trim_matches(['(', ')', ' ']);
            one.split(" AND ")
                .all(|part| allowed.contains(part.trim_matches(['(', ')', ' '])))
        });
        if !fits {
            wrong.push(format!("{}: {licence}", package["name"]));
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn a_second_version_of_a_package_has_its_reason() {
    let deny = deny();
    let skipped = deny["bans"]["skip"].as_array().unwrap().iter();
    let skipped = skipped.map(|one| one.as_inline_table().unwrap()["crate"].as_str().unwrap());
    let skipped: BTreeSet<String> = skipped.map(str::to_owned).collect();
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for target in deny["graph"]["targets"].as_array().unwrap() {
        let metadata = metadata(&["--filter-platform", target.as_str().unwrap()]);
        for package in metadata["packages"].as_array().unwrap() {
            let [name, version] = ["name", "version"].map(|key| package[key].as_str().unwrap());
            let known = versions.entry(name.to_owned()).or_default();
            if !known.iter().any(|one| one == version) {
                known.push(version.to_owned());
            }
        }
    }
    let number = |version: &str| -> Vec<u64> {
        let numbers = version.split(|c: char| !c.is_ascii_digit());
        numbers.filter_map(|part| part.parse().ok()).collect()
    };
    let older = versions.into_iter().flat_map(|(name, mut versions)| {
        versions.sort_by_key(|version| number(version));
        versions.pop();
        versions.into_iter().map(move |one| format!("{name}@{one}"))
    });
    // An entry of `skip` must be removed when no dependency needs it any more.
    assert_eq!(older.collect::<BTreeSet<_>>(), skipped);
}

#[test]
fn files_state_what_they_provide() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        let head = text.lines().take_while(|line| line.starts_with("//! "));
        let head: Vec<&str> = head.collect();
        match head.last() {
            None => wrong.push(format!("{name}: it does not begin with `//! `")),
            Some(last) if last.trim_end().ends_with('?') => {
                wrong.push(format!("{name}: its head asks instead of stating"));
            }
            Some(_) => {}
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn nothing_is_put_off() {
    let put_off = ["TO", "DO"].concat();
    let ignored = ["#[ig", "nore"].concat();
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        for word in [&put_off, &ignored] {
            if text.contains(word.as_str()) {
                wrong.push(format!("{name}: {word}"));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn the_protocol_is_spelled_in_one_crate() {
    // The error codes of JSON-RPC and of MCP, without the prefix `-3`.
    let codes = [
        "2700", "2600", "2601", "2602", "2603", "2000", "2001", "2002",
    ];
    let newer = ["2020", "2021", "2022", "2042"];
    let codes = codes.into_iter().chain(newer);
    let words: Vec<String> = codes
        .map(|code| format!("-3{code}"))
        .chain([["json", "rpc"].concat()])
        .collect();
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        let elsewhere = ["crates/mcp/", "xtask/", "crates/fuzz_targets/"];
        let is_test =
            is_test_file(&name) || name.ends_with("tests.rs") || name.contains("/examples/");
        if is_test || elsewhere.iter().any(|one| name.starts_with(one)) {
            continue;
        }
        let text = without_tests(&text);
        let found = words.iter().filter(|word| text.contains(word.as_str()));
        wrong.extend(found.map(|word| format!("{name}: {word} belongs into `spillgate_mcp`")));
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn a_public_name_means_one_thing() {
    // Names that many crates use for a type of their own.
    const COMMON: [&str; 3] = ["Client", "Config", "Error"];
    let mut crates: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, text) in sources() {
        let Some(of) = name
            .strip_prefix("crates/")
            .and_then(|rest| rest.split('/').next())
        else {
            continue;
        };
        if is_test_file(&name) || name.contains("/examples/") || of == "fuzz_targets" {
            continue;
        }
        for item in syn::parse_file(&text).unwrap().items {
            let (visibility, ident) = match item {
                syn::Item::Struct(item) => (item.vis, item.ident),
                syn::Item::Enum(item) => (item.vis, item.ident),
                syn::Item::Trait(item) => (item.vis, item.ident),
                syn::Item::Type(item) => (item.vis, item.ident),
                _ => continue,
            };
            if matches!(visibility, syn::Visibility::Public(_)) {
                let all = crates.entry(ident.to_string()).or_default();
                all.insert(of.to_owned());
            }
        }
    }
    crates.retain(|name, of| of.len() > 2 && !COMMON.contains(&name.as_str()));
    assert_eq!(
        crates,
        BTreeMap::new(),
        "public types of more than two crates"
    );
}

#[test]
fn public_errors_are_types() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        let is_library = name.starts_with("crates/") && !name.starts_with("crates/spillgate/");
        if is_library && !is_test_file(&name) {
            let mut errors = TextErrors::default();
            errors.visit_file(&syn::parse_file(&text).unwrap());
            wrong.extend(
                errors
                    .of
                    .iter()
                    .map(|function| format!("{name}: `{function}`")),
            );
        }
    }
    assert_eq!(wrong, [""; 0], "`Result<_, String>` in a public item");
}

#[test]
fn what_is_cited_is_in_the_tree() {
    let pages = pages();
    let records: BTreeSet<&str> = pages
        .keys()
        .filter_map(|name| name.strip_prefix("docs/decisions/")?.get(..4))
        .collect();
    let mut wrong = Vec::new();
    for (name, prose) in prose(&pages) {
        let lower = prose.to_lowercase();
        let outside = ["seed 0", "seeds 0"]
            .into_iter()
            .any(|it| lower.contains(it));
        if outside || numbers_after(&prose, "SPEC ").next().is_some() {
            wrong.push(format!("{name}: cites a document that is not in the tree"));
        }
        let missing = numbers_after(&prose, "ADR ")
            .filter(|number| !records.contains(&*format!("{number:0>4}")));
        wrong.extend(missing.map(|number| format!("{name}: there is no ADR {number}")));
        for citation in citations(&prose) {
            let path = match pages.contains_key(&name) {
                true => beside(&name, citation.path, &pages),
                false => citation.path.to_owned(),
            };
            let Some(page) = pages.get(&path) else {
                wrong.push(format!(
                    "{name}: there is no {} from the root",
                    citation.path
                ));
                continue;
            };
            let headings: Vec<String> = headings(page).collect();
            let has = |section: &str| headings.iter().any(|heading| heading == section);
            if citation.section.is_some_and(|section| !has(section)) {
                wrong.push(format!(
                    "{name}: {path} has no \"{}\"",
                    citation.section.unwrap()
                ));
            }
            let is_slug = |slug: &str| headings.iter().any(|heading| slug_of(heading) == slug);
            if citation.slug.is_some_and(|slug| !is_slug(slug)) {
                wrong.push(format!("{name}: {path} has no #{}", citation.slug.unwrap()));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn links_lead_somewhere() {
    let pages = pages();
    let link = regex::Regex::new(r"\]\(([^)\s:]+)\)").unwrap();
    let mut wrong = Vec::new();
    for (name, page) in &pages {
        let text = without_code(page);
        for found in link.captures_iter(&text) {
            let (path, slug) = found[1].split_once('#').unwrap_or((&found[1], ""));
            let there = match path {
                "" => name.clone(),
                path => resolved(name, path),
            };
            let has_slug = slug.is_empty()
                || pages
                    .get(&there)
                    .is_some_and(|page| headings(page).any(|it| slug_of(&it) == slug));
            if !root().join(&there).exists() || !has_slug {
                wrong.push(format!("{name}: {}", &found[1]));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

/// The maximum number of words of a page.
const LONGEST_PAGE: usize = 1500;

/// Pages of `docs` that may be longer: what programs printed, and texts and rules in full.
const LONGER: [&str; 3] = ["reference/", "performance.md", "spec/"];

#[test]
fn pages_are_short() {
    let mut wrong = Vec::new();
    for (name, page) in files(&["docs"], "md") {
        let below = name.split_once("docs/").unwrap().1;
        let words = page.split_whitespace().count();
        if words > LONGEST_PAGE && !LONGER.iter().any(|it| below.starts_with(it)) {
            wrong.push(format!("{name} has {words} words"));
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn the_book_has_every_page() {
    let summary = std::fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let mut wrong = Vec::new();
    for name in files(&["docs"], "md").keys() {
        let below = name.split_once("docs/").unwrap().1;
        if below != "SUMMARY.md" && summary.matches(&format!("]({below})")).count() != 1 {
            wrong.push(format!("docs/SUMMARY.md does not list {below} once"));
        }
    }
    assert_eq!(wrong, [""; 0]);
}

/// The maximum number of files through which one oversized result passes.
const LONGEST_WAY: usize = 20;

#[test]
fn the_way_of_a_result_is_as_listed() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, section) = page
        .split_once("### The way of one oversized result")
        .unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let (mut wrong, mut ways) = (Vec::new(), 0);
    for list in section.split("\n#### ").skip(1) {
        let (files, missing) = files_named(list);
        wrong.extend(missing);
        let words = list.split_whitespace().collect::<Vec<_>>().join(" ");
        let Some(told) = numbers_after(&words, "passes through ").next() else {
            continue;
        };
        ways += 1;
        let told: usize = told.parse().unwrap();
        if told != files.len() || told > LONGEST_WAY {
            wrong.push(format!(
                "{told} files are announced, {} are named",
                files.len()
            ));
        }
    }
    assert_eq!(wrong, [""; 0]);
    assert_eq!(ways, 2);
}

/// Returns the files that a text names between backticks, and what does not exist of them or of
/// their functions, which stand in parentheses after them.
fn files_named(text: &str) -> (BTreeSet<&str>, Vec<String>) {
    let (mut files, mut missing) = (BTreeSet::new(), Vec::new());
    let pieces: Vec<&str> = text.split('`').collect();
    let mut file: Option<(&str, String)> = None;
    for pair in pieces.chunks_exact(2) {
        let (prose, name) = (pair[0].trim(), pair[1]);
        if Path::new(name).extension().is_some_and(|it| it == "rs") {
            files.insert(name);
            let source = std::fs::read_to_string(root().join("crates").join(name));
            if source.is_err() {
                missing.push(format!("there is no crates/{name}"));
            }
            file = source.ok().map(|source| (name, source));
            continue;
        }
        if prose != "(" && prose != "," {
            file = None;
        }
        let function = name.rsplit("::").next().unwrap_or(name);
        if let Some((of, source)) = &file
            && !source.contains(&format!("fn {function}("))
        {
            missing.push(format!("{of} has no function {function}"));
        }
    }
    (files, missing)
}

/// Returns the documents of the project, by path from the root.
fn pages() -> BTreeMap<String, String> {
    let mut pages = files(&["docs", "crates", "evaluation", "xtask", "benches"], "md");
    for entry in std::fs::read_dir(root()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") {
            let name = path.file_name().unwrap().display().to_string();
            pages.insert(name, std::fs::read_to_string(&path).unwrap());
        }
    }
    pages
}

/// Returns all prose: documents without their code, and the comments of programs. Line breaks
/// become spaces, so that each sentence is in one piece.
fn prose(pages: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut prose: BTreeMap<String, String> = pages
        .iter()
        .map(|(name, page)| (name.clone(), without_code(page)))
        .collect();
    for (ending, mark) in [("rs", "//"), ("mjs", "//"), ("py", "#"), ("toml", "#")] {
        let all = files(&["crates", "xtask", "benches"], ending);
        let comments = all.into_iter().map(|(name, text)| {
            let lines = text
                .lines()
                .map(|line| match line.trim_start().strip_prefix(mark) {
                    Some(comment) => comment.trim_start_matches(['/', '!']).trim(),
                    None => line
                        .split_once(&format!(" {mark} "))
                        .map_or("\n", |(_, it)| it),
                });
            (name, lines.collect::<Vec<_>>().join(" "))
        });
        prose.extend(comments);
    }
    prose
}

/// Returns the lines of a document that are not code, joined.
fn without_code(page: &str) -> String {
    let mut is_code = false;
    let lines = page.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Returns the headings of a document, without the backticks of code.
fn headings(page: &str) -> impl Iterator<Item = String> {
    let mut is_code = false;
    page.lines().filter_map(move |line| {
        is_code ^= line.trim_start().starts_with("```");
        let heading = line.trim_start_matches('#');
        let is_heading = !is_code && line.len() > heading.len() && heading.starts_with(' ');
        is_heading.then(|| heading.trim().replace('`', ""))
    })
}

/// Returns the anchor that links use for a heading.
fn slug_of(heading: &str) -> String {
    let kept = heading.to_lowercase().replace(' ', "-");
    kept.replace(|c: char| !c.is_alphanumeric() && !"-_".contains(c), "")
}

/// A citation of a document: `path, "section"` or `path#slug`.
struct Citation<'a> {
    path: &'a str,
    section: Option<&'a str>,
    slug: Option<&'a str>,
}

fn citations(prose: &str) -> impl Iterator<Item = Citation<'_>> {
    let is_path = |c: char| c.is_alphanumeric() || "_./-".contains(c);
    prose.match_indices(".md").filter_map(move |(at, ending)| {
        let (before, rest) = prose.split_at(at + ending.len());
        let path = &before[before.trim_end_matches(is_path).len()..];
        let stem = path.strip_suffix(ending)?;
        // Skips patterns of names, other extensions and URLs.
        let is_name = stem.ends_with(|c: char| c.is_alphanumeric()) && !path.starts_with("//");
        if !is_name || rest.starts_with(|c: char| c.is_alphanumeric()) {
            return None;
        }
        let quoted = rest.trim_start_matches(['`', ')']).strip_prefix(',');
        let quoted = quoted.and_then(|rest| rest.trim_start().strip_prefix('"'));
        let slug = rest
            .strip_prefix('#')
            .and_then(|rest| rest.split(')').next());
        Some(Citation {
            path,
            section: quoted.and_then(|rest| rest.split('"').next()),
            slug,
        })
    })
}

/// Resolves a path that is relative to the root or to the citing document's directory.
fn beside(name: &str, path: &str, pages: &BTreeMap<String, String>) -> String {
    let there = resolved(name, path);
    match pages.contains_key(&there) {
        true => there,
        false => path.to_owned(),
    }
}

/// Resolves a path that is relative to the directory of the file `name`.
fn resolved(name: &str, path: &str) -> String {
    let directory = name.rsplit_once('/').map_or("", |(directory, _)| directory);
    let mut parts: Vec<&str> = directory
        .split('/')
        .filter(|part| !part.is_empty())
        .collect();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Returns the numbers that follow a word.
fn numbers_after<'a>(prose: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    prose.match_indices(word).filter_map(move |(at, _)| {
        let rest = &prose[at + word.len()..];
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        (end > 0).then(|| &rest[..end])
    })
}

/// Collects public functions that return a `Result<_, String>`.
#[derive(Default)]
struct TextErrors {
    of: Vec<String>,
    /// Whether the current signature returns such a type.
    found: bool,
}

impl TextErrors {
    fn look(&mut self, is_public: bool, signature: &syn::Signature) {
        self.found = false;
        visit::visit_signature(self, signature);
        if is_public && self.found {
            self.of.push(signature.ident.to_string());
        }
    }
}

impl<'ast> Visit<'ast> for TextErrors {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.look(matches!(item.vis, syn::Visibility::Public(_)), &item.sig);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.look(matches!(item.vis, syn::Visibility::Public(_)), &item.sig);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        let is_public = matches!(item.vis, syn::Visibility::Public(_));
        for one in &item.items {
            if let syn::TraitItem::Fn(function) = one {
                self.look(is_public, &function.sig);
            }
        }
    }

    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        if segment.ident == "Result"
            && let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments
            && let Some(syn::GenericArgument::Type(syn::Type::Path(error))) = arguments.args.last()
        {
            self.found |= arguments.args.len() == 2 && error.path.is_ident("String");
        }
        visit::visit_path_segment(self, segment);
    }
}

/// Returns the lines of a file that are not compiled for tests only.
fn without_tests(text: &str) -> String {
    let file = syn::parse_file(text).unwrap();
    let modules = file.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) if module.attrs.iter().any(is_cfg_test) => Some(module.span()),
        _ => None,
    });
    let tests: Vec<_> = modules
        .map(|span| span.start().line..=span.end().line)
        .collect();
    let lines = text.lines().enumerate();
    let kept = lines.filter(|(at, _)| !tests.iter().any(|lines| lines.contains(&(at + 1))));
    kept.map(|(_, line)| format!("{line}\n")).collect()
}

fn is_cfg_test(attribute: &syn::Attribute) -> bool {
    let meta = attribute.meta.require_list();
    attribute.path().is_ident("cfg") && meta.is_ok_and(|list| list.tokens.to_string() == "test")
}
