//! One output: its facts, the message that the model saw, its shape, and its content in several views.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::response::Html;
use maud::{Markup, html};
use spillgate_artifact::{ContentKind, Handle, Manifest, TokenBudget};
use spillgate_http_api::Problem;
use spillgate_outline::grouped;

use crate::asked::{Asked, handle, in_path};
use crate::frame::{Trouble, View, framed};
use crate::lens::Lens;
use crate::viewer::{self, ImageType};
use crate::{PREFIX, Page, diff, shown, table, tree};

/// Maximum tokens of the shape. A person scrolls where a model pays.
const SHAPE: u64 = 4000;

/// Characters of a call above the content.
const CALL: usize = 2000;

/// The ways to look at the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tab {
    Text,
    Table,
    Tree,
    Image,
    Bytes,
    Difference,
}

impl Tab {
    const ALL: [Self; 6] = [
        Self::Text,
        Self::Table,
        Self::Tree,
        Self::Image,
        Self::Bytes,
        Self::Difference,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Table => "table",
            Self::Tree => "tree",
            Self::Image => "image",
            Self::Bytes => "bytes",
            Self::Difference => "difference",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Text => "Text",
            Self::Table => "Table",
            Self::Tree => "Tree",
            Self::Image => "Image",
            Self::Bytes => "Bytes",
            Self::Difference => "Difference",
        }
    }

    fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tab| tab.name() == name)
    }
}

/// An output and what a request asks to see of it.
pub(crate) struct Subject {
    pub(crate) handle: Handle,
    pub(crate) manifest: Manifest,
    pub(crate) asked: Asked,
    /// Whether the owner asks for the secrets in it.
    pub(crate) reveals: bool,
}

impl Subject {
    /// Returns the address of the output, followed by `rest`.
    pub(crate) fn address(&self, rest: &str) -> String {
        format!("{PREFIX}/a/{}{rest}", in_path(self.handle))
    }

    /// Returns the address of the same view with other parameters.
    pub(crate) fn with(&self, changes: &[(&str, &str)]) -> String {
        format!("{}?{}", self.address(""), self.asked.with(changes))
    }

    fn has_secrets(&self) -> bool {
        let secrets = self.manifest.facts.secrets.as_ref();
        secrets.is_some_and(|secrets| !secrets.found.is_empty())
    }
}

/// `GET /a/{handle}`
pub(crate) async fn artifact(
    State(page): State<Arc<Page>>,
    Path(named): Path<String>,
    request: Request,
) -> Result<Html<String>, Trouble> {
    let handle = handle(&named)?;
    let asked = Asked::of_query(request.uri().query());
    let of = Arc::clone(&page);
    let work = Arc::clone(&page.api).work(move |_, wait| {
        let manifest = of.store.manifest(handle)?;
        let reveals = of.is_owner && asked.flag("secrets");
        let subject = Subject { handle, manifest, asked, reveals };
        let offloader = of.offloader_for(reveals).within(wait);
        let image = of.image_type(&subject.manifest, reveals);
        let earlier = of.catalogue.earlier(&subject.manifest)?;
        let tabs = tabs(subject.manifest.facts.stats.kind, image, earlier);
        let chosen = subject.asked.text("tab").and_then(Tab::of);
        let chosen = chosen.filter(|tab| tabs.contains(tab) || *tab == Tab::Difference);
        let tab = chosen.unwrap_or(tabs[0]);
        let content = match tab {
            Tab::Text | Tab::Bytes => rows(&subject, tab),
            Tab::Image => html! {
                div.image { img src=(subject.address(&format!("/image?secrets={}", u8::from(reveals)))) alt="The stored image"; }
            },
            Tab::Table => table::table(&of, &offloader, &subject)?,
            Tab::Tree => tree::root(&offloader, &subject)?,
            Tab::Difference => diff::difference(&of, &offloader, &subject, earlier)?,
        };
        let title = shown::source(&subject.manifest.facts);
        Ok((view(&of, &subject, &tabs, tab, &content), title))
    });
    let (content, title) = work.await?;
    Ok(framed(&page, View::Other, &title, &content))
}

/// Returns the views that fit the content, the best one first.
fn tabs(kind: ContentKind, image: Option<ImageType>, earlier: Option<Handle>) -> Vec<Tab> {
    use ContentKind::{Binary, Csv, Json, Ndjson, Tsv};
    let mut tabs = match kind {
        Csv | Tsv => vec![Tab::Table, Tab::Text],
        Ndjson => vec![Tab::Text, Tab::Table],
        Json => vec![Tab::Tree, Tab::Table, Tab::Text],
        Binary => Vec::new(),
        _ => vec![Tab::Text],
    };
    if image.is_some() {
        tabs.insert(0, Tab::Image);
    }
    tabs.push(Tab::Bytes);
    if earlier.is_some() {
        tabs.push(Tab::Difference);
    }
    tabs
}

fn view(page: &Page, subject: &Subject, tabs: &[Tab], tab: Tab, content: &Markup) -> Markup {
    let manifest = &subject.manifest;
    let facts = &manifest.facts;
    html! {
        div.artifact data-handle=(subject.handle) data-kind=(facts.stats.kind) data-secrets[subject.reveals] {
            div.heading {
                h1 { (shown::source(facts)) }
                @if shown::how(facts) != shown::How::Unknown { (shown::ended(facts)) }
                @if manifest.pinned { span.badge { "pinned" } }
                span.grow {}
                (buttons(page, subject))
            }
            @if facts.origin.arguments.is_some() {
                pre.call { code { (shown::call(page.offloader(), manifest, CALL)) } }
            }
            (figures(subject))
            @if subject.has_secrets() { (secrets(page, subject)) }
            div.split {
                aside aria-label="What the model saw" {
                    details.pane open {
                        summary { "What the model saw" }
                        div.load data-load=(subject.address("/message")) { p.faint { "…" } }
                    }
                    details.pane open {
                        summary { "Shape" }
                        div.load data-load=(subject.address("/outline")) { p.faint { "…" } }
                    }
                }
                section.content aria-label="Content" {
                    (look_up(subject))
                    nav.tabs aria-label="Ways to look at the content" {
                        @for one in tabs {
                            a href=(subject.with(&[("tab", one.name()), ("page", ""), ("sort", ""), ("filter", "")])) aria-current=[(*one == tab).then_some("page")] { (one.title()) }
                        }
                    }
                    (content)
                }
            }
        }
    }
}

fn buttons(page: &Page, subject: &Subject) -> Markup {
    let (word, pinned) = match subject.manifest.pinned {
        true => ("Unpin", "0"),
        false => ("Pin", "1"),
    };
    let secrets = if subject.reveals { "&secrets=1" } else { "" };
    html! {
        div.buttons {
            a.button href={ (subject.address("/download?form=text")) (secrets) } download { "Download text" }
            @if page.is_owner || !subject.has_secrets() {
                a.button href={ (subject.address("/download?form=raw")) (secrets) } download { "Download original" }
            }
            form method="post" action=(subject.address("/pin")) {
                input type="hidden" name="pinned" value=(pinned);
                button title="A pinned output is never removed to make room" { (word) }
            }
            details.menu {
                summary.button { "Remove…" }
                form.sure method="post" action=(subject.address("/remove")) {
                    label { input type="checkbox" name="sure" value="1" required; " Remove this output for good" }
                    button.danger { "Remove" }
                }
            }
        }
    }
}

fn figures(subject: &Subject) -> Markup {
    let facts = &subject.manifest.facts;
    let stats = &facts.stats;
    let took = facts.ending.and_then(|ending| ending.duration_ms);
    html! {
        dl.figures {
            div { dt { "Stored" } dd { (shown::time(facts.created)) } }
            div { dt { "Size" } dd title={ (grouped(stats.bytes)) " bytes" } { (shown::size(stats.bytes)) } }
            div { dt { "Lines" } dd { (grouped(stats.lines)) } }
            div { dt { "Tokens" } dd { (shown::tokens(stats.tokens)) } }
            div { dt { "Kind" } dd { (stats.kind) } }
            @if let Some(took) = took { div { dt { "Took" } dd { (grouped(took)) " ms" } } }
            div { dt { "Stored because" } dd { (facts.reason.to_string().replace('_', " ")) } }
            div { dt { "Handle" } dd { code.copy title="Click to copy" { (subject.handle) } } }
            div { dt { "SHA-256" } dd { code.copy title=(facts.sha256) data-copy=(facts.sha256) { (facts.sha256.get(..12).unwrap_or_default()) "…" } } }
        }
    }
}

fn secrets(page: &Page, subject: &Subject) -> Markup {
    let found = subject.manifest.facts.secrets.as_ref();
    let rules = found.iter().flat_map(|secrets| &secrets.found);
    let rules: Vec<String> = rules
        .map(|(rule, count)| format!("{} {count}", shown::line(rule, 40)))
        .collect();
    html! {
        p.notice role="note" {
            @if subject.reveals {
                "The secrets in this output are shown (" (rules.join(", ")) "). "
                a href=(subject.with(&[("secrets", "")])) { "Hide them" }
            } @else {
                "Marks stand in place of the secrets in this output (" (rules.join(", ")) "). "
                @if page.is_owner { a href=(subject.with(&[("secrets", "1")])) { "Show secrets" } }
            }
        }
    }
}

/// The look-ups of a model, with the call to copy.
fn look_up(subject: &Subject) -> Markup {
    let is_text = subject.manifest.facts.stats.kind != ContentKind::Binary;
    let has_records = matches!(
        subject.manifest.facts.stats.kind,
        ContentKind::Json | ContentKind::Ndjson | ContentKind::Csv | ContentKind::Tsv
    );
    html! {
        @if is_text {
            form.look-up role="search" aria-label="Look up" {
                select name="tool" aria-label="Look-up" {
                    option value="grep" { "grep" }
                    option value="search" { "search" }
                    @if has_records { option value="query" { "jq" } }
                }
                input.wide type="search" name="what" aria-label="Pattern, words or filter" placeholder="Regular expression" autocomplete="off" spellcheck="false";
                label.case { input type="checkbox" name="case" aria-label="Match case"; " Aa" }
                button { "Look up" }
            }
            div.answer hidden aria-live="polite" {
                div.calls {
                    code.copy.tool-call title="Click to copy" {}
                    code.copy.command title="Click to copy" {}
                    span.grow {}
                    button.more type="button" hidden { "Next page" }
                    button.close type="button" aria-label="Close the answer" { "×" }
                }
                pre.found tabindex="0" {}
            }
        }
    }
}

/// The rows that the script reads as they come into view.
fn rows(subject: &Subject, tab: Tab) -> Markup {
    let (path, total) = match tab {
        Tab::Bytes => ("/hex", subject.manifest.facts.raw_bytes.div_ceil(16)),
        _ => ("/lines", subject.manifest.facts.view.lines),
    };
    let is_text = tab == Tab::Text;
    html! {
        @if is_text {
            div.jumps {
                label { "Line " input type="number" name="line" min="1" max=(total) inputmode="numeric"; }
                button type="button" data-jump="previous" title="Previous error (p)" { "↑ error" }
                button type="button" data-jump="next" title="Next error (n)" { "↓ error" }
                @if viewer::has_levels(subject.manifest.facts.stats.kind) {
                    label title="A click on a row leads to it among all lines" { "Show " select name="lens" {
                        @for (name, words, _) in Lens::NAMES { option value=(name) selected[Some(name) == subject.asked.text("lens")] { (words) } }
                    } }
                }
                span.found-line role="status" {}
            }
        }
        div.viewer tabindex="0" role="region" aria-label={ (tab.title()) ", " (grouped(total)) " rows" } data-rows=(subject.address(path)) data-total=(total) {
            div.sizer {
                div.window {}
            }
        }
        noscript { p.notice { "The content is read while you scroll, which needs the script of this page. " a href=(subject.address("/download?form=text")) { "Download the text" } } }
    }
}

/// `GET /a/{handle}/message`: what the model saw in place of the output.
pub(crate) async fn message(
    State(page): State<Arc<Page>>,
    Path(named): Path<String>,
) -> Result<Html<String>, Problem> {
    let handle = handle(&named)?;
    let of = Arc::clone(&page);
    let work = Arc::clone(&page.api).work(move |api, wait| {
        // The gateway names tools, everything else commands.
        let is_of_gateway = of.store.manifest(handle)?.facts.origin.server.is_some();
        let offloader = match is_of_gateway {
            true => &api.tools().offloader,
            false => &of.shell,
        };
        let message = offloader.within(wait).present_stored(handle)?;
        Ok(html! {
            p.faint { (grouped(message.tokens())) " tokens. Made again by the rules in force; a message in a session may also name earlier outputs." }
            pre.text { (linked(message.text().lines())) }
        })
    });
    Ok(Html(work.await?.into_string()))
}

/// `GET /a/{handle}/outline`: the shape, with links to the lines and paths that it names.
pub(crate) async fn outline(
    State(page): State<Arc<Page>>,
    Path(named): Path<String>,
) -> Result<Html<String>, Problem> {
    let handle = handle(&named)?;
    let work = Arc::clone(&page.api).work(move |api, wait| {
        let offloader = api.tools().offloader.within(wait);
        let lines = offloader.outline(handle, TokenBudget::new(SHAPE))?;
        Ok(html! {
            @if lines.is_empty() { p.faint { "No shape was recognized." } }
            pre.text { (linked(lines.iter().map(String::as_str))) }
        })
    });
    Ok(Html(work.await?.into_string()))
}

/// Returns the lines of a message or an outline, in which line numbers and paths are links.
fn linked<'a>(lines: impl Iterator<Item = &'a str>) -> Markup {
    let mut above = Above::default();
    html! { @for line in lines { (linked_line(line, &mut above)) "\n" } }
}

/// What stands above a line and says how to read it.
#[derive(Debug, Default)]
struct Above {
    /// The paths above, with their indentation: a path is relative to the one that is indented less.
    paths: Vec<(usize, String)>,
    /// Whether lines of the text follow, with a number and a space before each.
    is_text: bool,
}

fn linked_line(line: &str, above: &mut Above) -> Markup {
    let marked = shown::text(line);
    let indent = marked.len() - marked.trim_start().len();
    let (space, rest) = marked.split_at(indent);
    if indent == 0 {
        above.is_text = matches!(rest, "head:" | "tail:");
    }
    if let Some((number, after)) = numbered(rest, above.is_text) {
        return html! { (space) a.line href={ "#L" (number) } { (number) } (after) };
    }
    if let Some((before, number, after)) = named_line(&marked) {
        return html! { (before) a.line href={ "#L" (number) } { "line " (number) } (after) };
    }
    if let Some((path, after)) = path(rest) {
        above.paths.retain(|(other, _)| *other < indent);
        let parent = above.paths.last().map_or("", |(_, parent)| parent.as_str());
        let whole = format!("{parent}{path}");
        let link = html! { (space) a.path href="#look-up" data-path=(whole) { (path) } (after) };
        above.paths.push((indent, whole));
        return link;
    }
    html! { (marked) }
}

/// Takes a line number off the beginning of a line: `42: fn main()`.
fn numbered(line: &str, is_text: bool) -> Option<(u64, &str)> {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, after) = line.split_at(digits);
    let ends = after.starts_with(':') || is_text && (after.is_empty() || after.starts_with(' '));
    let is_number = ends && digits > 0;
    is_number
        .then(|| Some((number.parse().ok()?, after)))
        .flatten()
}

/// Finds `(line 42)` in a line.
fn named_line(line: &str) -> Option<(&str, u64, &str)> {
    let (before, after) = line.split_once("(line ")?;
    let (number, after) = after.split_once(')')?;
    let number = number.parse().ok()?;
    let before = &line[..=before.len()];
    let after = &line[line.len() - after.len() - 1..];
    Some((before, number, after))
}

/// Takes a path off the beginning of a line: `.items[].name: string`.
fn path(line: &str) -> Option<(&str, &str)> {
    let (path, _) = line.split_once(':')?;
    let is_path = path.starts_with('.') && path.len() > 1 && !path.contains(char::is_whitespace);
    is_path.then(|| (path, &line[path.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_paths_become_links() {
        for (line, html) in [
            (
                "  42: fn <main>()",
                "  <a class=\"line\" href=\"#L42\">42</a>: fn &lt;main&gt;()",
            ),
            (
                "  3× (line 98) <*>",
                "  3× (<a class=\"line\" href=\"#L98\">line 98</a>) &lt;*&gt;",
            ),
            (
                "    .items[]: array(3) of object",
                "    <a class=\"path\" href=\"#look-up\" data-path=\".items[]\">.items[]</a>: array(3) of object",
            ),
            ("  2026-11-26 is a day", "  2026-11-26 is a day"),
            ("next: <script>", "next: &lt;script&gt;"),
            ("\u{202e}x", "⟨U+202E⟩x"),
            ("", ""),
        ] {
            assert_eq!(
                linked_line(line, &mut Above::default()).into_string(),
                html,
                "{line}"
            );
        }
    }

    #[test]
    fn a_path_is_below_the_one_above_it() {
        let lines = [
            "  object",
            "    .a[]: array",
            "      .b: object",
            "        .c: number",
            "    .d: number",
        ];
        let html = linked(lines.into_iter()).into_string();
        let paths = html.split("data-path=\"").skip(1);
        let paths: Vec<&str> = paths.map(|part| part.split('"').next().unwrap()).collect();
        assert_eq!(paths, [".a[]", ".a[].b", ".a[].b.c", ".d"]);
        let lines = [
            "shape:",
            "  900 definitions",
            "head:",
            "   1 fn main()",
            "   2",
            "next: 3",
        ];
        let html = linked(lines.into_iter()).into_string();
        assert_eq!(html.matches("<a ").count(), 2, "{html}");
    }

    #[test]
    fn each_kind_has_its_best_view_first() {
        let first = |kind, image| tabs(kind, image, None)[0];
        assert_eq!(first(ContentKind::Csv, None), Tab::Table);
        assert_eq!(first(ContentKind::Json, None), Tab::Tree);
        assert_eq!(first(ContentKind::Log, None), Tab::Text);
        assert_eq!(first(ContentKind::Binary, None), Tab::Bytes);
        assert_eq!(first(ContentKind::Binary, Some(ImageType::Png)), Tab::Image);
    }
}
