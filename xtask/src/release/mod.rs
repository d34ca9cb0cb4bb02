//! `cargo xtask release`: builds and tests what a release consists of. It publishes nothing;
//! `.github/workflows/release.yml` does. docs/release.md describes both.
//!
//! ```text
//! target/dist/            what is released
//! target/dist/registry/   the same, as registries for pip and npm and as a page of downloads
//! target/release-crates/  the crates as packages, and what was built from them
//! target/release-tools/   what builds it: maturin, zig, node (from PyPI), cargo-about
//! ```

mod clean;
mod image;
mod packages;
mod page;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::command::{cargo, output, run};
use crate::report::{Report, say};
use crate::workspace;

/// What a step does. It returns the files that it made.
type Work = fn(&Release) -> Result<Vec<PathBuf>>;

/// The steps, each with a name. A later step needs what the earlier ones made.
const STEPS: [(&str, Work); 13] = [
    ("crates", crates),
    ("tools", tools::install),
    ("notices", packages::notices),
    ("wheel", packages::wheel),
    ("archive", packages::archive),
    ("npm-program", packages::npm_program),
    ("npm-library", packages::npm_library),
    ("page", page::make),
    ("install-wheel", clean::wheel),
    ("install-npm", clean::npm_packages),
    ("install-script", clean::script_installer),
    ("image", image::root_file_system),
    ("plugins", clean::plugins),
];

/// Runs all steps (`--dry-run`) or those that the arguments name.
pub(crate) fn run_with(report: &mut Report, arguments: &[String]) -> Result<()> {
    let known = STEPS.map(|(name, _)| name).join(", ");
    let all = arguments == ["--dry-run"];
    let wanted: Vec<&str> = arguments.iter().flat_map(|one| one.split(',')).collect();
    ensure!(
        !wanted.is_empty(),
        "say --dry-run for all steps, or name steps, separated by commas: {known}"
    );
    if let Some(unknown) = wanted
        .iter()
        .find(|one| !all && !known.split(", ").any(|it| it == **one))
    {
        bail!("there is no step {unknown:?}; known steps: {known}");
    }
    let release = Release::of_this_machine()?;
    for (name, work) in STEPS {
        if all || wanted.contains(&name) {
            report.step(name, || {
                for file in work(&release)? {
                    let bytes = fs::metadata(&file)?.len();
                    say(&format!("{:>12} bytes  {}\n", bytes, release.shown(&file)))?;
                }
                Ok(())
            })?;
        }
    }
    Ok(())
}

/// What is built, and where.
struct Release {
    version: &'static str,
    /// The system for which it is built, as cargo names it.
    triple: String,
    /// The same, as npm names it: operating system and processor.
    node: (&'static str, &'static str),
    /// Cargo's target directory.
    target: PathBuf,
}

/// The systems of a release, as cargo and as npm name them.
const SYSTEMS: [(&str, (&str, &str)); 4] = [
    ("x86_64-unknown-linux-gnu", ("linux", "x64")),
    ("aarch64-unknown-linux-gnu", ("linux", "arm64")),
    ("x86_64-apple-darwin", ("darwin", "x64")),
    ("aarch64-apple-darwin", ("darwin", "arm64")),
];

impl Release {
    /// A release for the system of this machine.
    fn of_this_machine() -> Result<Self> {
        let told = output(&mut cargo("--version --verbose"))?;
        let host = told.lines().find_map(|line| line.strip_prefix("host: "));
        let triple = host.context("cargo does not say its host")?;
        let system = SYSTEMS.iter().find(|(it, _)| *it == triple);
        let (_, node) = system.with_context(|| format!("there are no packages for {triple}"))?;
        let built = workspace::built()?;
        Ok(Self {
            version: env!("CARGO_PKG_VERSION"),
            triple: triple.to_owned(),
            node: *node,
            target: built
                .parent()
                .context("there is no target directory")?
                .to_owned(),
        })
    }

    /// A file of the release.
    fn dist(&self, name: impl AsRef<Path>) -> PathBuf {
        self.target.join("dist").join(name)
    }

    /// The program of this machine, as it is in the wheel.
    fn program(&self) -> PathBuf {
        self.dist("program/spillgate")
    }

    /// The name of the archive and of the directory in it, without an ending.
    fn stem(&self, triple: &str) -> String {
        format!("spillgate-{}-{triple}", self.version)
    }

    /// The file name of the wheel for this machine.
    fn wheel_file(&self) -> Result<PathBuf> {
        let is_wheel = |name: &str| Path::new(name).extension().is_some_and(|it| it == "whl");
        let mut wheels = names(&self.dist("wheels"))?
            .into_iter()
            .filter(|it| is_wheel(it));
        let wheel = wheels
            .next()
            .context("there is no wheel yet: run the step `wheel`")?;
        Ok(self.dist("wheels").join(wheel))
    }

    fn shown(&self, file: &Path) -> String {
        file.strip_prefix(&self.target)
            .unwrap_or(file)
            .display()
            .to_string()
    }
}

/// Packs all crates that are published, and builds each from its package, with all its features.
fn crates(release: &Release) -> Result<Vec<PathBuf>> {
    // Cargo unpacks what it has just packed into its home, in a directory named after the path of the
    // build, and never looks whether that is still the same: a later run needs another path.
    let home = release.target.join("release-crates");
    empty(&home)?;
    let made = fs::metadata(&home)?.modified()?;
    let builds = home.join(made.duration_since(UNIX_EPOCH)?.as_secs().to_string());
    let mut package = cargo("package --workspace --locked --all-features");
    for name in unpublished()? {
        package.args(["--exclude", &name]);
    }
    // A change that is not committed would be in no release, but may be tried.
    package
        .arg("--allow-dirty")
        .arg("--target-dir")
        .arg(&builds);
    // Nobody debugs these builds.
    package.envs([("CARGO_PROFILE_DEV_DEBUG", "0"), ("CARGO_INCREMENTAL", "0")]);
    run(&mut package)?;
    // No run uses them again, and they are large.
    let built = builds.join("debug");
    let size = output(Command::new("du").arg("-sh").arg(&built))?;
    say(&format!("removing the builds: {size}\n"))?;
    fs::remove_dir_all(&built)?;
    let packed = builds.join("package");
    let ending = format!("-{}.crate", release.version);
    let crates = names(&packed)?
        .into_iter()
        .filter(|name| name.ends_with(&ending));
    Ok(crates.map(|name| packed.join(name)).collect())
}

/// The names of the crates that no registry gets.
fn unpublished() -> Result<Vec<String>> {
    let told = output(&mut cargo("metadata --no-deps --format-version 1 --locked"))?;
    let told: Value = serde_json::from_str(&told).context("cargo metadata")?;
    let packages = told["packages"]
        .as_array()
        .context("cargo names no packages")?;
    Ok(packages
        .iter()
        .filter(|package| package["publish"].as_array().is_some_and(Vec::is_empty))
        .filter_map(|package| package["name"].as_str().map(str::to_owned))
        .collect())
}

/// An empty directory at this path. What was there is removed.
fn empty(directory: &Path) -> Result<()> {
    if directory.exists() {
        fs::remove_dir_all(directory)
            .with_context(|| format!("cannot clear {}", directory.display()))?;
    }
    fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))
}

/// Copies files into a directory, which is created.
fn copy_into(directory: &Path, files: &[PathBuf]) -> Result<()> {
    fs::create_dir_all(directory)?;
    for file in files {
        let name = file.file_name().context("a file has a name")?;
        fs::copy(file, directory.join(name))
            .with_context(|| format!("cannot copy {}", file.display()))?;
    }
    Ok(())
}

/// The names in a directory, sorted.
fn names(directory: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let entries =
        fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?;
    for entry in entries {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}
