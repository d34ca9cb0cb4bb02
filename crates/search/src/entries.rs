//! Ranks named entries, such as tools, by how well they match some words.
//!
//! The score is BM25F (Robertson, Zaragoza and Taylor 2004): the fields of an entry count with
//! their weights, and words that few entries have count more. Words are compared by their stems.

use std::collections::{HashMap, HashSet};

use crate::operations::{Operation, task_in};
use crate::plain_task::plain_task;
use crate::words::{Stems, are_forms, camel_parts, is_stop_word, is_word_byte};

/// How soon repetitions of a word stop counting; the usual value.
const K1: f64 = 1.2;
/// How strongly the length of a field reduces its score; the usual value.
const B: f64 = 0.75;
/// Worth of a related word (`permit` for `permission`), compared with the word itself.
const RELATED: f64 = 0.5;
/// Most words of a query that count.
const MOST_WORDS: usize = 32;
/// Most bytes of a field that are read.
const LONGEST_FIELD: usize = 2 << 10;

/// What the score of a tool that reads counts if its name has a word of the query in another form:
/// `list_issues` is not meant by `issue 7`. Tools that write often take one thing or several.
const OTHER_FORM: f64 = 0.9;
/// Words that say nothing in a question about a text, but name operations of tools.
const OPERATIONS: [&str; 6] = ["find", "get", "give", "list", "show", "tell"];
/// What such a word counts: people also say it without meaning an operation.
const OPERATION: f64 = 0.4;
/// Words that say nothing in a task, in addition to the usual stop words. They are rare in the texts of
/// tools, so that they would count much.
const LIGHT: &str = "again already anything area around away both called everything like named need now once onto see \
    something take together tool want yet two three four five six seven eight nine ten";

/// Words that mean the same in the names of tools and in what people ask for, one group per line.
/// A word may be in several groups.
const SYNONYMS: &str = "
    create make new add generate build
    delete remove erase drop discard destroy forget wipe purge scrap strike
    read get view display fetch retrieve load open print contents
    list enumerate
    search find look query lookup seek track locate hunt
    update edit change modify replace alter patch swap substitute turn touch
    write save store record persist
    remember memory memorize store knowledge recall know known
    fact observation note information jot remark
    copy duplicate clone
    directory folder
    page website site url web
    navigate open visit browse go
    screenshot picture photo image capture
    type enter fill input
    compare diff difference
    change modification status state
    send post submit
    run execute evaluate start launch
    stop close end quit kill terminate cancel
    sum add plus total
    time date clock
    person people user contact entity card profile record entry
    thing item object entity node
    topic subject entity node
    relation link edge connection relationship tie bond
    mail email message
    ticket issue bug
    comment reply note message
    button link control element widget
    directory tree structure subfolder subdirectory nested recursive beneath hierarchy
    error failure problem
    upload attach picker chooser
    download export
    price cost
    table sheet
    text content
    commit repository git
    size length
    close shut
    start begin launch run
    stop finish end
    clear reset empty wipe clean
    delete remove unset
    click press tap hit push
    select choose pick option
    select dropdown menu combobox
    move put rename
    accept confirm dismiss handle ok okay
    dialog alert popup popped prompt confirmation
    field box input textbox form
    video film movie clip record
    weather forecast temperature
    icon logo image
    sound audio media music image picture listen
    verify check assert ensure confirm test validate sure
    visible seen appear display
    wait sleep pause delay hold until appear
    undo revert reset unstage restore rollback
    load import restore
    switch checkout change hop jump
    fix correct repair edit
    calculate compute sum
    config configuration setting option preference
    info metadata size bytes large largest big biggest heavy heaviest
    highlight frame outline border mark
    echo repeat verbatim
    mock stub fake simulate pretend dummy sample
    scroll wheel
    mouse pointer cursor hover
    coordinate position location point
    log history latest recent newest oldest last
    request call api network traffic
    env environment variable
    file document attachment
    entire whole full complete
    allow permit access accessible reach
    commit save
    stage add index prepare ready
    status touched untracked dirty uncommitted
    console javascript js script error log
    network internet offline online connection
    long slow lengthy
    research study investigate dig
    compress zip gzip gz pack archive squeeze shrink
    toggle switch turn enable disable flip
    notification notice update subscription
    several multiple many batch
    fill complete populate form
    wait until appear disappear gone vanish
    drag drop pull slide
    record watch capture observe trace
    locator selector
    snapshot structure accessibility reader
    lines changes diff
    permission owner timestamp modified info
    schedule plan arrange book reserve appointment meeting event calendar
    assign owner responsible assignee
    approve accept sign
    reply answer respond comment
    forward redirect
    pay charge bill invoice payment
    refund reimburse
    translate translation language
    order purchase buy
    channel room chat group conversation
    restart reboot
    deploy ship release publish rollout
    star favorite bookmark like
    invite invitation guest attendee member
    join leave
    employee staff worker colleague
    customer client buyer
    summary summarize digest overview
    average mean
    convert turn transform
    resize scale crop
    archive unarchive
    subscribe subscription follow unsubscribe
    mute silence snooze
    label tag category
    add insert put
";

/// A word of a query.
struct Asked {
    stem: String,
    weight: f64,
    /// Stems of words that mean the same.
    same: Vec<String>,
}

impl Asked {
    /// `groups` are the stems of the synonyms.
    fn new(groups: &[Vec<String>], stem: String) -> Self {
        let of_stem = groups.iter().filter(|group| group.contains(&stem));
        let same = of_stem.flatten().filter(|other| **other != stem);
        let mut same: Vec<String> = same.cloned().collect();
        if let Some(done) = stem.strip_prefix("un") {
            // What is not staged is unstaged, and what is not added, too.
            let of_done = groups
                .iter()
                .filter(|group| group.iter().any(|one| one == done));
            same.extend(of_done.flatten().map(|other| format!("un{other}")));
        }
        let weight = match OPERATIONS.contains(&&*stem) {
            true => OPERATION,
            false => 1.0,
        };
        Self { stem, weight, same }
    }

    /// Returns the words of a task that say what it asks for, each once; if it has nothing but usual words, these.
    fn all(stems: &Stems, task: &str) -> Vec<Self> {
        let light: HashSet<String> = words(stems, LIGHT).into_iter().collect();
        let all = words(stems, task);
        let says = |word: &String| {
            OPERATIONS.contains(&&**word) || !is_stop_word(word) && !light.contains(word)
        };
        let undone = undone(task).map(|word| stems.stem(&word));
        let mut asked: Vec<String> = all
            .iter()
            .filter(|word| says(word))
            .cloned()
            .chain(undone)
            .chain(meant(task).map(|word| stems.stem(word)))
            .collect();
        if asked.is_empty() {
            asked = all;
        }
        let mut seen = HashSet::new();
        asked.retain(|word| seen.insert(word.clone()));
        asked.truncate(MOST_WORDS);
        let groups: Vec<Vec<String>> = SYNONYMS.lines().map(|group| words(stems, group)).collect();
        let asked = asked.into_iter().map(|stem| Self::new(&groups, stem));
        asked.collect()
    }
}

/// Returns `unstaged` for `not yet staged`, and the like.
fn undone(task: &str) -> impl Iterator<Item = String> {
    const WITHIN: usize = 3;
    let words: Vec<&str> = parts(task).collect();
    (0..words.len()).filter_map(move |at| {
        let is_contracted = at > 0 && words[at] == "t" && words[at - 1].ends_with('n');
        let is_not = is_contracted || words[at].eq_ignore_ascii_case("not");
        let mut next = words[at + 1..].iter().take(WITHIN);
        let done = next.find(|word| word.to_lowercase().ends_with("ed"));
        done.filter(|_| is_not).map(|word| format!("un{word}"))
    })
}

/// Returns words for what a task names by an example: a revision, several files, a sum.
fn meant(task: &str) -> impl Iterator<Item = &'static str> {
    let tokens = task.split(|c: char| c.is_whitespace() || ",;:?!\"'()".contains(c));
    let tokens = tokens.map(|token| token.trim_end_matches('.'));
    let is_hash = |token: &&str| {
        (7..=40).contains(&token.len())
            && token
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase())
            && token.contains(|c: char| c.is_ascii_digit())
            && token.contains(|c: char| c.is_ascii_alphabetic())
    };
    let is_tag = |token: &&str| {
        let number = token.strip_prefix('v').unwrap_or_default();
        number.contains('.')
            && number
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let is_file = |token: &&str| {
        let name = token.rsplit('/').next().unwrap_or_default();
        let parts = name.rsplit_once('.');
        parts.is_some_and(|(stem, ending)| {
            !stem.is_empty() && ending.starts_with(|c: char| c.is_ascii_alphabetic())
        })
    };
    let is_number = |token: &&str| token.parse::<f64>().is_ok();
    let count = |is: &dyn Fn(&&str) -> bool| tokens.clone().filter(|token| is(token)).count();
    let has_path = task.contains('/');
    let all = [
        ("revision", count(&is_hash) + count(&is_tag) > 0),
        ("multiple", count(&is_file) > 1),
        ("sum", count(&is_number) > 1 && !has_path),
    ];
    all.into_iter()
        .filter(|(_, holds)| *holds)
        .map(|(word, _)| word)
}

/// A field of an entry: its text and its weight.
pub type Field<'a> = (&'a str, f64);

/// An entry to rank.
#[derive(Debug, Clone)]
pub struct NamedEntry<'a> {
    /// The same number of fields for each entry, in the same order; the first one is its name.
    pub fields: Vec<Field<'a>>,
    /// What it does.
    pub operation: Operation,
    /// What its score counts: 1, or less if something else speaks against it.
    pub weight: f64,
}

impl NamedEntry<'_> {
    fn name(&self) -> &str {
        self.fields.first().map_or("", |(name, _)| *name)
    }
}

/// An entry that has any of the words of a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankedEntry {
    /// Its index in the entries.
    pub at: usize,
    /// How well it matches, compared with the other entries for the same query.
    pub score: f64,
    /// Whether the query contains its name.
    pub is_named: bool,
    /// Whether the query means the best entry rather than this one by their names: it has all words that only
    /// the best one's name has, and no word, or synonym of one, that only this one's name has.
    pub is_told_apart: bool,
}

/// Returns the entries that have any of the words of `query`, best first. An entry whose name the
/// query contains precedes all others.
#[must_use]
pub fn rank_entries(query: &str, entries: &[NamedEntry<'_>]) -> Vec<RankedEntry> {
    let stems = Stems::new();
    let task = plain_task(&stems, task_in(query));
    let asked = Asked::all(&stems, &task);
    let counted: Vec<Vec<Counted>> = entries
        .iter()
        .map(|entry| {
            let fields = entry.fields.iter();
            fields.map(|field| Counted::of(&stems, field)).collect()
        })
        .collect();
    let usual = usual_lengths(&counted);
    let worth: Vec<f64> = asked.iter().map(|word| worth(word, &counted)).collect();
    let named: HashSet<&str> = query
        .split(|c: char| !(c.is_alphanumeric() || "_-./".contains(c)))
        .collect();
    let forms: HashSet<String> = parts(query).map(str::to_lowercase).collect();
    let has_other_form = |entry: &NamedEntry<'_>| {
        let is_asked = |word: &str| asked.iter().any(|asked| asked.stem == stems.stem(word));
        let mut words = parts(entry.name());
        !entry.operation.writes()
            && words.any(|word| !forms.contains(&word.to_lowercase()) && is_asked(word))
    };
    let operation = Operation::of_task(&stems, &task);
    let is_named = |entry: &NamedEntry<'_>| {
        let name = entry.name();
        // A name of one word is also a word.
        named.contains(name) && (name.contains(['_', '-', '.', '/']) || query.trim() == name)
    };
    let mut ranked: Vec<RankedEntry> = counted
        .iter()
        .enumerate()
        .map(|(at, fields)| {
            let scores = asked.iter().zip(&worth);
            let score = scores.map(|(word, worth)| worth * saturated(word, fields, &usual));
            let score =
                score.sum::<f64>() * entries[at].operation.fit(operation) * entries[at].weight;
            let score = match has_other_form(&entries[at]) {
                true => score * OTHER_FORM,
                false => score,
            };
            RankedEntry {
                at,
                score,
                is_named: is_named(&entries[at]),
                is_told_apart: false,
            }
        })
        .filter(|entry| entry.is_named || entry.score > 0.0)
        .collect();
    ranked.sort_by(|a, b| {
        let by_name = b.is_named.cmp(&a.is_named);
        by_name
            .then(b.score.total_cmp(&a.score))
            .then(a.at.cmp(&b.at))
    });
    if let [best, others @ ..] = &mut *ranked {
        let name = |entry: &RankedEntry| words(&stems, entries[entry.at].name());
        let best = name(best);
        for other in others {
            other.is_told_apart = tells_apart(&asked, &best, &name(other));
        }
    }
    ranked
}

/// Whether a task has all words that only the name of the best tool has, and no word that means one that only
/// the other name has: `commit the staged changes` means `git_commit`, not `git_reset`.
fn tells_apart(asked: &[Asked], best: &[String], other: &[String]) -> bool {
    let has = |word: &String| {
        let is_form = |asked: &Asked| asked.stem == *word || are_forms(&asked.stem, word);
        asked.iter().any(is_form)
    };
    let means = |word: &String| has(word) || asked.iter().any(|asked| asked.same.contains(word));
    let mut own = best.iter().filter(|word| !other.contains(word)).peekable();
    let mut others = other.iter().filter(|word| !best.contains(word));
    own.peek().is_some() && own.all(has) && !others.any(means)
}

/// The words of a field.
#[derive(Debug)]
struct Counted {
    words: HashMap<String, f64>,
    length: f64,
    weight: f64,
}

impl Counted {
    fn of(stems: &Stems, (text, weight): &Field<'_>) -> Self {
        let text = &text[..text.floor_char_boundary(LONGEST_FIELD)];
        let (mut counts, mut length) = (HashMap::new(), 0.0);
        for word in words(stems, text) {
            *counts.entry(word).or_insert(0.0) += 1.0;
            length += 1.0;
        }
        let weight = *weight;
        Self {
            words: counts,
            length,
            weight,
        }
    }

    /// Returns how often the field has a word, or a related one.
    fn count(&self, word: &Asked) -> f64 {
        if let Some(count) = self.words.get(&word.stem) {
            return *count;
        }
        let has_same = word.same.iter().any(|other| self.words.contains_key(other));
        let is_form = |other: &String| are_forms(&word.stem, other);
        match has_same || self.words.keys().any(is_form) {
            true => RELATED,
            false => 0.0,
        }
    }
}

/// Returns the usual length of each field.
fn usual_lengths(entries: &[Vec<Counted>]) -> Vec<f64> {
    let fields = entries.first().map_or(0, Vec::len);
    let usual = |at: usize| {
        let lengths = entries.iter().filter_map(|fields| fields.get(at));
        let sum: f64 = lengths.map(|field| field.length).sum();
        (sum / entries.len() as f64).max(1.0)
    };
    (0..fields).map(usual).collect()
}

/// Returns the worth of a word: the fewer entries have it, the more.
fn worth(word: &Asked, entries: &[Vec<Counted>]) -> f64 {
    let has = |fields: &&Vec<Counted>| fields.iter().any(|field| field.count(word) > 0.0);
    let (with, all) = (
        entries.iter().filter(has).count() as f64,
        entries.len() as f64,
    );
    word.weight * (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
}

fn saturated(word: &Asked, fields: &[Counted], usual: &[f64]) -> f64 {
    let counts = fields.iter().zip(usual).map(|(field, usual)| {
        field.weight * field.count(word) / (1.0 - B + B * field.length / usual)
    });
    let count: f64 = counts.sum();
    count * (K1 + 1.0) / (count + K1)
}

/// Returns the stems of the words of a text, and of the parts of `camelCase` words.
fn words(stems: &Stems, text: &str) -> Vec<String> {
    parts(text).map(|part| stems.stem(part)).collect()
}

/// Returns the words of a text, in parts if they are `camelCase`.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.len_utf8() > 1 || u8::try_from(c).is_ok_and(is_word_byte);
    let words = text.split(move |c| !is_word(c));
    words.filter(|word| !word.is_empty()).flat_map(camel_parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_in_a_task_say_what_is_meant() {
        let cases = [
            ("What did 4be71d0 change?", vec!["revision"]),
            ("the file as it was at v1.9", vec!["revision"]),
            ("show a.md and /srv/b.md at once", vec!["multiple"]),
            ("1264 and 389 together", vec!["sum"]),
            ("lines 10 to 20 of /srv/a.log", vec![]),
            ("deadbeef and 20261127 are words and a date", vec![]),
        ];
        for (task, want) in cases {
            assert_eq!(meant(task).collect::<Vec<_>>(), want, "{task}");
        }
    }

    fn entry<'a>(
        name: &'a str,
        description: &'a str,
        is_read_only: Option<bool>,
    ) -> NamedEntry<'a> {
        NamedEntry {
            fields: vec![(name, 3.0), (description, 1.0)],
            operation: Operation::of_tool(name, description, is_read_only),
            weight: 1.0,
        }
    }

    #[test]
    fn the_entry_with_the_rare_words_comes_first() {
        let tools = [
            ("read_file", "Read the complete contents of a file"),
            (
                "write_file",
                "Create a new file or overwrite an existing file",
            ),
            ("move_file", "Move or rename files and directories"),
            ("git_log", "Shows the commit logs"),
            ("createIssue", "Open an issue"),
            ("search", "Finds documents"),
        ];
        let entries = tools.map(|(name, description)| entry(name, description, None));
        for (query, want) in [
            ("rename a file", vec!["move_file"]),
            ("show the commits", vec!["git_log"]),
            ("new issue", vec!["createIssue"]),
            ("git_log", vec!["git_log"]),
            ("file that read_file reads", vec!["read_file"]),
            ("search", vec!["search"]),
            ("the", vec!["git_log"]),
            ("zebra", vec![]),
            ("", vec![]),
        ] {
            let found = rank_entries(query, &entries);
            let first: Vec<&str> = found
                .iter()
                .take(1)
                .map(|found| tools[found.at].0)
                .collect();
            assert_eq!(first, want, "{query}");
        }
        assert!(rank_entries("file", &[]).is_empty());
    }

    #[test]
    fn a_name_of_other_words_is_told_apart() {
        let tools = [
            ("git_commit", "Records staged changes"),
            ("git_reset", "Unstages all staged changes"),
            ("delete_relations", "Delete relations of entities"),
            ("delete_entities", "Delete entities and their relations"),
        ];
        let entries = tools.map(|(name, description)| entry(name, description, Some(false)));
        let told_apart = [
            "commit the staged changes",
            "commit the staged changes, or reset them",
            "the staged changes",
            "remove the relation from Ada to Acme",
            "remove the relation of the contact Ada",
            "remove all relations of the entity Ada",
        ]
        .map(|query| {
            let found = rank_entries(query, &entries);
            let marked = found.iter().map(|found| {
                let mark = if found.is_told_apart { "-" } else { "" };
                format!("{mark}{}", tools[found.at].0)
            });
            format!("{query}: {}", marked.collect::<Vec<_>>().join(" "))
        });
        insta::assert_snapshot!(told_apart.join("\n"), @r"
        commit the staged changes: git_commit -git_reset
        commit the staged changes, or reset them: git_reset git_commit
        the staged changes: git_commit git_reset
        remove the relation from Ada to Acme: delete_relations -delete_entities
        remove the relation of the contact Ada: delete_relations delete_entities git_commit
        remove all relations of the entity Ada: delete_relations delete_entities git_commit
        ");
    }

    #[test]
    fn what_is_not_done_is_undone() {
        for (task, want) in [
            ("what is not yet staged?", "unstaged"),
            (
                "files that are Not committed or not really added",
                "uncommitted unadded",
            ),
            ("what I haven't yet added", "unadded"),
            ("do not stage it", ""),
            ("not", ""),
            ("", ""),
        ] {
            let words: Vec<String> = undone(task).collect();
            assert_eq!(words.join(" "), want, "{task}");
        }
    }

    #[test]
    fn what_is_asked_for_and_what_a_tool_does_count() {
        let tools = [
            (
                "create_issue",
                "Create an issue of a repository",
                Some(false),
            ),
            ("list_issues", "List the issues of a repository", Some(true)),
            ("get_issue", "Get an issue of a repository", Some(true)),
            (
                "delete_issue",
                "Delete an issue of a repository",
                Some(false),
            ),
            ("issue", "Does something with an issue", None),
        ];
        let entries =
            tools.map(|(name, description, is_read_only)| entry(name, description, is_read_only));
        let queries = [
            "Which issues are there?",
            "show the issue 7",
            "get all issues",
            "remove the issue 7",
            "report an issue",
        ];
        let firsts = queries.map(|query| {
            let found = rank_entries(query, &entries);
            let names = found.iter().map(|found| tools[found.at].0);
            format!("{query}: {}", names.collect::<Vec<_>>().join(" "))
        });
        insta::assert_snapshot!(firsts.join("\n"), @r"
        Which issues are there?: list_issues get_issue issue create_issue delete_issue
        show the issue 7: get_issue issue list_issues create_issue delete_issue
        get all issues: get_issue list_issues issue create_issue delete_issue
        remove the issue 7: delete_issue issue create_issue get_issue list_issues
        report an issue: create_issue issue get_issue delete_issue list_issues
        ");
    }
}
