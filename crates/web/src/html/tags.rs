//! The role of each HTML tag.

/// What becomes of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It goes, with all that is in it.
    Dropped,
    /// It has no content.
    Void,
    /// It stands for itself, as a block.
    Block,
    /// The same, and is written as this one.
    BlockAs(&'static str),
    /// It marks a part of a line, and is written as this one.
    Mark(&'static str),
    /// A part of a list or a table.
    Part,
    /// It goes; what is in it stays.
    Unknown,
}

/// Elements by what is done with them. What has no content of its own, is not seen, or
/// leads elsewhere is dropped.
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

/// What becomes of the element of this name, and its name as it is written.
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

/// What an end of such an element does not reach beyond.
pub(super) fn borders(name: &str) -> &'static [&'static str] {
    match name {
        "table" => &[],
        "td" | "th" | "tr" | "thead" | "tbody" | "tfoot" | "caption" => &["table"],
        "ul" | "ol" | "blockquote" | "pre" | "div" => &["td", "th", "table"],
        "li" => &["ul", "ol", "td", "th", "table"],
        _ => &["td", "th", "table", "li", "ul", "ol", "blockquote"],
    }
}

/// What the start of such an element ends, where HTML lets its end be left out.
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
