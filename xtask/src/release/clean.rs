//! Installs the packages as a user does, in environments without Rust, and runs the main job there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::tools::{node, npm};
use super::{Release, empty};
use crate::command::{output, run};
use crate::report::say;
use crate::served::Served;
use crate::{python, workspace};

/// Where the system's own programs are. A cargo elsewhere is not found.
const SYSTEM_PATH: &str = "/usr/bin:/bin";

/// Arguments of Python that install a package, without the index.
const PIP: &str = "-m pip install --quiet --no-cache-dir --disable-pip-version-check";

/// Installs the wheel from a registry into a new virtual environment.
pub(super) fn wheel(release: &Release) -> Result<Vec<PathBuf>> {
    let home = place(release, "wheel")?;
    let environment = home.join("environment");
    run(Command::new(python::PYTHON)
        .args(["-m", "venv"])
        .arg(&environment))?;
    let pages = serve(release)?;
    let index = format!("{}/simple/", pages.url().trim_end_matches('/'));
    let bin = environment.join("bin");
    let install = || {
        let mut pip = clean(&bin.join("python"), &home, &[&bin]);
        pip.args(PIP.split(' '))
            .args(["--index-url", &index, "spillgate"]);
        pip
    };
    run(&mut install())?;
    job(&home, &[&bin])?;
    run(clean(&bin.join("python"), &home, &[&bin]).arg(script("library.py")))?;
    // Also where the installer puts programs beside the library.
    let target = home.join("target");
    run(install().arg("--target").arg(&target))?;
    let mut library = clean(Path::new("/usr/bin/env"), &home, &[]);
    library.arg("python3").env("PYTHONPATH", &target);
    if output(
        Command::new("/usr/bin/env")
            .args(["python3", "--version"])
            .env("PATH", SYSTEM_PATH),
    )
    .is_ok()
    {
        run(library.arg(script("library.py")))?;
    }
    Ok(Vec::new())
}

/// Installs the npm package from a registry under a new prefix, and as a dependency of a project.
pub(super) fn npm_packages(release: &Release) -> Result<Vec<PathBuf>> {
    let home = place(release, "npm")?;
    let pages = serve(release)?;
    let node_bin = node(release)?.join("bin");
    let prefix = home.join("prefix");
    let install = |words: &[&str]| -> Result<Command> {
        let template = npm(release, "npm")?;
        let mut npm = clean(Path::new(template.get_program()), &home, &[&node_bin]);
        npm.args(template.get_args()).args(words);
        npm.args([
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
            "--registry",
            pages.url(),
        ]);
        // The addresses of the tarballs name no port.
        npm.args(["--replace-registry-host=always", "spillgate"]);
        Ok(npm)
    };
    let mut global = install(&["install", "--global"])?;
    run(global.arg("--prefix").arg(&prefix))?;
    job(&home, &[&prefix.join("bin"), &node_bin])?;
    let project = home.join("project");
    fs::create_dir_all(&project)?;
    fs::write(
        project.join("package.json"),
        "{\"name\": \"tried\", \"private\": true}\n",
    )?;
    run(install(&["install"])?.current_dir(&project))?;
    fs::copy(script("library.mjs"), project.join("library.mjs"))?;
    let mut library = clean(&node_bin.join("node"), &home, &[]);
    run(library.arg("library.mjs").current_dir(&project))?;
    // Where Node cannot replace itself by the program, it stays and passes signals and codes on.
    let mut stays = clean(&node_bin.join("node"), &home, &[]);
    stays.args(["--import", "data:text/javascript,delete process.execve"]);
    stays.args([
        "node_modules/spillgate/dist/cli.js",
        "run",
        "--",
        "sh",
        "-c",
        "exit 5",
    ]);
    let code = stays.current_dir(&project).status()?.code();
    ensure!(
        code == Some(5),
        "the command of the npm package ended with {code:?} instead of 5"
    );
    Ok(Vec::new())
}

/// Runs the installer against a server of the release's files.
pub(super) fn script_installer(release: &Release) -> Result<Vec<PathBuf>> {
    let home = place(release, "script")?;
    let pages = serve(release)?;
    let base = format!("{}/page", pages.url().trim_end_matches('/'));
    let installer = release.dist("install.sh");
    let install = |base: &str, directory: &Path, path: &[&Path]| {
        let mut install = clean(Path::new("/bin/sh"), &home, path);
        install.arg(&installer);
        install
            .env("SPILLGATE_BASE_URL", base)
            .env("SPILLGATE_INSTALL_DIR", directory);
        install
    };
    let directory = home.join(".local/bin");
    let said = output(&mut install(&base, &directory, &[]))?;
    ensure!(
        said.contains("is not on your PATH"),
        "the installer does not explain PATH: {said}"
    );
    // Over an installed program.
    let said = output(&mut install(&base, &directory, &[&directory]))?;
    ensure!(
        !said.contains("PATH"),
        "the installer explains PATH for nothing: {said}"
    );
    say(&format!("{said}\n"))?;
    job(&home, &[&directory])?;
    // An archive with other bytes is not installed.
    let broken = home.join("broken");
    empty(&broken)?;
    let archive = format!("{}.tar.gz", release.stem(&release.triple));
    fs::copy(
        release.dist("registry/page/SHA256SUMS"),
        broken.join("SHA256SUMS"),
    )?;
    let mut bytes = fs::read(release.dist(&archive))?;
    let last = bytes.last_mut().context("the archive is empty")?;
    *last ^= 1;
    fs::write(broken.join(&archive), bytes)?;
    let nowhere = home.join("nowhere");
    let told = install(&format!("file://{}", broken.display()), &nowhere, &[]).output()?;
    let error = String::from_utf8_lossy(&told.stderr).into_owned();
    ensure!(
        !told.status.success() && error.contains("nothing was installed") && !nowhere.exists(),
        "a broken archive was installed: {error}"
    );
    say(&error)?;
    Ok(Vec::new())
}

/// Lets the clients that are installed (`cargo xtask peers`) check and install their plugins.
pub(super) fn plugins(release: &Release) -> Result<Vec<PathBuf>> {
    let home = place(release, "plugins")?;
    let root = workspace::root();
    let node = workspace::peers().join("bin/node");
    let agents = workspace::peers().join("agents/node_modules");
    let claude = agents.join("@anthropic-ai/claude-code/cli-wrapper.cjs");
    let codex = agents.join("@openai/codex/bin/codex.js");
    if !claude.exists() || !codex.exists() {
        say("left out: the clients are not installed (`cargo xtask peers`)\n")?;
        return Ok(Vec::new());
    }
    let here = root.display().to_string();
    let client = |script: &Path, words: &[&str]| {
        let mut client = clean(&node, &home, &[]);
        client.arg(script).args(words).current_dir(&root);
        // Neither client needs the network for this.
        client.envs([
            ("http_proxy", "http://127.0.0.1:9"),
            ("https_proxy", "http://127.0.0.1:9"),
        ]);
        client.envs([
            ("DISABLE_AUTOUPDATER", "1"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ]);
        run(&mut client)
    };
    client(&claude, &["plugin", "validate", "."])?;
    client(&claude, &["plugin", "validate", "plugins/claude-code"])?;
    for script in [&claude, &codex] {
        client(script, &["plugin", "marketplace", "add", &here])?;
    }
    client(&claude, &["plugin", "install", "spillgate@spillgate"])?;
    client(&codex, &["plugin", "add", "spillgate@spillgate"])?;
    Ok(Vec::new())
}

/// An empty home directory.
fn place(release: &Release, name: &str) -> Result<PathBuf> {
    let home = release.target.join("release-tried").join(name);
    empty(&home)?;
    Ok(home)
}

/// A server of the registries and of the page, on loopback.
fn serve(release: &Release) -> Result<Served> {
    let mut server = Command::new(python::PYTHON);
    server.args([
        "-u",
        "-m",
        "http.server",
        "0",
        "--bind",
        "127.0.0.1",
        "--directory",
    ]);
    server.arg(release.dist("registry"));
    Served::start(
        &mut server,
        &release.target.join("release-tried/server.log"),
        None,
    )
}

/// A command that knows nothing of this environment but the directories of programs.
fn clean(program: &Path, home: &Path, path: &[&Path]) -> Command {
    let own = path.iter().map(|one| one.display().to_string());
    let path: Vec<String> = own.chain([SYSTEM_PATH.to_owned()]).collect();
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", path.join(":"))
        .env("HOME", home)
        .current_dir(home);
    command
}

/// Runs the main job.
fn job(home: &Path, path: &[&Path]) -> Result<()> {
    run(clean(Path::new("/bin/sh"), home, path).arg(script("job.sh")))
}

/// A file of `xtask/release`.
fn script(name: &str) -> PathBuf {
    workspace::root().join("xtask/release").join(name)
}
