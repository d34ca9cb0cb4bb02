//! Reads an OpenAPI document and follows JSON pointers in it.

use serde_json::Value;

use super::DocumentError;

/// Maximum number of references that are followed to find a value.
const MOST_STEPS: usize = 32;

/// Maximum number of values in a YAML document. The largest published documents have about two
/// million.
const MOST_NODES: usize = 4_000_000;

/// An OpenAPI document.
#[derive(Debug)]
pub(crate) struct Document {
    root: Value,
}

/// A value and its position, as a JSON pointer.
#[derive(Debug, Clone)]
pub(crate) struct Located<'a> {
    pub(crate) value: &'a Value,
    pub(crate) pointer: String,
}

impl<'a> Located<'a> {
    /// Returns a member; `None` if it is missing.
    pub(crate) fn get(&self, name: &str) -> Option<Located<'a>> {
        let value = self.value.get(name)?;
        Some(Located {
            value,
            pointer: pointer(&self.pointer, name),
        })
    }

    /// Returns the elements of a list; none for other values.
    pub(crate) fn elements(&self) -> impl Iterator<Item = Located<'a>> + use<'a> {
        let base = self.pointer.clone();
        let all = self.value.as_array().into_iter().flatten().enumerate();
        all.map(move |(number, value)| Located {
            value,
            pointer: format!("{base}/{number}"),
        })
    }

    /// Returns the members of an object; none for other values.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&'a str, Located<'a>)> + use<'a> {
        let base = self.pointer.clone();
        let all = self.value.as_object().into_iter().flatten();
        all.map(move |(name, value)| {
            let at = Located {
                value,
                pointer: pointer(&base, name),
            };
            (name.as_str(), at)
        })
    }

    /// Returns a member that is a string.
    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        self.value.get(name)?.as_str()
    }

    /// Returns an error at this position.
    pub(crate) fn broken(&self, what: impl Into<String>) -> DocumentError {
        DocumentError::new(&self.pointer, what)
    }
}

/// Returns the pointer to a member (RFC 6901).
fn pointer(base: &str, name: &str) -> String {
    format!("{base}/{}", name.replace('~', "~0").replace('/', "~1"))
}

impl Document {
    /// Parses a document of OpenAPI 3.0 or 3.1 in JSON or YAML.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, DocumentError> {
        let text = std::str::from_utf8(text).map_err(|_| DocumentError::new("", "is not UTF-8"))?;
        let text = text.trim_start_matches('\u{feff}');
        let root: Value = match text.trim_start().starts_with('{') {
            true => serde_json::from_str(text).map_err(|error| error.to_string()),
            false => of_yaml(text, MOST_NODES),
        }
        .map_err(|what| DocumentError::new("", what))?;
        let version = root["openapi"].as_str();
        match version {
            Some(version) if version.starts_with("3.0") || version.starts_with("3.1") => {
                Ok(Self { root })
            }
            Some(version) => {
                let what = format!("is {version:?}; only 3.0 and 3.1 are supported");
                Err(DocumentError::new("/openapi", what))
            }
            None if root.get("swagger").is_some() => {
                let what = "the document is of Swagger 2.0; convert it to OpenAPI 3";
                Err(DocumentError::new("/swagger", what))
            }
            None => Err(DocumentError::new(
                "",
                "has no `openapi`: it is no OpenAPI document",
            )),
        }
    }

    pub(crate) fn root(&self) -> Located<'_> {
        Located {
            value: &self.root,
            pointer: String::new(),
        }
    }

    /// Returns whether the document has version 3.0, in which schemas differ slightly from JSON
    /// Schema.
    pub(crate) fn is_3_0(&self) -> bool {
        self.root["openapi"]
            .as_str()
            .is_some_and(|version| version.starts_with("3.0"))
    }

    /// Returns the value; if it is a `$ref`, returns the value that it refers to.
    pub(crate) fn resolved<'a>(&'a self, at: Located<'a>) -> Result<Located<'a>, DocumentError> {
        let mut found = at;
        for _ in 0..MOST_STEPS {
            let Some(reference) = found.text("$ref") else {
                return Ok(found);
            };
            found = self.target(&found, reference)?;
        }
        Err(found.broken("its references form a cycle"))
    }

    /// Returns the value that a reference refers to.
    pub(crate) fn target<'a>(
        &'a self,
        from: &Located<'_>,
        reference: &str,
    ) -> Result<Located<'a>, DocumentError> {
        let shown = || reference.chars().take(200).collect::<String>();
        let Some(pointer) = reference.strip_prefix('#') else {
            let what = format!(
                "refers to {:?}: only references within the document are followed",
                shown()
            );
            return Err(from.broken(what));
        };
        let pointer = percent_decoded(pointer);
        let value = self.root.pointer(&pointer);
        value
            .map(|value| Located { value, pointer })
            .ok_or_else(|| from.broken(format!("refers to {:?}, which does not exist", shown())))
    }
}

/// Decodes a reference, which is part of a URL, so that `%7B` stands for `{`.
fn percent_decoded(pointer: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = pointer.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let code = hex
            .filter(|_| byte == b'%')
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(code.unwrap_or(byte));
        rest = match code {
            Some(_) => &after[2..],
            None => after,
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Parses YAML. The parser limits aliases and depth by default.
fn of_yaml(text: &str, most_nodes: usize) -> Result<Value, String> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_nodes: most_nodes,
            max_events: 4 * most_nodes,
        },
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let error = error.to_string();
        let what = error.lines().next().unwrap_or_default();
        match what.contains("budget breached") {
            true => {
                format!("{what}: the document is too large to be read as YAML; use its JSON form")
            }
            false => what.to_owned(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_has_so_many_values() {
        assert!(of_yaml("[1, 2, 3]", 4).is_ok());
        let told = of_yaml("[1, 2, 3, 4]", 4).unwrap_err();
        insta::assert_snapshot!(told, @"error: line 1 column 11: budget breached: Nodes { nodes: 5 }: the document is too large to be read as YAML; use its JSON form");
    }
}
