//! Converts any HTML page to a smaller page whose elements are properly nested.

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};
use reqwest::Url;

use super::table::Table;
use super::tags::{Role, borders, ends, role};

/// Maximum nesting that is kept. Deeper elements are dropped, but their text stays. Normal pages
/// have a few dozen levels.
const DEEPEST: usize = 64;

/// Maximum nesting of lists and quotes, because each level indents all its lines.
const DEEPEST_INDENT: usize = 12;

/// Size of the tidied page, in bytes, beyond which links are omitted. Relative links become longer
/// when they are resolved, so links could otherwise take many times the size of the page.
const MOST_WITH_LINKS: usize = 16 << 20;

/// A tidied page.
#[derive(Debug)]
pub(super) struct Tidy {
    base: Url,
    page: Url,
    /// The text of the page's `title` element.
    pub(super) title: String,
    in_title: bool,
    html: String,
    /// Bytes of non-blank text so far.
    texts: usize,
    open: Vec<OpenElement>,
    /// Number of elements that were dropped because they are too deep, and whose end tags have not
    /// been read yet.
    too_deep: usize,
    /// The element that is being dropped, and how many elements of its name are open.
    dropping: Option<(Vec<u8>, usize)>,
    /// Whether a `pre` element has begun and has no text yet.
    at_pre: bool,
    mains: Vec<Section>,
    articles: Vec<Section>,
    tables: Vec<Table>,
}

/// An open element.
#[derive(Debug)]
struct OpenElement {
    name: &'static str,
    /// Whether the element is `main` or `article`; both are written as `div`.
    landmark: Landmark,
    /// The element's offset in the tidied page, and the bytes of text before the element.
    start: usize,
    texts: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Landmark {
    None,
    Main,
    Article,
}

/// A properly nested part of the tidied page.
#[derive(Debug)]
struct Section {
    start: usize,
    end: usize,
    texts: usize,
}

impl Tidy {
    /// Tidies the page `html`, found at `url`.
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

    /// Returns the content to read. This is the `main` or `article` element if the page has exactly
    /// one and it contains text, otherwise the whole page.
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

    /// Resolves links against the page's `base`, if that is an http or https URL.
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
        // At most six digits, because the following items get the numbers after this one.
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
        // Parts of a table that are outside a table are dropped.
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

    /// Returns the target of a link if it is another page or a mail address.
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

    /// Handles a start tag in preformatted text, where only line breaks and `code` matter.
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

    /// Begins a code block: in Markdown, preformatted text is always code.
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

    /// Closes the elements that the start tag of `name` closes.
    fn end_before(&mut self, name: &str) {
        for ended in ends(name) {
            self.close(&[ended], borders(ended));
        }
    }

    /// Closes the innermost element with one of these names, and everything within it. Stops at an
    /// element that is one of the borders.
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

    /// Opens an element. Returns false if it is too deep and was dropped.
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
