//! Classifies HTML elements for tidying.

/// What happens to an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It is dropped with its content.
    Dropped,
    /// It has no content.
    Void,
    /// It is kept as a block.
    Block,
    /// It is a block and is written as this element.
    BlockAs(&'static str),
    /// It marks a part of a line and is written as this element.
    Mark(&'static str),
    /// It is part of a list or a table.
    Part,
    /// It is dropped, but its content stays.
    Unknown,
}

/// Elements by role. Elements that have no text of their own, are invisible, or lead elsewhere
/// are dropped.
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

/// The role of the element `name`, and the name under which it is written.
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

/// The elements beyond which the end tag of `name` does not reach.
pub(super) fn borders(name: &str) -> &'static [&'static str] {
    match name {
        "table" => &[],
        "td" | "th" | "tr" | "thead" | "tbody" | "tfoot" | "caption" => &["table"],
        "ul" | "ol" | "blockquote" | "pre" | "div" => &["td", "th", "table"],
        "li" => &["ul", "ol", "td", "th", "table"],
        _ => &["td", "th", "table", "li", "ul", "ol", "blockquote"],
    }
}

/// The elements that the start tag of `name` closes, because HTML allows omitting their end
/// tags.
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
