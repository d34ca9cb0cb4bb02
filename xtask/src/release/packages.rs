//! The packages: notices of licences, the wheel, the archive and the packages for npm.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};

use super::tools::{node, npm, tool};
use super::{Release, SYSTEMS, copy_into, empty, names};
use crate::command::{cargo, output, run};
use crate::report::say;
use crate::workspace;

/// The file with the licences of what the program contains.
pub(super) const NOTICES: &str = "THIRD-PARTY.txt";

/// Phrases of licences of code that a package took from elsewhere. `packaging/about.toml` names their
/// files with checksums; cargo-about only warns if a file has changed.
const TAKEN: [&str; 4] = [
    "Copyright (c) 2004,2005, Richard Boulton",
    "Copyright (c) 2020 YaoYuan",
    "Copyright (c) 2014 Mathijs van de Nes",
    "UNICODE, INC. LICENSE AGREEMENT",
];

/// Writes the licences of all packages that the program contains.
pub(super) fn notices(release: &Release) -> Result<Vec<PathBuf>> {
    let root = workspace::root();
    let file = release.dist(NOTICES);
    fs::create_dir_all(release.dist(""))?;
    // The packages of all systems, of which a build needs only some. What follows works offline.
    run(&mut cargo("fetch --locked"))?;
    // The features that the wheel has.
    let about = "cargo-about generate --offline --locked --fail --features full \
                 --config packaging/about.toml --manifest-path crates/spillgate/Cargo.toml --output-file";
    let mut words = about.split_whitespace();
    let program = words.next().context("a command has a name")?;
    let mut command = tool(release, program)?;
    command.args(words).arg(&file).arg("packaging/about.hbs");
    run(command.current_dir(&root))?;
    let text = fs::read_to_string(&file)?;
    let tree =
        "tree --package spillgate --features full --edges normal --prefix none --locked --offline";
    let packages = packages(&output(&mut cargo(tree))?);
    let missing = missing(&text, &packages);
    ensure!(
        missing.is_empty(),
        "{NOTICES} lacks the licence of {}",
        missing.join(", ")
    );
    ensure!(
        !text.contains("- insta "),
        "{NOTICES} names packages that only tests need"
    );
    say(&format!(
        "{} packages are in the program; all have a licence\n",
        packages.len()
    ))?;
    // maturin puts it into the wheel.
    fs::copy(&file, root.join("bindings/python/LICENSE-THIRD-PARTY.txt"))?;
    Ok(vec![file])
}

/// Names and versions of the packages that `cargo tree --prefix none` lists, each once.
fn packages(tree: &str) -> BTreeSet<String> {
    let lines = tree.lines().filter_map(|line| {
        let (name, rest) = line.split_once(" v")?;
        let version = rest.split(' ').next()?;
        Some(format!("{name} {version}"))
    });
    lines.collect()
}

/// What the notices lack: packages, and licences of code that a package took from elsewhere.
fn missing<'a>(notices: &str, packages: &'a BTreeSet<String>) -> Vec<&'a str> {
    let named: BTreeSet<&str> = notices
        .lines()
        .filter_map(|line| line.strip_prefix("- "))
        // The address of the repository may follow.
        .map(|line| line.split_once(" (").map_or(line, |(package, _)| package))
        .collect();
    let packages = packages.iter().map(String::as_str);
    let taken = TAKEN.into_iter().filter(|phrase| !notices.contains(phrase));
    packages
        .filter(|package| !named.contains(package))
        .chain(taken)
        .collect()
}

/// Builds the program and the wheel with it. All other packages contain the same program, byte for
/// byte. On Linux, zig links it, so that it runs with glibc 2.28.
pub(super) fn wheel(release: &Release) -> Result<Vec<PathBuf>> {
    let wheels = release.dist("wheels");
    empty(&wheels)?;
    let mut maturin = tool(release, "maturin")?;
    maturin.args(["build", "--release", "--out"]).arg(&wheels);
    if release.node.0 == "linux" {
        maturin.args(["--zig", "--compatibility", "manylinux_2_28"]);
    }
    let root = workspace::root();
    run(maturin
        .env("CARGO_TARGET_DIR", &release.target)
        .current_dir(root.join("bindings/python")))?;
    let wheel = release.wheel_file()?;
    // Not where the program will be: the wheel has a directory of the same name.
    let opened = release.dist("wheel-content");
    empty(&opened)?;
    let python = release.target.join("release-tools/python/bin/python");
    run(Command::new(python)
        .args(["-m", "zipfile", "--extract"])
        .arg(&wheel)
        .arg(&opened))?;
    let stem = format!("spillgate-{}", release.version);
    empty(&release.dist("program"))?;
    let scripts = opened.join(format!("{stem}.data/scripts"));
    fs::rename(scripts.join("spillgate"), release.program())
        .with_context(|| format!("no program in {}", scripts.display()))?;
    fs::set_permissions(release.program(), fs::Permissions::from_mode(0o755))?;
    // maturin describes what it built.
    let described = opened.join(format!("{stem}.dist-info/sboms/spillgate.cyclonedx.json"));
    let sbom = release.dist(format!("{}.cdx.json", release.stem(&release.triple)));
    fs::copy(described, &sbom).context("the wheel has no bill of materials")?;
    Ok(vec![wheel, release.program(), sbom])
}

/// Packs the program with its licences.
pub(super) fn archive(release: &Release) -> Result<Vec<PathBuf>> {
    let stem = release.stem(&release.triple);
    let directory = release.dist("archive").join(&stem);
    empty(&directory)?;
    let root = workspace::root();
    let texts = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];
    let mut files: Vec<PathBuf> = texts.iter().map(|name| root.join(name)).collect();
    files.extend([release.dist(NOTICES), release.program()]);
    copy_into(&directory, &files)?;
    let archive = release.dist(format!("{stem}.tar.gz"));
    run(Command::new("tar")
        .args(["--create", "--gzip", "--file"])
        .arg(&archive)
        .arg("--directory")
        .arg(release.dist("archive"))
        .arg(&stem))?;
    Ok(vec![archive])
}

/// Packs the program for npm.
pub(super) fn npm_program(release: &Release) -> Result<Vec<PathBuf>> {
    let directory = release.dist("npm/program");
    empty(&directory)?;
    copy_into(&directory.join("bin"), &[release.program()])?;
    let root = workspace::root();
    copy_into(
        &directory,
        &[
            root.join("LICENSE-MIT"),
            root.join("LICENSE-APACHE"),
            release.dist(NOTICES),
        ],
    )?;
    let manifest = platform_manifest(&library_manifest()?, release.node);
    let readme = "The program of the package [spillgate](https://www.npmjs.com/package/spillgate) for one system.\n";
    fs::write(directory.join("README.md"), readme)?;
    fs::write(
        directory.join("package.json"),
        serde_json::to_string_pretty(&manifest)?,
    )?;
    Ok(vec![pack(release, &directory)?])
}

/// Builds the library and packs it for npm. It has one optional dependency for each system.
pub(super) fn npm_library(release: &Release) -> Result<Vec<PathBuf>> {
    let source = workspace::root().join("bindings/typescript");
    let install = "ci --ignore-scripts --no-audit --no-fund --loglevel=error";
    run(npm(release, "npm")?
        .args(install.split(' '))
        .current_dir(&source))?;
    let compiler = source.join("node_modules/typescript/bin/tsc");
    run(Command::new(node(release)?.join("bin/node"))
        .arg(compiler)
        .current_dir(&source))?;
    let directory = release.dist("npm/library");
    empty(&directory)?;
    let built: Vec<PathBuf> = names(&source.join("dist"))?
        .into_iter()
        .map(|name| source.join("dist").join(name))
        .collect();
    copy_into(&directory.join("dist"), &built)?;
    let texts = ["README.md", "LICENSE-MIT", "LICENSE-APACHE"].map(|name| source.join(name));
    copy_into(&directory, &texts)?;
    let mut manifest = library_manifest()?;
    let members = manifest
        .as_object_mut()
        .context("package.json is an object")?;
    // Both are for developers; npm would warn about the script.
    members.remove("scripts");
    members.remove("devDependencies");
    let programs: Map<String, Value> = SYSTEMS
        .iter()
        .map(|(_, system)| (platform_name(*system), json!(release.version)))
        .collect();
    members.insert("optionalDependencies".into(), Value::Object(programs));
    fs::write(
        directory.join("package.json"),
        serde_json::to_string_pretty(&manifest)?,
    )?;
    Ok(vec![pack(release, &directory)?])
}

/// The manifest of the library, as it is in the repository.
pub(super) fn library_manifest() -> Result<Value> {
    let path = workspace::root().join("bindings/typescript/package.json");
    serde_json::from_str(&fs::read_to_string(path)?).context("bindings/typescript/package.json")
}

/// The name of the npm package with the program for a system.
pub(super) fn platform_name((system, processor): (&str, &str)) -> String {
    format!("@spillgate/{system}-{processor}")
}

/// The manifest of the npm package with the program for a system. It has no scripts.
pub(super) fn platform_manifest(library: &Value, node: (&str, &str)) -> Value {
    let mut manifest = json!({
        "name": platform_name(node),
        "version": library["version"],
        "description": format!("The program spillgate for {}-{}", node.0, node.1),
        "license": library["license"],
        "repository": library["repository"],
        "homepage": library["homepage"],
        "os": [node.0],
        "cpu": [node.1],
        "files": ["bin", "LICENSE-*", NOTICES],
        "preferUnplugged": true,
    });
    if node.0 == "linux" {
        manifest["libc"] = json!(["glibc"]);
    }
    manifest
}

/// Makes the tarball of a package for npm.
fn pack(release: &Release, directory: &Path) -> Result<PathBuf> {
    let mut pack = npm(release, "npm")?;
    pack.args(["pack", "--loglevel=error", "--pack-destination"]);
    run(pack.arg(release.dist("npm")).current_dir(directory))?;
    let manifest: Value =
        serde_json::from_str(&fs::read_to_string(directory.join("package.json"))?)?;
    let name = manifest["name"].as_str().context("a package has a name")?;
    Ok(release.dist("npm").join(tarball(name, release.version)))
}

/// The file name that npm gives to a tarball.
pub(super) fn tarball(name: &str, version: &str) -> String {
    format!(
        "{}-{version}.tgz",
        name.trim_start_matches('@').replace('/', "-")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_must_name_each_package_and_what_it_took() {
        let tree = "spillgate v0.1.0 (/source/crates/spillgate)\n\
                    tokio v1.2.3\n\
                    serde_derive v1.0.1 (proc-macro)\n\
                    tokio v1.2.3 (*)\n";
        let packages = packages(tree);
        assert_eq!(
            packages.iter().collect::<Vec<_>>(),
            ["serde_derive 1.0.1", "spillgate 0.1.0", "tokio 1.2.3"]
        );
        let whole = format!(
            "- spillgate 0.1.0 (https://example.org)\n- tokio 1.2.3\n- serde_derive 1.0.1\n{}",
            TAKEN.join("\n")
        );
        let cases: [(&str, &str, &[&str]); 4] = [
            ("nothing", "nothing", &[]),
            ("tokio 1.2.3", "tokio 1.2.30", &["tokio 1.2.3"]),
            ("- tokio", "tokio", &["tokio 1.2.3"]),
            (TAKEN[1], "", &[TAKEN[1]]),
        ];
        for (from, to, lacks) in cases {
            let notices = whole.replace(from, to);
            assert_eq!(missing(&notices, &packages), lacks, "{from} → {to}");
        }
    }
}
