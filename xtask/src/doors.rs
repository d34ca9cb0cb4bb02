//! `cargo xtask test-doors`: tests with clients and libraries that are too large for continuous
//! integration. A developer runs them by hand.

use anyhow::{Context, Result, ensure};

use crate::agents::{AZURITE, DOORS};
use crate::buckets;
use crate::command::{cargo, run};
use crate::libraries;
use crate::page;
use crate::peers;
use crate::proxies;
use crate::replicas;
use crate::report::Report;

/// Each step: its name, what it installs, and its tests.
type Step = (&'static str, fn() -> Result<()>, fn() -> Result<()>);

/// The tests of hooks in real clients.
const HOOKS: &str =
    "test --package spillgate --features spillgate/peers --test peers --locked -- doors::";

const STEPS: [Step; 13] = [
    ("litellm", proxies::install_litellm, proxies::test_litellm),
    ("hooks", || DOORS.install(), || run(&mut cargo(HOOKS))),
    ("langchain", libraries::install_python, || {
        libraries::test_python(&["test_langchain", "test_docs.Agents.test_langchain"])
    }),
    ("openai-agents", libraries::install_python, || {
        libraries::test_python(&["test_openai_agents", "test_docs.Agents.test_openai_agents"])
    }),
    ("claude-agent", libraries::install_python, || {
        libraries::test_python(&["test_claude_agent", "test_docs.Agents.test_claude_agent"])
    }),
    (
        "python-types",
        libraries::install_python,
        libraries::check_python_types,
    ),
    (
        "ai-sdk",
        libraries::install_typescript,
        libraries::test_typescript,
    ),
    (
        "seaweedfs",
        buckets::install_seaweedfs,
        buckets::test_seaweedfs,
    ),
    ("s3s-fs", buckets::install_s3s, buckets::test_s3s),
    ("azurite", || AZURITE.install(), buckets::test_azurite),
    ("replicas", replicas::install, replicas::test),
    ("helm", replicas::install_helm, replicas::test_helm),
    ("ui", page::install, page::test),
];

/// Runs the steps that `arguments` name, or all.
pub(crate) fn run_with(report: &mut Report, arguments: &[String]) -> Result<()> {
    let arguments = match arguments {
        [names @ .., option, number] if option == "--seconds" => {
            let number = number.parse().context("--seconds takes a number")?;
            replicas::SECONDS.get_or_init(|| number);
            names
        }
        names => names,
    };
    let wanted: Vec<&str> = arguments.iter().flat_map(|one| one.split(',')).collect();
    let known = STEPS.map(|(name, ..)| name);
    for name in &wanted {
        ensure!(
            known.contains(name),
            "there is no step {name:?}; known steps: {}",
            known.join(", ")
        );
    }
    peers::install(report)?;
    report.step("build", libraries::build)?;
    for (name, install, test) in STEPS {
        if wanted.is_empty() || wanted.contains(&name) {
            report.step("install", install)?;
            report.step(name, test)?;
        }
    }
    Ok(())
}
