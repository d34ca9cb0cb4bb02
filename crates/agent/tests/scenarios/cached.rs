//! Tests cached results, for which the tool is not called again.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::json;
use spillgate_agent::{
    CacheEntry, CacheKey, CacheLimits, CacheRules, Caching, DirectoryCache, Host, TOOL_OUTPUT,
    ToolCache,
};
use spillgate_llm::Reply;
use spillgate_testkit::StoppedClock;

use crate::stage::{Row, calls, done, give, tree};
use crate::tools::Tools;

fn rules() -> CacheRules {
    CacheRules::new(Some(Duration::from_secs(60)), []).unwrap()
}

/// Runs a session with a cache. The result also contains how often the tool was called.
async fn run(
    says: Vec<Reply>,
    cache: Arc<dyn ToolCache>,
    rules: CacheRules,
) -> (String, String, usize) {
    let tools = Arc::new(Tools::default());
    let row = Row {
        hosts: vec![Arc::clone(&tools) as Arc<dyn Host>],
        caching: Some(Caching::new(cache, rules, "")),
        ..Row::new(says)
    };
    let (told, trace) = row.played().await;
    (
        told,
        tree(&trace.root),
        tools.called.load(Ordering::Relaxed),
    )
}

fn directory(at: &tempfile::TempDir) -> Arc<dyn ToolCache> {
    let path = at.path().join("tools");
    let clock = Arc::new(StoppedClock::default());
    Arc::new(DirectoryCache::new(path, CacheLimits::default(), clock))
}

#[tokio::test]
async fn an_oversized_result_from_the_cache_gets_a_handle_of_its_own() {
    let at = tempfile::tempdir().unwrap();
    let says = vec![calls(&[give(5000)]), calls(&[give(5000)]), done()];
    let (told, tree, called) = run(says, directory(&at), rules()).await;
    assert_eq!(called, 1);
    assert_snapshot!(format!("{told}\n---\n{tree}"), @r#"
    user: Find out.
    model: give {"bytes":5000}
    tool: Tool output is too large (5000 bytes, 160 lines, 1250 tokens). ⏎ Call tool_output(handle = "HANDLE-0", extract = "what to extract"). ⏎ Provide precise and detailed instructions in `extract` about what you are looking for.
    model: give {"bytes":5000}
    tool: Tool output is too large (5000 bytes, 160 lines, 1250 tokens). ⏎ Call tool_output(handle = "HANDLE-1", extract = "what to extract"). ⏎ Provide precise and detailed instructions in `extract` about what you are looking for.
    Success: done
    ---
    Agent test
      Turn turn 1
        Llm model, 2 messages, gave 21 bytes
        Tool give, of test, gave 5000 bytes, Stored (size_cap), 73 tokens shown
      Turn turn 2
        Llm model, 4 messages, gave 21 bytes
        Tool give, of test, gave 5000 bytes, cached, Stored (size_cap), 73 tokens shown
      Turn turn 3
        Llm model, 6 messages, gave 47 bytes
    "#);
    // The next session finds the entry, too.
    let (_, _, called) = run(vec![calls(&[give(5000)]), done()], directory(&at), rules()).await;
    assert_eq!(called, 0);
}

#[tokio::test]
async fn neither_failures_nor_what_a_retrieval_gave_nor_what_no_rule_names_is_kept() {
    let at = tempfile::tempdir().unwrap();
    let fails = ("give", json!({"bytes": 20, "fails": true}));
    let says = vec![calls(std::slice::from_ref(&fails)), calls(&[fails]), done()];
    assert_eq!(run(says, directory(&at), rules()).await.2, 2);
    let ask = (
        TOOL_OUTPUT,
        json!({"handle": "HANDLE-0", "extract": "x", "mode": "truncate"}),
    );
    let says = vec![calls(&[give(5000)]), calls(&[ask]), done()];
    run(says, directory(&at), rules()).await;
    let files = std::fs::read_dir(at.path().join("tools")).unwrap().count();
    assert_eq!(files, 1, "the raw result alone");
    let off = CacheRules::new(None, [("web/*".to_owned(), Some(Duration::from_secs(9)))]).unwrap();
    let says = vec![calls(&[give(30)]), calls(&[give(30)]), done()];
    assert_eq!(run(says, directory(&at), off).await.2, 2);
}

/// A cache that fails either when an entry is begun or when it is written.
#[derive(Debug, Clone, Copy)]
struct Broken {
    begins: bool,
}

impl ToolCache for Broken {
    fn get(&self, _: &CacheKey, _: Duration) -> io::Result<Option<Box<dyn Read + Send>>> {
        Err(io::ErrorKind::PermissionDenied.into())
    }

    fn begin(&self, _: &CacheKey, _: Duration) -> io::Result<Box<dyn CacheEntry>> {
        match self.begins {
            true => Ok(Box::new(*self)),
            false => Err(io::ErrorKind::StorageFull.into()),
        }
    }
}

impl CacheEntry for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn commit(self: Box<Self>) -> io::Result<()> {
        panic!("it was never written")
    }
}

#[tokio::test]
async fn a_cache_that_fails_costs_nothing_but_the_call() {
    for begins in [false, true] {
        let says = vec![calls(&[give(20)]), calls(&[give(20)]), done()];
        let (told, _, called) = run(says, Arc::new(Broken { begins }), rules()).await;
        assert_eq!(called, 2);
        assert_eq!(
            told.matches("tool: line 1 of what the t").count(),
            2,
            "{told}"
        );
    }
}
