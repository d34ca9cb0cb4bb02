//! Reduces any page to a small, properly nested one.

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};
use reqwest::Url;

use super::table::Table;
use super::tags::{Role, borders, ends, role};

/// Elements within each other that are kept; deeper ones go, their text stays. Pages
/// have some tens.
const DEEPEST: usize = 64;

/// Lists and quotes within each other: each moves all its lines to the right.
const DEEPEST_INDENT: usize = 12;

/// Bytes of the tidied page from which links are left out: a short link may become a
/// long one, so they could be many times the page.
const MOST_WITH_LINKS: usize = 16 << 20;

/// A page, tidied.
#[derive(Debug)]
pub(super) struct Tidy {
    base: Url,
    page: Url,
    /// Text of `title`.
    pub(super) title: String,
    in_title: bool,
    html: String,
    /// Bytes of text so far that are not space.
    texts: usize,
    open: Vec<OpenElement>,
    /// Starts of elements that were too deep and whose ends are to come.
    too_deep: usize,
    /// An element that is dropped, and how many of its name are open.
    dropping: Option<(Vec<u8>, usize)>,
    /// `pre` has begun, and its text not yet.
    at_pre: bool,
    mains: Vec<Section>,
    articles: Vec<Section>,
    tables: Vec<Table>,
}

/// An element that is open.
#[derive(Debug)]
struct OpenElement {
    name: &'static str,
    /// `main` and `article` are written as `div`.
    landmark: Landmark,
    /// Where it begins in the tidied page, and the texts before it.
    start: usize,
    texts: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Landmark {
    None,
    Main,
    Article,
}

/// A part of the tidied page, properly nested.
#[derive(Debug)]
struct Section {
    start: usize,
    end: usize,
    texts: usize,
}

impl Tidy {
    /// The page `html`, found at `url`.
    pub(super) fn of(html: &str, url: &Url) -> Self {
        let mut tidy = Self {
            base: url.clone(),
            page: url.clone(),
            title: String::new(),
            in_title: false,
            html: String::with_capacity(html.len() / 2),
            texts: 0,
            open: Vec::new(),
            too_deep: 0,
            dropping: None,
            at_pre: false,
            mains: Vec::new(),
            articles: Vec::new(),
            tables: Vec::new(),
        };
        let mut emitter = DefaultEmitter::default();
        emitter.naively_switch_states(true);
        for token in Tokenizer::new_with_emitter(html, emitter) {
            match token {
                Ok(Token::StartTag(tag)) => tidy.start(&tag),
                Ok(Token::EndTag(tag)) => tidy.end(&tag.name),
                Ok(Token::String(text)) => tidy.text(&String::from_utf8_lossy(&text)),
                _ => {}
            }
        }
        tidy.close_from(0);
        tidy
    }

    /// What is to be read: the main part or the article, if there is one and it says
    /// something, else all of it.
    pub(super) fn content(&self) -> &str {
        let one = |parts: &[Section]| match parts {
            [part] if part.texts > 0 => Some((part.start, part.end)),
            _ => None,
        };
        match one(&self.mains).or_else(|| one(&self.articles)) {
            Some((start, end)) => &self.html[start..end],
            None => &self.html,
        }
    }

    fn start(&mut self, tag: &StartTag<()>) {
        let name: &[u8] = &tag.name;
        if let Some((dropped, depth)) = &mut self.dropping {
            *depth += usize::from(dropped == name && !tag.self_closing);
            return;
        }
        let text = std::str::from_utf8(name).unwrap_or_default();
        match text {
            "title" => self.in_title = self.title.is_empty(),
            "base" => self.rebase(tag),
            _ => {}
        }
        match role(text) {
            (other, _) if other != Role::Dropped && self.in_pre() => self.start_in_pre(text, tag),
            (Role::Unknown, _) => {}
            (Role::Dropped, _) => {
                let has_content = !tag.self_closing && !matches!(text, "input" | "embed");
                self.dropping = has_content.then(|| (name.to_vec(), 1));
            }
            (Role::Void, written) => self.void(written, tag),
            (Role::Part, written) => self.part(written),
            (Role::Mark(_), written) => self.mark(written, tag),
            (Role::Block | Role::BlockAs(_), written) => {
                let landmark = match (text, attribute(tag, "role").as_deref()) {
                    ("main", _) | (_, Some("main")) => Landmark::Main,
                    ("article", _) => Landmark::Article,
                    _ => Landmark::None,
                };
                self.block(written, landmark, tag);
            }
        }
    }

    /// Links of a page lead from its `base`, if that is one of the web.
    fn rebase(&mut self, tag: &StartTag<()>) {
        let base = attribute(tag, "href").and_then(|href| self.page.join(&href).ok());
        if let Some(base) = base.filter(|base| matches!(base.scheme(), "http" | "https")) {
            self.base = base;
        }
    }

    fn block(&mut self, name: &'static str, landmark: Landmark, tag: &StartTag<()>) {
        self.end_before(name);
        let indents = |open: &&OpenElement| matches!(open.name, "ul" | "ol" | "blockquote");
        let is_indent = matches!(name, "ul" | "ol" | "blockquote");
        if is_indent && self.open.iter().filter(indents).count() >= DEEPEST_INDENT {
            return;
        }
        let start = attribute(tag, "start").filter(|_| name == "ol");
        // Six digits: numbers of items are counted on from it.
        let start = start.and_then(|start| start.trim().parse::<u32>().ok());
        let start = start.filter(|start| *start < 1_000_000);
        let start = start.map(|start| format!(" start=\"{start}\""));
        let is_open = self.push(name, landmark, &start.unwrap_or_default());
        if let Some(table) = self.tables.last_mut() {
            table.block_begun(name);
        }
        match name {
            "pre" => self.at_pre = is_open,
            "table" if is_open => self.tables.push(Table::begun(self.html.len())),
            _ => {}
        }
    }

    fn part(&mut self, name: &'static str) {
        if name == "li" {
            self.end_before(name);
            self.push(name, Landmark::None, "");
            return;
        }
        // Outside of a table, its parts are nothing.
        let Some(at) = self.open.iter().rposition(|open| open.name == "table") else {
            return;
        };
        self.end_before(name);
        if matches!(name, "td" | "th") && !self.open[at..].iter().any(|open| open.name == "tr") {
            self.part("tr");
        }
        let start = self.html.len();
        let is_open = self.push(name, Landmark::None, "");
        if let Some(table) = self.tables.last_mut().filter(|_| is_open) {
            table.part_begun(name, start, self.html.len());
        }
    }

    fn mark(&mut self, name: &'static str, tag: &StartTag<()>) {
        if name == "a" {
            self.end_before(name);
            let link = attribute(tag, "href").and_then(|href| self.link(&href));
            if let Some(link) = link {
                self.push(
                    name,
                    Landmark::None,
                    &format!(" href=\"{}\"", escaped(&link)),
                );
            }
        } else if !self.open.iter().any(|open| open.name == name) {
            self.push(name, Landmark::None, "");
        }
    }

    fn void(&mut self, name: &'static str, tag: &StartTag<()>) {
        if name != "img" {
            self.end_before(name);
            self.html.push_str(&format!("<{name}>"));
            return;
        }
        let alt = attribute(tag, "alt").unwrap_or_default();
        let alt = alt.split_whitespace().collect::<Vec<_>>().join(" ");
        if alt.is_empty() {
            return;
        }
        let source = attribute(tag, "src").and_then(|source| self.link(&source));
        match source {
            Some(source) => {
                self.texts += 1;
                let (source, alt) = (escaped(&source), escaped(&alt));
                self.html
                    .push_str(&format!("<img src=\"{source}\" alt=\"{alt}\">"));
            }
            None => self.text(&alt),
        }
    }

    /// Where a link leads, if that is another page that can be asked, or written to.
    fn link(&self, href: &str) -> Option<String> {
        if self.html.len() > MOST_WITH_LINKS || href.trim_start().starts_with('#') {
            return None;
        }
        let link = self.base.join(href.trim()).ok()?;
        matches!(link.scheme(), "http" | "https" | "mailto").then(|| link.into())
    }

    fn in_pre(&self) -> bool {
        self.open
            .iter()
            .rev()
            .take(2)
            .any(|open| open.name == "pre")
    }

    /// In what is laid out already, only lines count.
    fn start_in_pre(&mut self, name: &str, tag: &StartTag<()>) {
        if self.at_pre && name == "code" {
            self.begin_code(attribute(tag, "class").as_deref());
            return;
        }
        let is_line = matches!(name, "div" | "p" | "tr" | "li");
        if name == "br" || is_line && !self.html.ends_with(['\n', '>']) {
            self.text("\n");
        }
    }

    /// All that is laid out already is code to Markdown.
    fn begin_code(&mut self, class: Option<&str>) {
        self.at_pre = false;
        let mut classes = class.unwrap_or_default().split_whitespace();
        let language = classes.find(|class| {
            let rest = class.strip_prefix("language-").unwrap_or_default();
            !rest.is_empty()
                && rest
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"+-_#.".contains(&byte))
        });
        let class = language.map(|class| format!(" class=\"{class}\""));
        self.push("code", Landmark::None, &class.unwrap_or_default());
    }

    fn text(&mut self, text: &str) {
        if self.in_title {
            self.title.push_str(text);
            return;
        }
        if self.dropping.is_some() {
            return;
        }
        let is_blank = text.trim().is_empty();
        if self.at_pre {
            if is_blank {
                return;
            }
            self.begin_code(None);
        }
        if !is_blank {
            self.texts += text.len();
        }
        self.html.push_str(&escaped(text));
    }

    fn end(&mut self, name: &[u8]) {
        self.in_title = false;
        if let Some((dropped, depth)) = &mut self.dropping {
            *depth -= usize::from(dropped == name);
            if *depth == 0 {
                self.dropping = None;
            }
            return;
        }
        let (role, name) = role(std::str::from_utf8(name).unwrap_or_default());
        if matches!(role, Role::Unknown | Role::Void) {
            return;
        }
        if self.in_pre() && name != "pre" {
            return;
        }
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return;
        }
        self.close(&[name], borders(name));
    }

    /// Ends what the start of this element ends.
    fn end_before(&mut self, name: &str) {
        for ended in ends(name) {
            self.close(&[ended], borders(ended));
        }
    }

    /// Closes the innermost element of these names, with all within it, if no border is
    /// between.
    fn close(&mut self, names: &[&str], borders: &[&str]) {
        for at in (0..self.open.len()).rev() {
            let name = self.open[at].name;
            if names.contains(&name) {
                return self.close_from(at);
            }
            if borders.contains(&name) {
                return;
            }
        }
    }

    fn close_from(&mut self, at: usize) {
        while self.open.len() > at {
            let open = self.open.pop().expect("invariant: longer than `at`");
            if let (Some(table), "td" | "th") = (self.tables.last_mut(), open.name) {
                table.cell_ended(self.html.len());
            }
            self.html.push_str(&format!("</{}>", open.name));
            let part = Section {
                start: open.start,
                end: self.html.len(),
                texts: self.texts - open.texts,
            };
            match open.landmark {
                Landmark::Main => self.mains.push(part),
                Landmark::Article => self.articles.push(part),
                Landmark::None => {}
            }
            match open.name {
                "table" => {
                    if let Some(table) = self.tables.pop() {
                        table.ended(&mut self.html);
                    }
                }
                "pre" => self.at_pre = false,
                _ => {}
            }
        }
    }

    /// Whether it is open now; what is too deep is not.
    fn push(&mut self, name: &'static str, landmark: Landmark, attributes: &str) -> bool {
        if self.open.len() >= DEEPEST {
            self.too_deep += 1;
            self.html.push(' ');
            return false;
        }
        self.open.push(OpenElement {
            name,
            landmark,
            start: self.html.len(),
            texts: self.texts,
        });
        self.html.push_str(&format!("<{name}{attributes}>"));
        true
    }
}

fn attribute(tag: &StartTag<()>, name: &str) -> Option<String> {
    let value = tag.attributes.get(name.as_bytes())?;
    Some(String::from_utf8_lossy(value).into_owned())
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\0' => {}
            character => escaped.push(character),
        }
    }
    escaped
}
