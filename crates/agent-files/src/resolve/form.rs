//! Resolves the formats of an agent's report and task, and their JSON Schemas.

use std::path::{Path, PathBuf};

use serde_json::Value;
use spillgate_config::{Malformed, Node, json, yaml};

use super::Run;
use crate::keys::{InputFormat, OutputFormat, Settings};
use crate::problem::{FileError, Problems};
use crate::prompt::read_text;
use crate::source::{Set, Source};

impl Run<'_> {
    pub(super) fn output(&mut self) -> (Set<OutputFormat>, Set<Option<Value>>) {
        let format = self
            .layers
            .pick_in(&["output", "format"], |of| of.output.as_ref()?.format);
        let format = format.unwrap_or_else(|| Set::built_in(OutputFormat::default()));
        self.row("output.format", &format, |format| match format {
            OutputFormat::Text => "text".to_owned(),
            OutputFormat::Markdown => "markdown".to_owned(),
            OutputFormat::Json => "json".to_owned(),
        });
        let schema = self.schema(
            "output",
            (format.value == OutputFormat::Json, &format.source),
            |of| of.output.as_ref()?.schema.clone(),
            |of| of.output.as_ref()?.schema_ref.clone(),
        );
        (format, schema)
    }

    pub(super) fn input(&mut self) -> (Set<InputFormat>, Set<Option<Value>>) {
        let format = self
            .layers
            .pick_in(&["input", "format"], |of| of.input.as_ref()?.format);
        let format = format.unwrap_or_else(|| Set::built_in(InputFormat::default()));
        self.row("input.format", &format, |format| match format {
            InputFormat::Text => "text".to_owned(),
            InputFormat::Json => "json".to_owned(),
        });
        let schema = self.schema(
            "input",
            (format.value == InputFormat::Json, &format.source),
            |of| of.input.as_ref()?.schema.clone(),
            |of| of.input.as_ref()?.schema_ref.clone(),
        );
        (format, schema)
    }

    /// Resolves a schema. `format` says whether the format is JSON, and which source sets it.
    fn schema(
        &mut self,
        of: &'static str,
        (is_json, format): (bool, &Source),
        given: impl Fn(&Settings) -> Option<Value>,
        named: impl Fn(&Settings) -> Option<PathBuf>,
    ) -> Set<Option<Value>> {
        let layers = self.layers;
        // A layer that chooses another format overrides the schema of a layer with lower
        // precedence.
        let counts = |source: &Source| is_json || layers.rank(source) <= layers.rank(format);
        let given = layers.pick_in(&[of, "schema"], given);
        let given = given.filter(|set| counts(&set.source));
        let named = layers.pick_in(&[of, "schemaRef"], named);
        let named = named.filter(|set| counts(&set.source));
        let set = match (given, named) {
            (None, None) => Set::built_in(None),
            (Some(given), Some(named))
                if layers.rank(&given.source) == layers.rank(&named.source) =>
            {
                let what = "cannot be combined with `schema`";
                let key = format!("{of}.schemaRef");
                let error = named.source.wrong(&key, what);
                self.problems.add(error.hint("keep one of them"));
                given.map(Some)
            }
            (Some(given), Some(named))
                if layers.rank(&given.source) < layers.rank(&named.source) =>
            {
                given.map(Some)
            }
            (_, Some(named)) => self.in_file(of, &named),
            (Some(given), None) => given.map(Some),
        };
        let name = match set.source.to_string().as_str() {
            "built-in" => "-",
            _ => "given",
        };
        self.row(
            &format!("{of}.schema"),
            &Set {
                written: None,
                ..set.clone()
            },
            |_| name.to_owned(),
        );
        let key = format!("{of}.schema");
        if let Some(schema) = &set.value {
            if !is_json {
                let what = "is only for JSON, but the format is a different one";
                let error = set.source.wrong(&key, what);
                self.problems.add(error.hint("set `format: json`"));
            }
            if let Err(what) = check_schema(schema, set.written.is_some()) {
                self.problems.add(set.source.wrong(&key, what));
            }
        }
        set
    }

    fn in_file(&mut self, of: &str, named: &Set<PathBuf>) -> Set<Option<Value>> {
        let path = named.source.path(&named.value);
        let value = match read_values(&path) {
            Ok(value) => Some(value),
            Err(problems) => {
                let key = format!("{of}.schemaRef");
                for error in problems.0 {
                    // The path may contain the value of a variable, which must not be shown.
                    let what = match &named.written {
                        Some(_) => "the file that it names is not a schema".to_owned(),
                        None => error.to_string(),
                    };
                    self.problems.add(named.source.wrong(&key, what));
                }
                None
            }
        };
        named.clone().map(|_| value)
    }
}

/// Reads the values of a JSON file, or of a YAML file by its extension.
fn read_values(path: &Path) -> Result<Value, Problems> {
    let text = read_text(path)?;
    let text = text.trim_start_matches('\u{feff}');
    let is_yaml = path
        .extension()
        .is_some_and(|end| end == "yaml" || end == "yml");
    let parsed = match is_yaml {
        true => yaml::parse(text, 1),
        false => json::parse(text),
    };
    let wrong = |error: Malformed| FileError::whole(path, error.what).at(error.at);
    let root: Node = parsed.map_err(wrong)?;
    Ok(root.value())
}

/// Checks that the value is a JSON Schema. Fetches no references.
fn check_schema(schema: &Value, is_hidden: bool) -> Result<(), String> {
    let wrong = match jsonschema::validator_for(schema) {
        Ok(_) => return Ok(()),
        Err(error) if is_hidden => format!("{} ({})", error.masked(), error.instance_path()),
        Err(error) => format!("{error} ({})", error.instance_path()),
    };
    Err(format!("is not a JSON Schema: {wrong}"))
}
