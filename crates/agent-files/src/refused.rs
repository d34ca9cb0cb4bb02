//! Keys of other agent programs that Spillgate refuses, with the reason for each.

/// Keys of ai-agent and similar programs, with the reason for refusing them and advice.
const REFUSED: [(&str, &str, &str); 14] = [
    (
        "temperature",
        "requests to models carry no sampling settings, and a setting without effect would mislead",
        "leave it out",
    ),
    ("topP", NO_SAMPLING, "leave it out"),
    ("topK", NO_SAMPLING, "leave it out"),
    ("repeatPenalty", NO_SAMPLING, "leave it out"),
    (
        "reasoning",
        "requests do not set how much a model thinks",
        "choose a model that thinks as much as you want",
    ),
    (
        "reasoningTokens",
        "requests do not set how much a model thinks",
        "choose a model that thinks as much as you want",
    ),
    (
        "caching",
        "requests do not set what a provider caches of prompts",
        "`cache` is for results of tools",
    ),
    (
        "stream",
        "replies are streamed if the provider supports it",
        "set `stream` of the provider",
    ),
    (
        "model",
        "the key has another name",
        "write `models`, even for a single model",
    ),
    (
        "tool",
        "the key has another name",
        "write `tools`, even for a single tool",
    ),
    (
        "maxConcurrentTools",
        "the number of calls that run at the same time is fixed",
        "leave it out",
    ),
    (
        "maxToolTurns",
        "the key has another name",
        "write `maxTurns`, which counts the last turn, too",
    ),
    (
        "toolResponseMaxTokens",
        "results are capped by bytes",
        "write `toolResponseMaxBytes`",
    ),
    (
        "outputFormat",
        "the key has another name",
        "write `output: {format: …}`",
    ),
];

const NO_SAMPLING: &str = "requests to models carry no sampling settings";

/// Returns the reason for refusing a key, and advice; `None` if the key is not in the table.
pub(crate) fn why(key: &str) -> Option<(&'static str, &'static str)> {
    let name = spillgate_config::camel(key);
    let found = REFUSED.iter().find(|(refused, _, _)| *refused == name);
    found.map(|&(_, why, hint)| (why, hint))
}
