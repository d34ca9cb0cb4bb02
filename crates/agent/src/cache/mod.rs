//! Caches tool results, so that a repeated call need not be made again.
//!
//! The cache is off unless rules enable it: only a person who knows a tool can tell that its
//! answers do not change. The cache keeps the raw result. An oversized result is therefore stored
//! again on each use and gets a handle of its own. Failures and results of retrieval tools are
//! never cached.

mod directory;
mod rules;
mod tee;

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use data_encoding::HEXLOWER;
use serde_json::Value;
use sha2::{Digest, Sha256};
use spillgate_llm::ToolCall;
use tokio::task::spawn_blocking;

use crate::host::Host;

pub use directory::{CacheLimits, DEFAULT_ENTRY_BYTES, DEFAULT_TOTAL_BYTES, DirectoryCache};
pub use rules::CacheRules;
pub(crate) use tee::Teeing;

/// A store of tool results. Its methods block, so callers must not run them on the async tasks of a
/// session. A failure is logged; its only effect is that the tool is called again.
pub trait ToolCache: Send + Sync + fmt::Debug {
    /// Returns the result under `key`, unless it is older than `ttl`. An invalid entry counts as
    /// absent.
    fn get(&self, key: &CacheKey, ttl: Duration) -> io::Result<Option<Box<dyn Read + Send>>>;

    /// Begins an entry that expires after `ttl`.
    fn begin(&self, key: &CacheKey, ttl: Duration) -> io::Result<Box<dyn CacheEntry>>;
}

/// An entry that is being written. Dropping it without a commit discards it.
pub trait CacheEntry: Send + fmt::Debug {
    /// Appends bytes. If the entry becomes too large, the error has the kind
    /// [`io::ErrorKind::FileTooLarge`].
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Completes the entry.
    fn commit(self: Box<Self>) -> io::Result<()>;
}

/// Identifies a call: the same host, tool and arguments give the same key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CacheKey(String);

impl CacheKey {
    /// Returns the key of a call of a tool of `host`. `realm` identifies everything else on which
    /// the answer depends. Returns `None` if the arguments are not JSON.
    #[must_use]
    pub fn of(realm: &str, host: &str, call: &ToolCall) -> Option<Self> {
        let arguments: Value = serde_json::from_str(&call.arguments).ok()?;
        let named = (realm, host, &call.name, sorted(arguments));
        let bytes = serde_json::to_vec(&named).ok()?;
        Some(Self(HEXLOWER.encode(&Sha256::digest(bytes))))
    }

    /// Returns the key as 64 hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns the value with the keys of its objects sorted. The result does not depend on the
/// features that the JSON library was built with.
fn sorted(value: Value) -> Value {
    match value {
        Value::Array(values) => values.into_iter().map(sorted).collect(),
        Value::Object(fields) => {
            let mut fields: Vec<(String, Value)> = fields.into_iter().collect();
            fields.sort_by(|one, other| one.0.cmp(&other.0));
            let fields = fields.into_iter().map(|(key, value)| (key, sorted(value)));
            Value::Object(fields.collect())
        }
        other => other,
    }
}

/// A cache, and the rules that define which results it keeps.
#[derive(Debug, Clone)]
pub struct Caching {
    cache: Arc<dyn ToolCache>,
    rules: CacheRules,
    realm: Arc<str>,
}

/// A call whose result may be cached: the key and the lifetime of its cache entry.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    key: CacheKey,
    ttl: Duration,
}

impl Caching {
    /// Returns a cache that follows `rules`. `realm` identifies everything besides host, tool and
    /// arguments on which answers depend, such as the configuration of the hosts: two
    /// configurations may use the same name for different hosts.
    #[must_use]
    pub fn new(cache: Arc<dyn ToolCache>, rules: CacheRules, realm: &str) -> Self {
        let realm = realm.into();
        Self {
            cache,
            rules,
            realm,
        }
    }

    /// Returns the cache key and lifetime for the result of this call; `None` if it is not cached.
    pub(crate) fn wanted(&self, host: &dyn Host, call: &ToolCall) -> Option<Wanted> {
        let own = ToolCall {
            name: host.own_name(&call.name),
            ..call.clone()
        };
        let ttl = self.rules.ttl(host.name(), &own.name)?;
        let key = CacheKey::of(&self.realm, host.name(), &own)?;
        Some(Wanted { key, ttl })
    }

    /// Returns the cached result of this call.
    pub(crate) async fn kept(&self, wanted: &Wanted) -> Option<Box<dyn Read + Send>> {
        let Wanted { key, ttl } = wanted.clone();
        self.aside(move |cache| cache.get(&key, ttl))
            .await
            .flatten()
    }

    /// Begins to cache the result of this call.
    pub(crate) async fn begin(&self, wanted: Wanted) -> Option<Box<dyn CacheEntry>> {
        let Wanted { key, ttl } = wanted;
        self.aside(move |cache| cache.begin(&key, ttl)).await
    }

    async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn ToolCache) -> io::Result<T> + Send + 'static,
    ) -> Option<T> {
        let cache = Arc::clone(&self.cache);
        let done = spawn_blocking(move || work(&*cache)).await;
        let done = done.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
        done.inspect_err(|error| tracing::warn!(%error, "the tool cache could not be read or written; the tool is called without it"))
            .ok()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::BoxFuture;
    use spillgate_extract::Scope;
    use spillgate_llm::ToolSpec;

    use super::*;
    use crate::host::Given;

    /// A host with a tool that the model knows by another name.
    #[derive(Debug)]
    struct Renamed(&'static str);

    impl Host for Renamed {
        fn name(&self) -> &str {
            self.0
        }

        fn tools(&self) -> Vec<ToolSpec> {
            Vec::new()
        }

        fn own_name(&self, name: &str) -> String {
            name.trim_start_matches("one__").to_owned()
        }

        fn call<'a>(&'a self, _: &'a ToolCall, _: &'a Scope) -> BoxFuture<'a, Given> {
            unreachable!("nobody calls it")
        }
    }

    #[test]
    fn rules_are_of_a_tools_own_name() {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(spillgate_testkit::StoppedClock::default());
        let cache = DirectoryCache::new(directory.path().into(), CacheLimits::default(), clock);
        let hour = Some(Duration::from_secs(3600));
        let rules = CacheRules::new(hour, [("one/push".to_owned(), None)]).unwrap();
        let caching = Caching::new(Arc::new(cache), rules, "");
        for (tool, is_kept) in [("one__push", false), ("push", false), ("one__pull", true)] {
            let call = ToolCall {
                id: "1".to_owned(),
                name: tool.to_owned(),
                arguments: "{}".to_owned(),
            };
            let wanted = caching.wanted(&Renamed("one"), &call);
            assert_eq!(wanted.is_some(), is_kept, "{tool}");
        }
    }

    #[test]
    fn the_same_call_has_the_same_key() {
        let key = |realm: &str, host: &str, tool: &str, arguments: &str| {
            let call = ToolCall {
                id: String::new(),
                name: tool.into(),
                arguments: arguments.into(),
            };
            CacheKey::of(realm, host, &call)
        };
        let one = key("r", "h", "t", r#"{"b":{"y":1,"x":[2]},"a":null}"#).unwrap();
        assert_eq!(
            key("r", "h", "t", r#" {"a": null, "b": {"x":[2],"y":1}}"#),
            Some(one.clone())
        );
        for other in [
            key("r2", "h", "t", r#"{"b":{"y":1,"x":[2]},"a":null}"#),
            key("r", "h2", "t", r#"{"b":{"y":1,"x":[2]},"a":null}"#),
            key("r", "h", "t2", r#"{"b":{"y":1,"x":[2]},"a":null}"#),
            key("r", "h", "t", r#"{"b":{"y":1,"x":[3]},"a":null}"#),
            key("", "rh", "t", r#"{"b":{"y":1,"x":[2]},"a":null}"#),
        ] {
            assert!(other.is_some_and(|other| other != one));
        }
        assert_eq!(key("r", "h", "t", "{"), None);
        assert_eq!(one.as_str().len(), 64);
    }
}
