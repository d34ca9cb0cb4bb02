//! What people download from: the page of a release, and registries on this machine for the tests.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use data_encoding::{BASE64, HEXLOWER};
use serde_json::{Value, json};
use sha2::{Digest, Sha256, Sha512};

use super::packages::{library_manifest, platform_manifest, tarball};
use super::{Release, SYSTEMS, copy_into, empty, names};
use crate::report::say;
use crate::workspace;

/// The list of checksums, as `sha256sum --check` reads it.
pub(super) const SUMS: &str = "SHA256SUMS";

/// Fills in the installer, the formula and `server.json`, writes the checksums, and lays out
/// registries like those of pip and npm.
pub(super) fn make(release: &Release) -> Result<Vec<PathBuf>> {
    let packaging = workspace::root().join("packaging");
    let mut made = Vec::new();
    for name in ["install.sh", "server.json"] {
        let text = fs::read_to_string(packaging.join(name))?;
        let file = release.dist(name);
        fs::write(&file, text.replace("@VERSION@", release.version))?;
        made.push(file);
    }
    let formula = fs::read_to_string(packaging.join("spillgate.rb"))?;
    let file = release.dist("spillgate.rb");
    fs::write(&file, formula_of(release, &formula)?)?;
    made.push(file);
    let sums = release.dist(SUMS);
    fs::write(&sums, sums_of(release)?)?;
    made.push(sums);
    registries(release)?;
    Ok(made)
}

/// The formula with the version and the checksums of the archives. An archive that was not built on
/// this machine gets a checksum that no file has.
fn formula_of(release: &Release, template: &str) -> Result<String> {
    let version = release.version;
    let base = format!("https://github.com/spillgate/spillgate/releases/download/v{version}");
    let mut formula = template
        .replace("@VERSION@", version)
        .replace("@BASE@", &base);
    for (triple, _) in SYSTEMS {
        let archive = release.dist(format!("{}.tar.gz", release.stem(triple)));
        let sum = if archive.exists() {
            sha256(&archive)?
        } else {
            say(&format!(
                "no archive for {triple} is here: the formula is incomplete\n"
            ))?;
            "0".repeat(64)
        };
        let place = format!("@SHA256_{}@", triple.to_uppercase().replace('-', "_"));
        formula = formula.replace(&place, &sum);
    }
    Ok(formula)
}

/// The checksums of all files that the release page offers.
fn sums_of(release: &Release) -> Result<String> {
    let mut lines = String::new();
    for name in names(&release.dist(""))? {
        let file = release.dist(&name);
        if file.is_file() && name != SUMS {
            lines += &format!("{}  {name}\n", sha256(&file)?);
        }
    }
    Ok(lines)
}

/// The SHA-256 of a file in hexadecimal digits.
fn sha256(file: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    let mut open =
        fs::File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        match open.read(&mut buffer)? {
            0 => return Ok(HEXLOWER.encode(&hash.finalize())),
            bytes => hash.update(&buffer[..bytes]),
        }
    }
}

/// Lays out files so that any server of files can be asked by pip, npm and the installer.
fn registries(release: &Release) -> Result<()> {
    let home = release.dist("registry");
    empty(&home)?;
    copy_into(&home.join("simple/spillgate"), &[release.wheel_file()?])?;
    let mut page = vec![release.dist(SUMS)];
    page.push(release.dist(format!("{}.tar.gz", release.stem(&release.triple))));
    copy_into(&home.join("page"), &page)?;
    let library = library_manifest()?;
    let packed = fs::read_to_string(release.dist("npm/library/package.json"))?;
    describe(release, &serde_json::from_str(&packed)?)?;
    for (_, node) in SYSTEMS {
        fs::create_dir_all(home.join("@spillgate"))?;
        describe(release, &platform_manifest(&library, node))?;
    }
    Ok(())
}

/// Writes what a registry tells npm about a package, and copies its tarball if it was built here.
/// npm asks about all systems, but downloads only the package for its own.
fn describe(release: &Release, manifest: &Value) -> Result<()> {
    let name = manifest["name"].as_str().context("a package has a name")?;
    let tarball = tarball(name, release.version);
    let file = release.dist("npm").join(&tarball);
    let home = release.dist("registry");
    let mut version = manifest.clone();
    version["dist"] = json!({ "tarball": format!("http://127.0.0.1/tarballs/{tarball}") });
    if file.exists() {
        let hash = BASE64.encode(&Sha512::digest(fs::read(&file)?));
        version["dist"]["integrity"] = json!(format!("sha512-{hash}"));
        copy_into(&home.join("tarballs"), &[file])?;
    }
    let told = json!({
        "name": name,
        "dist-tags": { "latest": release.version },
        "versions": { release.version: version },
    });
    Ok(fs::write(home.join(name), serde_json::to_string(&told)?)?)
}
