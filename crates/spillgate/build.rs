//! Asks the linker for a smaller program that starts faster, where the linker and the loader of
//! this system can make and run one. ADR 38 gives the figures.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// The options for the linker, each with its reason. An option that fails is left out.
const OPTIONS: [LinkerOption; 3] = [
    // Functions and constants with the same content become one. No code compares their addresses.
    LinkerOption::Arguments(&["-Wl,--icf=all", "-Wl,--ignore-data-address-equality"]),
    // The list of addresses that the loader adjusts takes kilobytes instead of megabytes. Loaders
    // can read it since glibc 2.36.
    LinkerOption::Arguments(&["-Wl,-z,pack-relative-relocs"]),
    // The loader has one library less to load: `libgcc_s.so`, of which only this part is used.
    LinkerOption::Library("static:-bundle=gcc_eh"),
];

enum LinkerOption {
    Arguments(&'static [&'static str]),
    Library(&'static str),
}

/// A program that fails if a panic cannot be caught.
const PROBE: &str = "\
fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    assert!(std::panic::catch_unwind(|| { std::env::args().nth(9).unwrap(); }).is_err());
}
";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name, value| env::var(name).is_ok_and(|it| it == value);
    let is_glibc = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    // The probe must run, so a program for another machine is linked without these options.
    let is_native = env::var("HOST").ok() == env::var("TARGET").ok();
    if !(is("PROFILE", "release") && is_glibc && is_native) {
        return;
    }
    for option in OPTIONS.iter().filter(|option| works(option).is_some()) {
        match option {
            LinkerOption::Arguments(arguments) => {
                for argument in *arguments {
                    println!("cargo::rustc-link-arg-bins={argument}");
                }
            }
            LinkerOption::Library(library) => println!("cargo::rustc-link-lib={library}"),
        }
    }
}

/// Links a small program with the option and runs it. `None` if one of them fails.
fn works(option: &LinkerOption) -> Option<()> {
    let directory = env::var_os("OUT_DIR")?;
    let source = Path::new(&directory).join("probe.rs");
    let program = Path::new(&directory).join("probe");
    fs::write(&source, PROBE).ok()?;
    let mut compile = Command::new(env::var_os("RUSTC")?);
    compile.arg(&source).arg("-o").arg(&program);
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        compile
            .arg("-C")
            .arg(format!("linker={}", linker.display()));
    }
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    compile.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    match option {
        LinkerOption::Arguments(arguments) => {
            let asked = arguments.iter().map(|it| format!("link-arg={it}"));
            compile.args(asked.flat_map(|it| ["-C".to_owned(), it]));
        }
        LinkerOption::Library(library) => {
            compile.args(["-l", library]);
        }
    }
    compile.output().ok()?.status.success().then_some(())?;
    let ran = Command::new(program).status().ok()?;
    ran.success().then_some(())
}
