//! Which results are kept for the same call again?
//!
//! `cache` of the command line or of the frontmatter is over the file's `ttl`; `off`
//! there is over its patterns, too. Of files, the nearest that has the section
//! counts whole.

use super::Run;
use super::layers::of_file;
use crate::agent::CacheRules;
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
        CacheRules {
            ttl: ttl.map(CacheFor::time),
            tools: tools.collect(),
            max_bytes: section.and_then(|(_, cache)| Some(cache.max_bytes?.0)),
            dir: section.and_then(|(file, cache)| {
                let dir = cache.dir.as_ref()?;
                Some(match file.path.parent() {
                    Some(parent) => parent.join(dir),
                    None => dir.clone(),
                })
            }),
        }
    }
}
