//! Keys of other agents' files that are known but refused.

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
        "how much a model thinks is not asked for in requests",
        "choose a model that thinks as you like",
    ),
    (
        "reasoningTokens",
        "how much a model thinks is not asked for in requests",
        "choose a model that thinks as you like",
    ),
    (
        "caching",
        "what a provider keeps of prompts is its own matter",
        "`cache` is for results of tools",
    ),
    (
        "stream",
        "replies are streamed where the provider can",
        "set `stream` of the provider",
    ),
    (
        "model",
        "the key has another name",
        "write `models`, also for one",
    ),
    (
        "tool",
        "the key has another name",
        "write `tools`, also for one",
    ),
    (
        "maxConcurrentTools",
        "how many calls run at once is fixed",
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
