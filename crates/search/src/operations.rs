//! Tells what a task asks for and what a tool does, by the usual verbs: a tool that only reads is
//! hardly the one for `delete the branch`, and one that deletes not the one for `which branches are
//! there?`.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::words::Stems;

/// Kinds of operations, each with its verbs. A verb may have several.
const VERBS: [(Operation, &str); 6] = [
    (
        Operation::READ,
        "get read view display fetch retrieve load show list enumerate search find look query lookup see check describe \
        count inspect return print capture tell open verify wait highlight screenshot snapshot",
    ),
    (
        Operation::CREATE,
        "create make new add generate build insert open start write set up post send reply answer record save report \
        connect link note remember",
    ),
    (
        Operation::UPDATE,
        "update edit change modify replace alter patch set rename move write make load",
    ),
    (
        Operation::DELETE,
        "delete remove erase drop discard destroy clear forget close",
    ),
    (
        Operation::WRITE,
        "press click type enter fill drag upload scroll hover hit push tap submit turn switch execute apply merge commit \
        stage put attach store keep accept dismiss resize choose pick",
    ),
    // What takes something back neither reads nor makes.
    (
        Operation(4 | 8),
        "undo reset unstage revert rollback restore",
    ),
];

/// The operations by the stems of their verbs.
static STEMS: LazyLock<HashMap<String, Operation>> = LazyLock::new(|| {
    let stems = Stems::new();
    let mut all: HashMap<String, Operation> = HashMap::new();
    for (kind, verbs) in VERBS {
        for verb in verbs.split_ascii_whitespace() {
            all.entry(stems.stem(verb)).or_default().0 |= kind.0;
        }
    }
    all
});

/// Words with which a question begins.
const ASKS: [&str; 19] = [
    "which", "what", "who", "whose", "where", "how", "when", "is", "are", "was", "were", "does",
    "do", "did", "has", "have", "can", "could", "will",
];
/// Words that may precede the verb of a task.
const BEFORE: &str = "please i d we want need like to the a all now then next first just only also let us can could would you \
    me kindly";
/// The verb is among this many first words of a name: `browser_take_screenshot`.
const FIRST: usize = 3;

/// Kinds of operations: one, several, or none if nothing tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Operation(u8);

impl Operation {
    const READ: Self = Self(1);
    const CREATE: Self = Self(2);
    const UPDATE: Self = Self(4);
    const DELETE: Self = Self(8);
    const WRITE: Self = Self(2 | 4 | 8);

    /// Returns what a tool does, by its name, the first word of its description, and whether it says
    /// that it only reads.
    #[must_use]
    pub fn of_tool(name: &str, description: &str, is_read_only: Option<bool>) -> Self {
        if is_read_only == Some(true) {
            return Self::READ;
        }
        let stems = Stems::new();
        // `notes` and `links` are things.
        let is_one = |word: &&str| !word.ends_with('s') || word.ends_with("ss");
        let name = words(name).take(FIRST).filter(is_one);
        let verb = name.chain(words(description).take(1));
        let mut verbs = verb.map(|word| Self::of_verb(&stems, word));
        match verbs.find(|operation| *operation != Self::default()) {
            Some(operation) => operation,
            None if is_read_only == Some(false) => Self::WRITE,
            None => Self::default(),
        }
    }

    /// Returns what a task asks for, by its first sentence that tells.
    pub(crate) fn of_task(stems: &Stems, task: &str) -> Self {
        let mut asked = sentences(task).map(|sentence| Self::of_sentence(stems, sentence));
        let asked = asked.find(|operation| *operation != Self::default());
        asked.unwrap_or_default()
    }

    /// Returns what a sentence asks for, by its first word that tells.
    fn of_sentence(stems: &Stems, sentence: &str) -> Self {
        let is_before = |word: &&str| {
            let mut before = BEFORE.split_ascii_whitespace();
            before.any(|one| word.eq_ignore_ascii_case(one))
        };
        // `I clicked the button` asks for nothing.
        let is_past = |word: &str| word.ends_with("ed") && word.len() > 4;
        match words(sentence).find(|word| !is_before(word)) {
            Some(word) if is_past(word) => Self::default(),
            Some(word) if ASKS.iter().any(|one| word.eq_ignore_ascii_case(one)) => Self::READ,
            Some(word) => Self::of_verb(stems, word),
            None => Self::default(),
        }
    }

    fn of_verb(stems: &Stems, word: &str) -> Self {
        let known = STEMS.get(&stems.stem(word));
        known.copied().unwrap_or_default()
    }

    /// Whether it may be other than reading.
    pub(crate) fn writes(self) -> bool {
        self.0 & Self::WRITE.0 != 0
    }

    /// Returns by how much the score of a tool that does this counts for a task that asks for `asked`.
    pub(crate) fn fit(self, asked: Self) -> f64 {
        const UNKNOWN: f64 = 0.9;
        const OTHER: f64 = 0.6;
        match (asked.0, self.0) {
            (0, _) => 1.0,
            (_, 0) => UNKNOWN,
            (asked, does) if asked & does == 0 => OTHER,
            _ => 1.0,
        }
    }
}

/// Words that ask for a tool, before the word "tool" itself: `find me the right tool to …`.
const FOR_TOOL: &str = "find search look list show get give need want use which what is are there the a an all any me i we for \
    right best please available";
/// Words between "tool" and what the tool has to do.
const AFTER_TOOL: &str =
    "that which can could to for i we with will would is are does do helps help me use used";

/// Returns what a query asks a tool to do: `delete a relation` for `find the tools that can delete a
/// relation`, otherwise the query. It is about the tool that is searched, not about tools.
pub(crate) fn task_in(query: &str) -> &str {
    let from_tool = after_any(query, FOR_TOOL);
    let after_tool = after_any(from_tool, "tool tools");
    let task = after_any(after_tool, AFTER_TOOL);
    match after_tool == from_tool || task.is_empty() {
        true => query,
        false => task,
    }
}

/// Returns the text from its first word on that is not in a list.
fn after_any<'t>(mut text: &'t str, list: &str) -> &'t str {
    loop {
        text = text.trim_start_matches(|c: char| !c.is_alphabetic());
        let end = text.find(|c: char| !c.is_alphabetic());
        let (word, rest) = text.split_at(end.unwrap_or(text.len()));
        let mut list = list.split_ascii_whitespace();
        if !list.any(|one| word.eq_ignore_ascii_case(one)) {
            return text;
        }
        text = rest;
    }
}

/// Returns the sentences of a text. A mark ends one if a space follows.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let ends = |(at, mark): &(usize, &str)| rest[at + mark.len()..].starts_with(' ');
        let end = rest.match_indices(['.', '?', '!', ';']).find(ends);
        let (sentence, after) = rest.split_at(end.map_or(rest.len(), |(at, _)| at + 1));
        rest = after;
        (!sentence.is_empty()).then_some(sentence)
    })
}

/// Returns the words of letters in a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphabetic())
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_what_the_tool_has_to_do() {
        for (query, task) in [
            (
                "find the tools that can delete a relation",
                "delete a relation",
            ),
            ("Which tool can I use to list files?", "list files?"),
            ("tool for résumés", "résumés"),
            ("find tools", "find tools"),
            ("delete the tool", "delete the tool"),
            ("list files", "list files"),
            ("", ""),
        ] {
            assert_eq!(task_in(query), task, "{query}");
        }
    }

    #[test]
    fn verbs_tell_what_is_done() {
        let stems = Stems::new();
        for (task, want) in [
            ("which branches are there?", Operation::READ),
            ("Please list the branches", Operation::READ),
            ("showing logs", Operation::READ),
            ("delete the branch", Operation::DELETE),
            ("write a file", Operation(2 | 4)),
            ("the branch", Operation::default()),
            ("I'd like to see the log", Operation::READ),
            ("I deleted a.txt. Where is it?", Operation::READ),
            ("The branch is old. Delete it!", Operation::DELETE),
            ("", Operation::default()),
        ] {
            assert_eq!(Operation::of_task(&stems, task), want, "{task}");
        }
        for (name, description, is_read_only, want) in [
            ("git_log", "Shows the commits", None, Operation::READ),
            ("browser_take_screenshot", "", None, Operation::READ),
            ("delete_file", "Reads", Some(true), Operation::READ),
            ("delete_file", "", Some(false), Operation::DELETE),
            ("git_commit", "Commits", Some(false), Operation::WRITE),
            ("git_commit", "Commits", None, Operation::WRITE),
            ("notes", "", None, Operation::default()),
        ] {
            let tool = Operation::of_tool(name, description, is_read_only);
            assert_eq!(tool, want, "{name}");
        }
        let [read, delete, none] = [Operation::READ, Operation::DELETE, Operation::default()];
        let fits = [
            read.fit(read),
            delete.fit(read),
            none.fit(read),
            read.fit(none),
        ];
        assert_eq!(format!("{fits:?}"), "[1.0, 0.6, 0.9, 1.0]");
    }
}
