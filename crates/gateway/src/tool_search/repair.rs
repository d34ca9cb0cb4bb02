//! A call whose arguments have other names than those of the tool: `repository` for `repo_path`.

use serde_json::{Map, Value};

use super::form::kind;

/// Most bytes of arguments that an error repeats.
const MOST_BYTES: usize = 2000;
/// How much alike the names must be if several could be meant.
const ALIKE: f64 = 0.7;

/// The arguments of a call with the right names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Repaired {
    /// An object in JSON.
    pub(super) arguments: String,
    /// The names that the tool does not have.
    pub(super) wrong: Vec<String>,
}

/// Returns the arguments with the right names, if each of the `missing` ones seems to be there under
/// another name, or all in an object of their own. `arguments` is in JSON.
pub(super) fn repaired(schema: &Value, arguments: &str, missing: &[&str]) -> Option<Repaired> {
    if arguments.len() > MOST_BYTES {
        return None;
    }
    let given: Map<String, Value> = serde_json::from_str(arguments).ok()?;
    let properties = schema["properties"].as_object()?;
    let (mut right, mut other): (Map<_, _>, Map<_, _>) = given
        .into_iter()
        .partition(|(name, _)| properties.contains_key(name));
    let mut wrong = Vec::new();
    for name in missing {
        let fits = |value: &Value| is_of(value, kind(&properties[*name]));
        let fitting = other.iter().filter(|(_, value)| fits(value));
        let alike = |other: &str| strsim::jaro_winkler(&name.to_lowercase(), &other.to_lowercase());
        let is_only = missing.len() == 1 && fitting.clone().count() == 1;
        let nearest = fitting
            .map(|(other, _)| (alike(other), other))
            .filter(|(alike, _)| is_only || *alike >= ALIKE)
            .max_by(|one, other| one.0.total_cmp(&other.0));
        let nearest = nearest?.1.clone();
        right.insert((*name).to_owned(), other.remove(&nearest)?);
        wrong.push(nearest);
    }
    let members = right
        .iter()
        .map(|(name, value)| format!("{}: {value}", Value::from(&**name)));
    let members: Vec<String> = members.collect();
    Some(Repaired {
        arguments: format!("{{{}}}", members.join(", ")),
        wrong,
    })
}

/// Whether a value is of a type of JSON Schema; of each if the type is empty.
fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "" => true,
        "integer" | "number" => value.is_number(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_get_the_names_of_the_tool() {
        let schema = json!({"properties": {
            "repo_path": {"type": "string"}, "message": {"type": "string"}, "count": {"type": "integer"}, "any": {},
        }});
        let calls = [
            (
                r#"{"message": "a\nb", "repository": "/r"}"#,
                vec!["repo_path"],
            ),
            (
                r#"{"text": "m", "repository": "/r"}"#,
                vec!["repo_path", "message"],
            ),
            (
                r#"{"msg": "m", "repo": "/r"}"#,
                vec!["repo_path", "message"],
            ),
            (r#"{"repository": 7}"#, vec!["repo_path"]),
            (r#"{"n": 7, "force": true}"#, vec!["count"]),
            (r#"{"n": 7, "limit": 8}"#, vec!["count"]),
            (r#"{"it": [1]}"#, vec!["any"]),
            ("{}", vec!["count"]),
            ("7", vec!["count"]),
        ];
        let repaired =
            calls.map(
                |(arguments, missing)| match repaired(&schema, arguments, &missing) {
                    Some(Repaired { arguments, wrong }) => {
                        format!("{arguments} for {}", wrong.join(", "))
                    }
                    None => "-".to_owned(),
                },
            );
        assert_snapshot!(repaired.join("\n"), @r#"
        {"message": "a\nb", "repo_path": "/r"} for repository
        -
        -
        -
        {"count": 7} for n
        -
        {"any": [1]} for it
        -
        -
        "#);
        let long = format!(r#"{{"n": 7, "message": "{}"}}"#, "x".repeat(MOST_BYTES));
        assert_eq!(super::repaired(&schema, &long, &["count"]), None);
        assert_eq!(super::repaired(&json!(true), "{}", &["count"]), None);
    }
}
