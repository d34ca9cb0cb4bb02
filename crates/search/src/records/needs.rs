//! Reads who needs what: `which packages depend on X`, `what does X need`.

use super::groups::MOST;
use super::reader::Reader;
use super::terms::Word;

/// Stems of words that say that something depends on what follows.
const NEEDS: [&str; 11] = [
    "depend",
    "dep",
    "need",
    "requir",
    "use",
    "import",
    "includ",
    "featur",
    "pull",
    "constraint",
    "ask",
];

impl Reader<'_, '_> {
    /// Whether the question asks what depends on something.
    pub(super) fn asks_for_needs(&self) -> bool {
        // `Which version is used?` asks for no user.
        let mut words = self.words.iter().enumerate();
        // Nor does `import-in-the-middle`.
        words.any(|(at, word)| {
            word.lower != "used" && NEEDS.contains(&&*word.stem) && !self.is_hyphened(at)
        })
    }

    /// The column of lists of what records need, if the question asks what most of them need.
    pub(super) fn needed_most(&self) -> Option<usize> {
        const OFTEN: [&str; 6] = [
            "popular",
            "common",
            "commonest",
            "frequent",
            "often",
            "frequently",
        ];
        const NEEDED: [&str; 5] = ["required", "needed", "used", "depended", "imported"];
        let word = |at: usize| self.words.get(at).map_or("", |word| &*word.lower);
        let is_often = |at: usize| OFTEN.contains(&word(at));
        let is_need =
            |at: usize| word(at).starts_with("dependenc") || word(at).starts_with("requirement");
        // `required by`, `most popular dependencies`, `appear most often in the dependencies`
        let asks = |at: usize| {
            let is_by = ["by", "on", "upon"].contains(&word(at + 1));
            let is_before = (1..=2)
                .filter_map(|back| at.checked_sub(back))
                .any(is_often);
            let is_behind = is_often(at) && (at..self.words.len()).any(is_need);
            // `most others depend on`
            let is_of_others = word(at) == "others"
                && ["depend", "rely", "need", "require", "use"].contains(&word(at + 1));
            NEEDED.contains(&word(at)) && is_by
                || is_need(at) && is_before
                || is_behind
                || is_of_others
        };
        let all = 0..self.words.len();
        let is_most = MOST.is_match(self.question) || all.clone().any(is_often);
        if !is_most || !all.clone().any(asks) {
            return None;
        }
        let is_needs = |column: &usize| {
            let mut stems = self.columns[*column].iter();
            self.kinds[*column].is_usual
                && self.has_lists(*column)
                && stems.any(|stem| ["depend", "requir", "need"].contains(&&**stem))
                && self.shares_items(*column)
        };
        (0..self.columns.len()).find(is_needs)
    }

    /// Whether a value is what needs something, rather than what is needed: `which Python does X
    /// need`, `X's requirement on Y`, `requires_python of X`.
    pub(super) fn is_owner(&self, first: usize, last: usize) -> bool {
        const BESIDE: [&str; 7] = [
            "the", "top", "level", "package", "crate", "module", "project",
        ];
        const REVERSE: [&str; 5] = ["reverse", "reversed", "who", "dependents", "dependants"];
        let behind = &self.question[self.words[last].end..];
        let next = self.words.get(last + 1);
        let before = (0..first).rev().map(|at| &*self.words[at].lower);
        let before = before.into_iter().find(|word| !BESIDE.contains(word));
        let needs = next.is_some_and(|next| {
            NEEDS.contains(&&*next.stem) || ["accept", "declare", "want"].contains(&&*next.lower)
        });
        let is_reverse = || {
            self.words
                .iter()
                .any(|word| REVERSE.contains(&&*word.lower))
        };
        let does = |word: &Word| ["does", "do", "did"].contains(&&*word.lower);
        match before {
            Some("does" | "do" | "did") if needs => true,
            Some("of" | "by") => !is_reverse() && !self.words.iter().any(does),
            _ => behind.starts_with("'s ") || behind.starts_with("’s "),
        }
    }

    /// Whether word `at` is what something depends on: `needs X`, `depends on X`.
    pub(super) fn is_needed(&self, at: usize) -> bool {
        let before = |back: usize| at.checked_sub(back).map(|at| &self.words[at]);
        let needs = |word: Option<&Word>| word.is_some_and(|word| NEEDS.contains(&&*word.stem));
        needs(before(1)) || before(1).is_some_and(|word| word.lower == "on") && needs(before(2))
    }

    /// How likely a value is meant in a column, whatever the words near it: what depends on
    /// something has it in a list, otherwise a name is that of a record.
    pub(super) fn liking(&self, column: usize, needs: bool) -> f64 {
        const LIST: f64 = 5.0;
        const NAME: f64 = 0.6;
        let name = &*self.collection.columns[column];
        match (self.has_lists(column), needs) {
            (true, true) => LIST,
            (true, false) => -LIST,
            _ if ["name", "title", "key", "id", "metadata.name"].contains(&name) => NAME,
            _ => 0.0,
        }
    }
}
