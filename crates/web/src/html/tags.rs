//! Classifies HTML elements for tidying.

/// What happens to an element when a page is tidied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The element is dropped together with its content.
    Dropped,
    /// The element has no content.
    Void,
    /// The element is kept as a block.
    Block,
    /// The element is a block and is written as this element.
    BlockAs(&'static str),
    /// The element formats a part of a line, and is written as this element.
    Mark(&'static str),
    /// The element is part of a list or a table.
    Part,
    /// The element is dropped, but its content stays.
    Unknown,
}

/// Elements by role. Elements are dropped if they contain no text to read, are invisible, or lead
/// to other pages.
const ROLES: [(Role, &[&str]); 11] = [
    (
        Role::Dropped,
        &[
            "script", "style", "noscript", "template", "svg", "nav", "iframe", "object", "embed",
            "canvas", "audio", "video", "map", "input", "button", "select", "textarea", "datalist",
            "dialog", "noframes", "frameset", "menu",
        ],
    ),
    (Role::Void, &["br", "hr", "img"]),
    (
        Role::Block,
        &[
            "p",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "ul",
            "ol",
            "blockquote",
            "pre",
            "table",
        ],
    ),
    (
        Role::BlockAs("div"),
        &[
            "div",
            "section",
            "main",
            "article",
            "header",
            "footer",
            "aside",
            "address",
            "dl",
            "dd",
            "figure",
            "figcaption",
            "details",
            "summary",
            "center",
            "fieldset",
            "legend",
            "form",
            "hgroup",
            "search",
        ],
    ),
    (Role::BlockAs("p"), &["dt"]),
    (Role::Mark("b"), &["b", "strong"]),
    (Role::Mark("i"), &["i", "em"]),
    (Role::Mark("code"), &["code", "kbd", "samp", "tt"]),
    (Role::Mark("a"), &["a"]),
    (Role::Part, &["li", "tr", "td", "th", "caption"]),
    (Role::Part, &["thead", "tbody", "tfoot"]),
];

/// Returns the role of the element `name`, and the name under which the element is written.
pub(super) fn role(name: &str) -> (Role, &'static str) {
    for (role, names) in ROLES {
        if let Some(known) = names.iter().find(|known| **known == name) {
            return match role {
                Role::BlockAs(written) | Role::Mark(written) => (role, written),
                _ => (role, known),
            };
        }
    }
    (Role::Unknown, "")
}

/// Returns the elements that limit the effect of an end tag of `name`: an end tag inside such an
/// element closes nothing outside it.
pub(super) fn borders(name: &str) -> &'static [&'static str] {
    match name {
        "table" => &[],
        "td" | "th" | "tr" | "thead" | "tbody" | "tfoot" | "caption" => &["table"],
        "ul" | "ol" | "blockquote" | "pre" | "div" => &["td", "th", "table"],
        "li" => &["ul", "ol", "td", "th", "table"],
        _ => &["td", "th", "table", "li", "ul", "ol", "blockquote"],
    }
}

/// Returns the elements that the start tag of `name` closes, because their end tags are optional in
/// HTML.
pub(super) fn ends(name: &str) -> &'static [&'static str] {
    match name {
        "li" => &["li"],
        "td" | "th" => &["td", "th", "caption"],
        "tr" => &["tr", "caption"],
        "thead" | "tbody" | "tfoot" => &["thead", "tbody", "tfoot", "caption"],
        "a" => &["a"],
        "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => &["p", "h1", "h2", "h3", "h4", "h5", "h6"],
        "p" | "div" | "ul" | "ol" | "blockquote" | "pre" | "table" | "hr" => &["p"],
        _ => &[],
    }
}
