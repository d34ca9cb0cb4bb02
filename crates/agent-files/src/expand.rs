//! Expands variables in a configuration.
//!
//! `${NAME}` stands for the value of the variable, `${NAME:-text}` also has a default, and `$${`
//! stands for a literal `${`. An unset variable without a default is an error, which is reported
//! only if the agent uses the value: a server that the agent does not use need not be set up.
//!
//! Some texts of a REST tool are templates that are expanded a second time, on each call. A value
//! inserted here must not act as a placeholder then. Each dollar in it is therefore written as
//! `${$}`, which the second expansion turns back into a dollar.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use spillgate_config::{Node, NodeKind, Position, camel};

/// Looks up variables: the library does not read the environment.
pub type Lookup<'l> = &'l dyn Fn(&str) -> Option<String>;

/// An unset variable and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unset {
    /// The path to the value: keys, and `[index]` in lists.
    pub(crate) key: Vec<String>,
    pub(crate) place: Position,
    pub(crate) variable: String,
}

/// Keys whose values are not expanded, because a schema may contain `${` itself.
const SCHEMAS: [&str; 2] = ["parametersSchema", "parameters_schema"];

/// Members of a REST tool that are templates.
const TEMPLATES: [&str; 3] = ["url", "headers", "bodyTemplate"];

/// How a literal dollar is written in a template.
const DOLLAR: &str = "${$}";

/// Expands the variables of a file and returns the unset ones.
pub(crate) fn expand(root: &mut Node, lookup: Lookup<'_>) -> Vec<Unset> {
    let mut walk = Walk {
        lookup,
        key: Vec::new(),
        unset: Vec::new(),
        own: Vec::new(),
        is_template: false,
    };
    let place = root.at;
    walk.enter(root, place);
    walk.unset
}

struct Walk<'l> {
    lookup: Lookup<'l>,
    key: Vec<String>,
    unset: Vec<Unset>,
    /// The parameters of the enclosing REST tool. The tool itself substitutes them on each call.
    own: Vec<String>,
    /// Whether the current texts are templates.
    is_template: bool,
}

impl Walk<'_> {
    fn enter(&mut self, node: &mut Node, place: Position) {
        match &mut node.kind {
            NodeKind::Null | NodeKind::Bool(_) | NodeKind::Number(_) => {}
            NodeKind::Text(text) => {
                if let Some(expanded) = self.text(&text.text, place) {
                    text.written = Some(std::mem::replace(&mut text.text, expanded));
                }
            }
            NodeKind::List(elements) => {
                for (index, element) in elements.iter_mut().enumerate() {
                    self.key.push(format!("[{index}]"));
                    let at = element.at;
                    self.enter(element, at);
                    self.key.pop();
                }
            }
            NodeKind::Table(members) => {
                for member in members {
                    if SCHEMAS.contains(&&*member.key) {
                        continue;
                    }
                    self.key.push(member.key.clone());
                    let is_rest = |section: &str| camel(section) == "restTools";
                    let is_tool = match &*self.key {
                        [section, _] => is_rest(section),
                        [section, _, member] if is_rest(section) => {
                            let member = camel(member);
                            self.is_template = TEMPLATES.contains(&&*member);
                            false
                        }
                        [] | [_] => {
                            self.is_template = false;
                            false
                        }
                        _ => false,
                    };
                    if is_tool {
                        self.own = parameters(&member.node);
                    }
                    self.enter(&mut member.node, member.at);
                    if is_tool {
                        self.own.clear();
                    }
                    self.key.pop();
                }
            }
        }
    }

    /// Expands the variables of `text`; `None` if there are none.
    fn text(&mut self, text: &str, place: Position) -> Option<String> {
        static VARIABLE: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
                .expect("invariant: the pattern is a constant")
        });
        if !VARIABLE.is_match(text) {
            return None;
        }
        let expanded = VARIABLE.replace_all(text, |found: &Captures<'_>| {
            let dollar = if self.is_template { DOLLAR } else { "$" };
            let Some(name) = found.get(1).map(|name| name.as_str()) else {
                return format!("{dollar}{{");
            };
            if self.own.iter().any(|own| own == name) {
                return found[0].to_owned();
            }
            let default = || found.get(2).map(|text| text.as_str().to_owned());
            let value = (self.lookup)(name).or_else(default);
            let value = value.map(|value| value.replace('$', dollar));
            value.unwrap_or_else(|| {
                self.unset.push(Unset {
                    key: self.key.clone(),
                    place,
                    variable: name.to_owned(),
                });
                String::new()
            })
        });
        Some(expanded.into_owned()).filter(|expanded| expanded != text)
    }
}

/// Returns the parameters of a REST tool, from its schema.
fn parameters(tool: &Node) -> Vec<String> {
    let properties = tool.find(&["parametersSchema", "properties"]);
    let names = properties.into_iter().flat_map(|one| one.node.members());
    names.map(|member| member.key.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(name: &str) -> Option<String> {
        match name {
            "A" => Some("one".to_owned()),
            "EMPTY" => Some(String::new()),
            "NESTED" => Some("${A}".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn variables_are_put_in_once() {
        for (text, expanded) in [
            ("${A}/${A}", "one/one"),
            ("${B:-two}", "two"),
            ("${B:-}", ""),
            ("${EMPTY:-two}", ""),
            ("$${A} $A {A} ${a b} ${x.y}", "${A} $A {A} ${a b} ${x.y}"),
            ("${NESTED}", "${A}"),
        ] {
            let mut node = spillgate_config::yaml::parse(&format!("k: '{text}'"), 1).unwrap();
            assert_eq!(expand(&mut node, &lookup), [], "{text}");
            assert_eq!(node.value()["k"], expanded);
            assert_eq!(node.written()["k"], text);
        }
    }

    #[test]
    fn what_is_not_set_is_told_with_its_place() {
        let mut node = spillgate_config::yaml::parse("a:\n  b: [x, '${NO}']\n", 1).unwrap();
        let unset = expand(&mut node, &lookup);
        let place = Position {
            line: 2,
            column: 10,
        };
        let key = ["a", "b", "[1]"].map(str::to_owned).to_vec();
        let variable = "NO".to_owned();
        assert_eq!(
            unset,
            [Unset {
                key,
                place,
                variable
            }]
        );
    }

    #[test]
    fn a_rest_tool_keeps_its_own_parameters() {
        let text = r#"{"restTools": {
            "t": {"url": "https://${A}/${id}", "parametersSchema": {"properties": {"id": {"pattern": "${A}"}}}},
            "u": {"url": "${id:-x}"}
        }}"#;
        let mut node = spillgate_config::json::parse(text).unwrap();
        assert_eq!(expand(&mut node, &lookup), []);
        insta::assert_snapshot!(node.value(), @r#"{"restTools":{"t":{"parametersSchema":{"properties":{"id":{"pattern":"${A}"}}},"url":"https://one/${id}"},"u":{"url":"x"}}}"#);
    }

    #[test]
    fn what_is_put_into_a_template_is_no_placeholder() {
        let text = r#"{"restTools": {"t": {
            "description": "${NESTED}", "url": "https://h/${NESTED}/$${id}/${id}/${PRICE}${id}",
            "headers": {"X": "${NESTED}"}, "body_template": ["$${x}", {"a": "${NESTED}"}],
            "query": ["${NESTED}"]
        }}, "openapiSpecs": {"s": {"headers": {"X": "${NESTED}$${x}"}}}}"#;
        let text = text.replace(
            "\"query\"",
            "\"parametersSchema\": {\"properties\": {\"id\": {}}}, \"query\"",
        );
        let mut node = spillgate_config::json::parse(&text).unwrap();
        let lookup = |name: &str| match name {
            "PRICE" => Some("5$".to_owned()),
            name => lookup(name),
        };
        assert_eq!(expand(&mut node, &lookup), []);
        let value = node.value();
        let tool = &value["restTools"]["t"];
        for (got, want) in [
            (&tool["description"], "${A}"),
            (&tool["url"], "https://h/${$}{A}/${$}{id}/${id}/5${$}${id}"),
            (&tool["headers"]["X"], "${$}{A}"),
            (&tool["body_template"][0], "${$}{x}"),
            (&tool["body_template"][1]["a"], "${$}{A}"),
            (&tool["query"][0], "${A}"),
            (&value["openapiSpecs"]["s"]["headers"]["X"], "${A}${x}"),
        ] {
            assert_eq!(got, want);
        }
    }
}
