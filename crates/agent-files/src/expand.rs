//! Which texts of `.ai-agent.json` have variables, and how they are put in.
//!
//! Some texts of a REST tool are templates that are read once more: what was put in
//! there must not become a placeholder. `${$}` is a dollar to whoever reads them.

use spillgate_config::{Expansion, Lookup, Member, Node, Part, Step, Unset, camel};

/// Keys below which nothing is put in: a schema may say `${` itself.
const SCHEMAS: [&str; 2] = ["parametersSchema", "parameters_schema"];

/// Members of a REST tool that are templates.
const TEMPLATES: [&str; 3] = ["url", "headers", "bodyTemplate"];

/// A dollar in a template.
const DOLLAR: &str = "${$}";

/// Puts variables into the texts of a file, and tells which are not set.
pub(crate) fn expand(root: &mut Node, lookup: Lookup<'_>) -> Vec<Unset> {
    spillgate_config::expand(root, lookup, &part)
}

fn part(key: &[Step], member: &Member, around: &Expansion) -> Part {
    if SCHEMAS.contains(&&*member.key) {
        return Part::Raw;
    }
    match key {
        [Step::Key(section), rest @ ..] if camel(section) == "restTools" => match rest {
            // What a tool puts in by itself: its parameters.
            [_] => Part::Own(Expansion {
                kept: parameters(&member.node),
                ..Expansion::default()
            }),
            [_, Step::Key(key)] if TEMPLATES.contains(&&*camel(key)) => Part::Own(Expansion {
                dollar: DOLLAR,
                ..around.clone()
            }),
            _ => Part::Same,
        },
        _ => Part::Same,
    }
}

/// The parameters of a REST tool, by its schema.
fn parameters(tool: &Node) -> Vec<String> {
    let properties = tool.find(&["parametersSchema", "properties"]);
    let names = properties.into_iter().flat_map(|one| one.node.members());
    names.map(|member| member.key.clone()).collect()
}

#[cfg(test)]
mod tests {
    use spillgate_config::json;

    use super::*;

    fn lookup(name: &str) -> Option<String> {
        match name {
            "A" => Some("one".to_owned()),
            "NESTED" => Some("${A}".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn a_rest_tool_keeps_its_own_parameters() {
        let text = r#"{"restTools": {
            "t": {"url": "https://${A}/${id}", "parametersSchema": {"properties": {"id": {"pattern": "${A}"}}}},
            "u": {"url": "${id:-x}"}
        }}"#;
        let mut node = json::parse(text).unwrap();
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
        let mut node = json::parse(&text).unwrap();
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
