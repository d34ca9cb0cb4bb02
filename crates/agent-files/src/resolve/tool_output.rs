//! Resolves the handling of oversized results.
//!
//! Each key is resolved separately. It is looked up in the command line, the frontmatter,
//! `defaults.toolOutput` and the section `toolOutput`, in this order. If several files contain this
//! section, only the file that takes precedence is used, as in the program ai-agent.

use spillgate_extract::ExtractionSettings as Extraction;
use spillgate_llm::Target;

use super::layers::of_file;
use super::{Run, joined, path_or_dash};
use crate::agent::ToolOutputs;
use crate::keys::{Retrieval, ToolOutput};
use crate::source::Set;
use crate::values::{Models, Whole};

/// A numeric setting of extraction: its key, its getter, and the field that it sets.
type Number = (
    &'static str,
    fn(&ToolOutput) -> Option<u64>,
    fn(&mut Extraction) -> &mut u64,
);

/// All settings whose number is used without conversion.
const NUMBERS: [Number; 10] = [
    (
        "maxChunks",
        |of| of.max_chunks.map(Whole::get),
        |to| &mut to.max_chunks,
    ),
    (
        "maxChunksHard",
        |of| of.max_chunks_hard.map(Whole::get),
        |to| &mut to.max_chunks_hard,
    ),
    (
        "overlapPercent",
        |of| of.overlap_percent.map(Whole::get),
        |to| &mut to.overlap_percent,
    ),
    (
        "avgLineBytesThreshold",
        |of| of.avg_line_bytes_threshold.map(Whole::get),
        |to| &mut to.avg_line_bytes_threshold,
    ),
    (
        "chunkTokens",
        |of| of.chunk_tokens.map(Whole::get),
        |to| &mut to.chunk_tokens,
    ),
    (
        "parallel",
        |of| of.parallel.map(Whole::get),
        |to| &mut to.parallel,
    ),
    (
        "answerTokens",
        |of| of.answer_tokens.map(Whole::get),
        |to| &mut to.answer_tokens,
    ),
    (
        "passageTokens",
        |of| of.passage_tokens.map(Whole::get),
        |to| &mut to.passage_tokens,
    ),
    (
        "truncateTokens",
        |of| of.truncate_tokens.map(Whole::get),
        |to| &mut to.truncate_tokens,
    ),
    (
        "toolTokens",
        |of| of.tool_tokens.map(Whole::get),
        |to| &mut to.tool_tokens,
    ),
];

impl Run<'_> {
    pub(super) fn tool_output(&mut self, session: &Set<Vec<Target>>) -> ToolOutputs {
        let enabled = self.part("enabled", |of| of.enabled, true);
        let profile = self.nearest("profile", |of| of.profile);
        let profile = profile.unwrap_or_else(|| Set::built_in(Retrieval::default()));
        self.row("toolOutput.profile", &profile, |profile| match profile {
            Retrieval::Handle => "handle".to_owned(),
            Retrieval::Continuation => "continuation".to_owned(),
        });
        let store_dir = self.nearest("storeDir", |of| of.store_dir.clone());
        let store_dir = match store_dir {
            None => Set::built_in(None),
            Some(set) => {
                let source = set.source.clone();
                set.map(|path| Some(source.path(&path)))
            }
        };
        self.row("toolOutput.storeDir", &store_dir, |path| {
            path_or_dash(path.as_deref())
        });
        let models = self.nearest("models", |of| of.models.clone());
        let models = models.map(|set| set.map(|Models(targets)| targets));
        // An empty list counts as unset.
        let models = models.filter(|set| !set.value.is_empty());
        let models = models.unwrap_or_else(|| Set::built_in(session.value.clone()));
        let models = match models.source {
            // The value is copied from the session's models, together with its written form.
            crate::source::Source::BuiltIn => Set {
                written: session.written.clone(),
                ..models
            },
            _ => models,
        };
        self.row("toolOutput.models", &models, |targets| joined(targets));
        ToolOutputs {
            enabled,
            profile,
            store_dir,
            models,
            extraction: self.extraction(),
        }
    }

    fn extraction(&mut self) -> Extraction {
        let mut extraction = Extraction::default();
        for (key, get, to) in NUMBERS {
            let default = *to(&mut extraction);
            let set = self.part(key, get, default);
            *to(&mut extraction) = set.value;
        }
        let early_stop = self.part("earlyStop", |of| of.early_stop, extraction.early_stop);
        extraction.early_stop = early_stop.value;
        let turns = |of: &ToolOutput| of.max_turns.map(super::small);
        extraction.max_turns = self.part("maxTurns", turns, extraction.max_turns).value;
        let calls = |of: &ToolOutput| of.max_tool_calls_per_turn.map(super::small);
        let default = extraction.max_tool_calls_per_turn;
        let set = self.part("maxToolCallsPerTurn", calls, default);
        extraction.max_tool_calls_per_turn = set.value;
        extraction
    }

    fn part<T: ToString>(
        &mut self,
        key: &'static str,
        get: impl Fn(&ToolOutput) -> Option<T>,
        default: T,
    ) -> Set<T> {
        let set = self.nearest(key, get);
        let set = set.unwrap_or_else(|| Set::built_in(default));
        self.row(&format!("toolOutput.{key}"), &set, T::to_string);
        set
    }

    fn nearest<T>(
        &self,
        key: &'static str,
        get: impl Fn(&ToolOutput) -> Option<T>,
    ) -> Option<Set<T>> {
        let said = self
            .layers
            .pick_in(&["toolOutput", key], |of| get(of.tool_output.as_ref()?));
        said.or_else(|| {
            let files = self.layers.files.iter();
            let (file, section) = files
                .clone()
                .find_map(|file| Some((file, file.given.tool_output.as_ref()?)))?;
            Some(of_file(file, &["toolOutput", key], get(section)?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spillgate_config::camel;

    #[test]
    fn every_setting_of_extraction_can_be_set() {
        let all = serde_json::to_value(Extraction::default()).unwrap();
        let keys = serde_json::to_value(ToolOutput::default()).unwrap();
        let others = ["earlyStop", "maxTurns", "maxToolCallsPerTurn"];
        for name in all.as_object().unwrap().keys().map(|name| camel(name)) {
            assert!(keys.get(&name).is_some(), "{name}");
            let is_read = NUMBERS.iter().any(|(key, _, _)| *key == name);
            assert!(is_read || others.contains(&&*name), "{name}");
        }
    }
}
