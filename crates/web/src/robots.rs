//! Checks whether a server's `robots.txt` allows a page to be fetched (RFC 9309).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use reqwest::Url;
use texting_robots::Robot;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

/// Our name in `robots.txt` (RFC 9309, 2.2.1: the user agent without its version).
const AGENT: &str = "spillgate";

/// Maximum bytes of a `robots.txt` that are used (RFC 9309, 2.5: at least 500 KiB).
pub(crate) const MOST_BYTES: usize = 512 << 10;

/// The time limit for fetching a `robots.txt`.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum number of origins whose rules are cached, and how long they are cached (RFC 9309, 2.4:
/// at most a day).
const MOST_KNOWN: usize = 64;
const KNOWN_FOR: Duration = Duration::from_secs(60 * 60);

/// Maximum number of `$` in one file. Each rule with `$` is compiled to check a page, so very many
/// of them would take seconds and a lot of memory.
const MOST_ENDS: usize = 1000;

/// The rules of an origin, as received; empty if the origin has none.
pub(crate) type RobotsText = Arc<[u8]>;

/// A cache of recently fetched rules.
#[derive(Debug, Default)]
pub(crate) struct Robots {
    known: Mutex<HashMap<String, (Instant, RobotsText)>>,
}

impl Robots {
    /// Returns the cached rules of an origin, unless they are too old.
    pub(crate) fn cached(&self, origin: &str) -> Option<RobotsText> {
        let known = self.lock();
        let (since, text) = known.get(origin)?;
        (since.elapsed() < KNOWN_FOR).then(|| Arc::clone(text))
    }

    /// Caches the rules of an origin. If the cache is full, evicts the oldest entry.
    pub(crate) fn store(&self, origin: String, text: RobotsText) {
        let mut known = self.lock();
        if known.len() >= MOST_KNOWN && !known.contains_key(&origin) {
            let oldest = known.iter().min_by_key(|(_, (since, _))| *since);
            if let Some(oldest) = oldest.map(|(origin, _)| origin.clone()) {
                known.remove(&oldest);
            }
        }
        known.insert(origin, (Instant::now(), text));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Instant, RobotsText)>> {
        self.known.lock()
    }
}

/// Returns the URL of the rules that apply to a page.
pub(crate) fn place(page: &Url) -> Url {
    let mut place = page.clone();
    place.set_path("/robots.txt");
    place.set_query(None);
    place.set_fragment(None);
    place
}

/// Returns the part of a file that is used: whole lines up to the maximum size.
pub(crate) fn text(mut bytes: Vec<u8>) -> RobotsText {
    if bytes.len() > MOST_BYTES {
        bytes.truncate(MOST_BYTES);
        let end = bytes.iter().rposition(|byte| matches!(byte, b'\n' | b'\r'));
        bytes.truncate(end.unwrap_or(0));
    }
    bytes.into()
}

/// Checks whether the rules allow `page`. The error says why the rules cannot be read.
pub(crate) async fn allows(text: RobotsText, page: &Url) -> Result<bool, &'static str> {
    let mut page = page.clone();
    page.set_fragment(None);
    let checked = spawn_blocking(move || is_allowed(&text, &page));
    checked.await.unwrap_or(Err("it cannot be read"))
}

/// Checks whether the rules in `text` (a `robots.txt`) allow `page`. The error says why the rules
/// cannot be read.
pub fn is_allowed(text: &[u8], page: &Url) -> Result<bool, &'static str> {
    if text.iter().filter(|&&byte| byte == b'$').count() > MOST_ENDS {
        return Err("it has more rules than are read");
    }
    let robot = Robot::new(AGENT, text).map_err(|_| "it cannot be read")?;
    Ok(robot.allowed(page.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(text: &str, page: &str) -> Result<bool, &'static str> {
        let page = Url::parse("https://a.example").unwrap().join(page).unwrap();
        is_allowed(text.as_bytes(), &page)
    }

    #[test]
    fn rules() {
        let ours = "User-agent: *\nDisallow: /\n\nuser-agent: SpillGate\nDisallow: /private # not\nAllow: /private/open\n";
        let globs = "User-agent: *\nDisallow: /*.pdf$\nDisallow: /search?\nAllow: /search?q=1$\n";
        let cases = [
            ("", "/", true),
            ("nonsense\0\u{fffd}", "/", true),
            ("User-agent: *\nDisallow:\n", "/a", true),
            ("User-agent: *\nDisallow: /\n", "/a", false),
            ("User-agent: other\nDisallow: /\n", "/a", true),
            (
                "User-agent: other\nUser-agent: spillgate\nDisallow: /\n",
                "/a",
                false,
            ),
            (ours, "/a", true),
            (ours, "/private/x", false),
            (ours, "/private/open/x", true),
            (globs, "/a/b.pdf", false),
            (globs, "/a/b.pdf?x", true),
            (globs, "/search?q=1", true),
            (globs, "/search?q=12", false),
            (
                "User-agent: *\r\nDisallow: /caf\u{e9}\r\n",
                "/caf%C3%A9",
                false,
            ),
        ];
        for (text, page, want) in cases {
            assert_eq!(allowed(text, page), Ok(want), "{text:?} {page}");
        }
    }

    #[test]
    fn a_file_of_patterns_is_not_compiled() {
        let text = "User-agent: *\n".to_owned() + &"Disallow: /*a*$\n".repeat(MOST_ENDS + 1);
        assert_eq!(allowed(&text, "/a"), Err("it has more rules than are read"));
    }

    #[test]
    fn of_a_long_file_whole_lines_count() {
        let rule = "Disallow: /a\n";
        let whole = text(rule.repeat(MOST_BYTES / rule.len()).into_bytes());
        assert!(whole.ends_with(b"/a\n"));
        let cut = text(rule.repeat(MOST_BYTES).into_bytes());
        assert!(cut.len() <= MOST_BYTES && cut.ends_with(b"/a"));
        assert_eq!(text(vec![b'x'; MOST_BYTES + 1]).len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_known_is_bounded_and_gets_old() {
        let robots = Robots::default();
        for origin in 0..=MOST_KNOWN {
            robots.store(origin.to_string(), text(vec![b'x']));
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(robots.cached("0"), None);
        assert!(robots.cached("1").is_some());
        tokio::time::advance(KNOWN_FOR).await;
        assert_eq!(robots.cached("64"), None);
    }
}
