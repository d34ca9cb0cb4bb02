//! The kinds of content that Spillgate distinguishes: JSON, tables, logs and others.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kind of a result's content. It determines how a message outlines the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContentKind {
    /// One JSON document.
    Json,
    /// One JSON document per line.
    Ndjson,
    /// Comma-separated rows with a header.
    Csv,
    /// Tab-separated rows with a header.
    Tsv,
    /// Prose with Markdown headings, lists or fences.
    Markdown,
    /// HTML.
    Html,
    /// XML.
    Xml,
    /// A unified diff.
    Diff,
    /// Lines that mostly begin in the same way, with a time, a level or a source.
    Log,
    /// Source code.
    Code,
    /// Any other text.
    Text,
    /// Not text.
    Binary,
}

impl fmt::Display for ContentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Json => "json",
            Self::Ndjson => "ndjson",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Markdown => "markdown",
            Self::Html => "html",
            Self::Xml => "xml",
            Self::Diff => "diff",
            Self::Log => "log",
            Self::Code => "code",
            Self::Text => "text",
            Self::Binary => "binary",
        })
    }
}
