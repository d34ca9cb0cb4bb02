//! Resolves the cache settings.
//!
//! The setting `cache` of the command line or the frontmatter overrides the `ttl` of the section
//! `cache` in a configuration file. The value `off` also disables the section's rules for single
//! tools. If several files contain the section, only the file that takes precedence is used.

use super::layers::of_file;
use super::{Run, path_or_dash};
use crate::agent::CacheRules;
use crate::config::ConfigFile;
use crate::sections::Cache;
use crate::source::Set;
use crate::values::CacheFor;

impl Run<'_> {
    pub(super) fn cache(&mut self) -> CacheRules {
        let mut files = self.layers.files.iter();
        let section = files.find_map(|file| Some((file, file.given.cache.as_ref()?)));
        let said = self.layers.pick("cache", |of| of.cache);
        let is_off = matches!(&said, Some(set) if set.value == CacheFor::Off);
        let of_section = || {
            let (file, cache) = section?;
            Some(of_file(file, &["cache", "ttl"], cache.ttl?))
        };
        let ttl = said.or_else(of_section);
        let ttl = ttl.unwrap_or_else(|| Set::built_in(CacheFor::Off));
        self.row("cache", &ttl, CacheFor::to_string);
        let rules = section.filter(|_| !is_off);
        let tools = rules.into_iter().flat_map(|(_, cache)| &cache.tools);
        let tools = tools.map(|(pattern, time)| (pattern.clone(), time.time()));
        let tools = tools.collect();
        let max_bytes = of_cache("maxBytes", section, |cache| Some(cache.max_bytes?.0));
        self.row("cache.maxBytes", &max_bytes, |bytes| {
            bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string())
        });
        let dir = of_cache("dir", section, |cache| cache.dir.clone());
        let source = dir.source.clone();
        let dir = dir.map(|path| Some(source.path(&path?)));
        self.row("cache.dir", &dir, |path| path_or_dash(path.as_deref()));
        CacheRules {
            ttl: ttl.map(CacheFor::time),
            tools,
            max_bytes,
            dir,
        }
    }
}

fn of_cache<T>(
    key: &str,
    section: Option<(&ConfigFile, &Cache)>,
    get: impl Fn(&Cache) -> Option<T>,
) -> Set<Option<T>> {
    let said = section.and_then(|(file, cache)| {
        let value = get(cache)?;
        Some(of_file(file, &["cache", key], Some(value)))
    });
    said.unwrap_or_else(|| Set::built_in(None))
}
