//! Selects the tool results that an agent caches, and computes the realm of its cache keys.
//!
//! All runs of a user share one cache. The realm is a part of each key. It separates agents for
//! which the same call may return different results. It therefore covers everything that a result
//! depends on besides the call: the configuration of the hosts, the directory from which relative
//! paths in arguments start, and all sub-agents.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use etcetera::BaseStrategy;
use globset::escape;
use serde_json::{Value, json};
use spillgate_agent::{
    CacheLimits, CacheRules, Caching, DEFAULT_ENTRY_BYTES, DEFAULT_TOTAL_BYTES, DirectoryCache,
};
use spillgate_agent_files::SourceKind;
use spillgate_artifact::Clock;

use super::plan::Plan;
use crate::failure::{Failure, Fault};
use crate::settings::directories;

/// Returns the agent's cache, or `None` if its files cache nothing.
pub(super) fn caching(plan: &Plan, clock: &Arc<dyn Clock>) -> Result<Option<Caching>, Failure> {
    let of = &plan.agent.cache;
    if of.ttl.value.is_none() && of.tools.is_empty() {
        return Ok(None);
    }
    let mut tools = of.tools.clone();
    tools.extend(unkept(plan));
    let rules = CacheRules::new(of.ttl.value, tools).map_err(|error| {
        let what = format!("cache.tools: {error}");
        Failure::new("agent_files", Fault::Caller, what)
            .hint("patterns are globs such as \"read_*\"")
    })?;
    let directory: PathBuf = match &of.dir.value {
        Some(directory) => directory.clone(),
        None => directories()?.cache_dir().join("spillgate/agent-tools"),
    };
    let limits = CacheLimits {
        entry_bytes: DEFAULT_ENTRY_BYTES,
        total_bytes: of.max_bytes.value.unwrap_or(DEFAULT_TOTAL_BYTES),
    };
    let cache = DirectoryCache::new(directory, limits, Arc::clone(clock));
    // Servers and REST tools resolve relative paths in arguments against this directory.
    let here = std::env::current_dir()?;
    let realm = json!([here, realm(plan)]).to_string();
    Ok(Some(Caching::new(Arc::new(cache), rules, &realm)))
}

/// Returns rules that keep sub-agents and guarded tools out of the cache, unless `cache.tools`
/// names them. The general `ttl` is not meant for them: a sub-agent's answer is written by a model,
/// a guarded command has effects, and files change while an agent works on them.
fn unkept(plan: &Plan) -> Vec<(String, Option<std::time::Duration>)> {
    let named = |name: &str| {
        let of = format!("{name}/");
        let mut patterns = plan.agent.cache.tools.iter();
        patterns.any(|(pattern, _)| pattern == name || pattern.starts_with(&of))
    };
    let below = plan.below.iter().map(|below| &*below.agent.name.value);
    let sources = plan.agent.tools.iter();
    let guarded = sources.filter(|source| source.kind == SourceKind::Guarded);
    let guarded = guarded.map(|source| source.entry.name());
    let unkept = below.chain(guarded).filter(|name| !named(name));
    unkept
        .map(|name| (format!("{}/*", escape(name)), None))
        .collect()
}

/// Returns everything that the answers of an agent's hosts depend on. The value contains secrets:
/// hash it, never show it.
fn realm(plan: &Plan) -> Value {
    let sources = plan.agent.tools.iter().map(|source| {
        let (name, value) = (source.entry.name(), source.entry.value());
        json!([whole(source.entry.file()), name, value])
    });
    let below = plan.below.iter().map(|plan| {
        let agent = &plan.agent;
        let schemas = (&agent.input_schema.value, &agent.output_schema.value);
        json!([
            whole(&agent.path),
            agent.system,
            agent.settings(),
            schemas,
            realm(plan)
        ])
    });
    json!([sources.collect::<Value>(), below.collect::<Value>()])
}

/// Makes a path absolute, because two projects may contain files of the same relative path.
fn whole(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
