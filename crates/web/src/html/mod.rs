//! Converts HTML pages to Markdown.
//!
//! A page is tidied first ([`tidy`]): elements without content are dropped, and the rest is nested
//! properly, to a limited depth. So building the tree and its Markdown (with htmd) takes little
//! stack and time for every page.

mod table;
mod tags;
mod tidy;

use htmd::HtmlToMarkdown;
use htmd::options::{BulletListMarker, Options};
use reqwest::Url;
use spillgate_untrusted::line;

use tidy::Tidy;

/// Maximum characters of a title that are shown.
const LONGEST_TITLE: usize = 300;

/// Returns the title and the main content of a page found at `url`.
pub(crate) fn markdown(html: &str, url: &Url) -> (Option<String>, String) {
    let tidy = Tidy::of(html, url);
    let title = line(&tidy.title, LONGEST_TITLE);
    let options = Options {
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    };
    let converter = HtmlToMarkdown::builder().options(options).build();
    // Reading from memory cannot fail.
    let text = converter.convert(tidy.content()).unwrap_or_default();
    let text = without_gaps(&text);
    ((!title.is_empty()).then_some(title), text)
}

/// Reduces each run of empty lines to one empty line, except in fenced code.
fn without_gaps(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut fence: Option<&str> = None;
    let mut empty = 0;
    for line in text.lines() {
        let start = line.trim_start();
        let ticks = &start[..start.len() - start.trim_start_matches('`').len()];
        if fence.is_some_and(|open| open == start.trim_end()) {
            fence = None;
        } else if fence.is_none() && ticks.len() >= 3 {
            fence = Some(ticks);
        } else if fence.is_none() && start.is_empty() {
            empty += 1;
            continue;
        }
        if empty > 0 && !kept.is_empty() {
            kept.push('\n');
        }
        empty = 0;
        kept.push_str(line);
        kept.push('\n');
    }
    kept
}

#[cfg(test)]
mod tests;
