//! Tests the libraries in `bindings/`, without frameworks and with them.
//!
//! The frameworks are installed into `.doors/python` (0.7 GB) and into
//! `bindings/typescript/node_modules` (0.1 GB).

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::{cargo, run};
use crate::report::say;
use crate::{python, workspace};

const REQUIREMENTS: &str = include_str!("../doors/requirements.txt");
const CONSTRAINTS: &str = include_str!("../doors/constraints.txt");

/// Builds the program that the libraries run.
pub(crate) fn build() -> Result<()> {
    run(&mut cargo(
        "build --package spillgate --features full --locked",
    ))
}

/// Tests the libraries alone. The program must be built, and the peers installed.
pub(crate) fn test() -> Result<()> {
    run(python_tests(python::PYTHON)?.args(["tests.test_core", "tests.test_docs.Plain"]))?;
    run(node()?.args(["--test", "tests/core.test.ts"]))
}

/// Installs the Python frameworks unless exactly these versions are installed.
pub(crate) fn install_python() -> Result<()> {
    python::ensure()?;
    let home = doors().join("python");
    let stamp = [&home.display().to_string(), REQUIREMENTS, CONSTRAINTS].join("\n");
    let stamp_file = doors().join("stamp");
    if fs::read_to_string(&stamp_file).is_ok_and(|found| found == stamp) {
        return say("already installed in .doors/\n");
    }
    if home.exists() {
        fs::remove_dir_all(&home).context("cannot clear .doors/")?;
    }
    fs::create_dir_all(doors())?;
    run(Command::new(python::PYTHON).args(["-m", "venv"]).arg(&home))?;
    let lists = workspace::root().join("xtask/doors");
    let install = "-m pip install --quiet --disable-pip-version-check --no-input";
    run(Command::new(home.join("bin/python"))
        .args(install.split(' '))
        .arg("--requirement")
        .arg(lists.join("requirements.txt"))
        .arg("--constraint")
        .arg(lists.join("constraints.txt")))?;
    // The stamp is written last, so that an interrupted installation does not count.
    fs::write(stamp_file, stamp).context("cannot write the stamp")
}

/// Runs modules, classes or methods of the tests in `bindings/python/tests`.
pub(crate) fn test_python(tests: &[&str]) -> Result<()> {
    let interpreter = doors().join("python/bin/python");
    let tests = tests.iter().map(|test| format!("tests.{test}"));
    run(python_tests(&interpreter.display().to_string())?.args(tests))
}

/// Checks the types of the Python package.
pub(crate) fn check_python_types() -> Result<()> {
    let mut mypy = Command::new(doors().join("python/bin/mypy"));
    mypy.arg("--cache-dir").arg(doors().join("mypy"));
    run(mypy.current_dir(workspace::root().join("bindings/python")))
}

/// Installs the npm packages, exactly as locked.
pub(crate) fn install_typescript() -> Result<()> {
    let mut npm = Command::new(workspace::peers().join("bin/npm"));
    // Our own script would build the package; no other package needs to run one.
    let install = "ci --ignore-scripts --no-audit --no-fund --loglevel=error";
    run(npm.args(install.split(' ')).current_dir(typescript()))
}

/// Checks the types of the TypeScript package, builds it and runs all its tests.
pub(crate) fn test_typescript() -> Result<()> {
    let compiler = "node_modules/typescript/bin/tsc";
    run(node()?.arg(compiler))?;
    run(node()?.args([compiler, "--project", "tests/tsconfig.json"]))?;
    run(node()?.args([
        "--test",
        "tests/core.test.ts",
        "tests/ai.test.ts",
        "tests/docs.test.ts",
    ]))
}

/// Returns `python -m unittest` with the program that was built.
fn python_tests(interpreter: &str) -> Result<Command> {
    let mut tests = Command::new(interpreter);
    tests
        .args(["-m", "unittest"])
        .env("SPILLGATE_BIN", workspace::built()?.join("spillgate"))
        // Interpreters of several versions share the checkout.
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(workspace::root().join("bindings/python"));
    Ok(tests)
}

/// Returns `node` with the program that was built.
fn node() -> Result<Command> {
    let mut node = Command::new(workspace::peers().join("bin/node"));
    node.env("SPILLGATE_BIN", workspace::built()?.join("spillgate"))
        .current_dir(typescript());
    Ok(node)
}

fn typescript() -> PathBuf {
    workspace::root().join("bindings/typescript")
}

/// The directory of the frameworks; git ignores it.
pub(crate) fn doors() -> PathBuf {
    workspace::root().join(".doors")
}
