//! The words of a question, and what they mean for columns: counts, orders, names.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::moment::month_of;
use super::pattern::{DIGIT, Pattern};
use crate::words::{Stems, camel_parts, is_stop_word};

/// A word for an end of an order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Superlative<'w> {
    pub(super) name: &'w str,
    /// Whether it asks for the largest.
    pub(super) is_descending: bool,
    /// Parts of the names of columns that it means.
    pub(super) means: &'w str,
}

/// Returns what a word asks for if it is a superlative, in each of its senses: `slowest` means a low
/// speed or a long time. A word that is in no list means a column by its root: `windiest`.
pub(super) fn superlatives(word: &str) -> Vec<Superlative<'_>> {
    const LEAST_ROOT: usize = 4;
    let known = SUPERLATIVES.iter().filter(|(name, ..)| *name == word);
    let mut senses: Vec<Superlative<'_>> = known
        .map(|&(name, is_descending, means)| Superlative {
            name,
            is_descending,
            means,
        })
        .collect();
    let root = word.strip_suffix("iest");
    if senses.is_empty()
        && let Some(root) = root.filter(|root| root.len() >= LEAST_ROOT)
    {
        senses.push(Superlative {
            name: word,
            is_descending: true,
            means: root,
        });
    }
    senses
}

/// Returns what `most` with an adjective asks for: `most strong` is `strongest`.
pub(super) fn superlatives_of(adjective: &str) -> Vec<Superlative<'static>> {
    let Some(last) = adjective.chars().next_back() else {
        return Vec::new();
    };
    let root = adjective.strip_suffix(['e', 'y']).unwrap_or(adjective);
    // `most western` is `westernmost`.
    let forms = [
        format!("{adjective}est"),
        format!("{root}est"),
        format!("{root}iest"),
        format!("{adjective}{last}est"),
        format!("{adjective}most"),
    ];
    let known = SUPERLATIVES.iter().filter(|(name, ..)| {
        let mut forms = forms.iter();
        forms.any(|form| form == name)
    });
    let others = ADJECTIVES.iter().filter(|(name, _)| *name == adjective);
    let others = others.map(|&(name, means)| (name, true, means));
    known
        .copied()
        .chain(others)
        .map(|(name, is_descending, means)| Superlative {
            name,
            is_descending,
            means,
        })
        .collect()
}

/// Whether a word asks for an end of an order or for what is most frequent, without a superlative:
/// `Which licence dominates?`
pub(super) fn is_ranking(word: &str) -> bool {
    const RANKING: &str = "lead leads leading led leader leaders dominate dominates dominated dominant prevail prevails prevailing prevalent predominant tops topping winner winners wins champion majority prolific favourite favorite hog hogs rank ranks ranked ranking ranks sort sorted ordered descending ascending desc asc record chief main usual usually typical typically mostly mainly primarily extreme extremes outlier outliers runner heavy heaviest peak peaks peaked often frequent frequently common commonly popular active";
    RANKING.split(' ').any(|one| one == word)
}

/// Returns whether a word is a superlative.
pub(super) fn is_superlative(word: &str) -> bool {
    !superlatives(word).is_empty()
}

/// Parts of the names of columns that tell when something was.
pub(super) const DATE: &str = "date time created released updated year published started placed";

/// Parts of the names of columns that tell since when something has been.
pub(super) const SINCE: &str = "hire hired launch launched start started since seen joined signed";

/// Parts of the names of columns that tell how long something took.
pub(super) const TOOK: &str = "duration elapsed latency took runtime ms msec seconds";

/// Parts of the names of columns that tell when something will be.
pub(super) const SOON: &str = "due deadline renewal expires expiry";

/// Adjectives that ask for an end of an order behind `most` or `least`, and parts of the names of
/// columns that they mean.
const ADJECTIVES: [(&str, &str); 11] = [
    ("affluent", "income gdp wealth"),
    ("severe", "mag magnitude severity damage"),
    ("violent", "mag magnitude"),
    ("lucrative", "gross revenue profit sales"),
    ("profitable", "profit gross revenue"),
    ("successful", "gross revenue sales votes"),
    ("acclaimed", "rating score votes"),
    ("voted", "votes"),
    ("downloaded", "downloads"),
    ("viewed", "views"),
    ("distant", "distance"),
];

/// Words for the ends of an order: the word, whether it asks for the largest, and parts of the
/// names of columns that it means.
const SUPERLATIVES: [(&str, bool, &str); 102] = [
    ("commonest", true, ""),
    ("rarest", false, ""),
    ("most", true, ""),
    ("highest", true, ""),
    ("largest", true, "size bytes kb area"),
    ("biggest", true, "size bytes kb area"),
    ("greatest", true, ""),
    ("maximum", true, ""),
    ("max", true, ""),
    ("maximal", true, ""),
    ("peak", true, ""),
    ("bottom", false, ""),
    ("top", true, ""),
    ("best", true, "rating score"),
    ("best", false, "rank position place"),
    (
        "longest",
        true,
        "length duration time min distance lines pages",
    ),
    // `has been here the longest`
    ("longest", false, SINCE),
    ("deepest", true, "depth"),
    ("fastest", true, "speed mph kmh"),
    (
        "fastest",
        false,
        "duration elapsed latency took runtime time ms seconds",
    ),
    ("heaviest", true, "weight mass size bytes"),
    ("tallest", true, "height elevation"),
    ("strongest", true, "mag magnitude"),
    ("latest", true, DATE),
    ("newest", true, DATE),
    ("last", true, DATE),
    ("youngest", false, "age"),
    ("youngest", true, "date birth"),
    ("recent", true, DATE),
    ("recently", true, DATE),
    ("costliest", true, "cost price"),
    ("dearest", true, "cost price"),
    ("expensive", true, "cost price"),
    ("popular", true, "votes downloads stars"),
    ("oldest", true, "age"),
    ("oldest", false, DATE),
    ("earliest", false, DATE),
    ("first", false, DATE),
    ("soonest", false, SOON),
    ("next", false, SOON),
    ("upcoming", false, SOON),
    ("lowest", false, ""),
    ("smallest", false, "size bytes kb area"),
    ("least", false, ""),
    ("fewest", false, ""),
    ("minimum", false, ""),
    ("min", false, ""),
    ("minimal", false, ""),
    (
        "shortest",
        false,
        "length duration time min distance lines pages",
    ),
    ("cheapest", false, "cost price"),
    ("slowest", false, "speed mph kmh"),
    (
        "slowest",
        true,
        "duration elapsed latency took runtime time ms seconds",
    ),
    ("lightest", false, "weight mass"),
    ("worst", false, "rating score"),
    (
        "worst",
        true,
        "delay error loss damage late latency duration",
    ),
    ("deadliest", true, "deaths fatalities killed casualties"),
    ("weakest", false, "mag magnitude"),
    ("shallowest", false, "depth"),
    ("southernmost", false, "latitude lat"),
    ("northernmost", true, "latitude lat"),
    ("westernmost", false, "longitude lon lng"),
    ("easternmost", true, "longitude lon lng"),
    ("southerly", false, "latitude lat"),
    ("northerly", true, "latitude lat"),
    ("westerly", false, "longitude lon lng"),
    ("easterly", true, "longitude lon lng"),
    ("hottest", true, "temperature temp"),
    ("warmest", true, "temperature temp"),
    ("coldest", false, "temperature temp"),
    ("coolest", false, "temperature temp"),
    ("wettest", true, "precipitation rain"),
    ("driest", false, "precipitation rain humidity"),
    ("powerful", true, "power horsepower watts mag magnitude"),
    ("richest", true, "income gdp wealth"),
    ("poorest", false, "income gdp wealth"),
    ("priciest", true, "cost price"),
    ("busiest", true, ""),
    ("bulkiest", true, "size bytes kb volume"),
    ("hugest", true, "size bytes kb"),
    ("tiniest", false, "size bytes kb"),
    ("thickest", true, "thickness pages"),
    ("thinnest", false, "thickness pages"),
    ("fullest", true, "used usage percent pct fill occupancy"),
    ("emptiest", false, "used usage percent pct fill occupancy"),
    ("widest", true, "width"),
    ("narrowest", false, "width"),
    ("steepest", true, "slope gradient grade incline"),
    ("loudest", true, "loudness noise volume db"),
    ("quietest", false, "loudness noise volume db"),
    ("dimmest", false, "brightness luminosity"),
    ("quickest", true, "speed mph kmh"),
    (
        "quickest",
        false,
        "duration elapsed latency took runtime time ms seconds",
    ),
    ("lengthiest", true, "length duration time min lines pages"),
    ("wealthiest", true, "income gdp wealth"),
    ("farthest", true, "distance"),
    ("furthest", true, "distance"),
    ("nearest", false, "distance"),
    ("closest", false, "distance"),
    ("south", false, "latitude lat"),
    ("east", true, "longitude lon lng"),
    ("west", false, "longitude lon lng"),
    ("north", true, "latitude lat"),
];

/// Numbers as words.
pub(super) const NUMBERS: [&str; 11] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
];

/// Words for 11 to 19, and for 20 to 90.
const TEENS: [&str; 9] = [
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 8] = [
    "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
];

/// A word of the question.
pub(super) struct Word {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) lower: String,
    pub(super) stem: String,
}

/// Texts of which each of these words contains one.
const SMALL_NUMBERS: &[&str] = &[
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "teen", "ty",
];

/// Returns a pattern of the number words below one hundred that are one word.
fn small_numbers() -> String {
    let ones = NUMBERS[1..10].join("|");
    let tens = TENS.join("|");
    let small = [&NUMBERS[..], &TEENS, &TENS].concat().join("|");
    format!("(?:{tens})[- ](?:{ones})|{small}")
}

/// Words for a large number.
pub(super) static LARGE: Pattern = Pattern::new(
    &[&["hundred", "thousand", "million", "billion"]],
    || {
        let small = format!("{}|an?|half an?", small_numbers());
        let pattern = format!(
            r"(?i)\b(?:(?:{small})[ -])+(?:hundred|thousand|million|billion)(?:[ -](?:and )?(?:{small}|hundred|thousand|million|billion))*\b"
        );
        pattern.into()
    },
);
/// A small number as a word that is compared.
pub(super) static COMPARED: Pattern = Pattern::new(
    &[
        &[
            "than", "at least", "at most", "over", "above", "under", "below", "exactly", "up to",
            "between", "has", "have", "having", "with", "just", "only",
        ],
        SMALL_NUMBERS,
    ],
    || {
        let small = small_numbers();
        let pattern = format!(
            r"(?i)\b(?P<before>than|at least|at most|over|above|under|below|exactly|up to|between|has|have|having|with|just|only) (?P<one>{small})\b(?:(?P<and> (?:and|or) )(?P<other>{small})\b)?"
        );
        pattern.into()
    },
);
/// A unit without a number: `over an hour`.
pub(super) static SINGLE: Pattern = Pattern::new(
    &[&[
        "than",
        "at least",
        "at most",
        "over",
        "above",
        "under",
        "below",
        "exceeding",
        "within",
    ]],
    || {
        r"(?i)\b(?P<before>than|at least|at most|over|above|under|below|exceeding|within) (?:an?|one) (?P<unit>second|minute|hour|day|week|[kmg]i?b)\b".into()
    },
);

/// A small number as a word before what compares it: `four attempts or more`.
pub(super) static OR_MORE: Pattern = Pattern::new(&[SMALL_NUMBERS, &["or", "and"]], || {
    let small = small_numbers();
    format!(
        r"(?i)\b(?P<one>{small})\b(?P<behind>(?: \w+)? (?:or|and) (?:more|fewer|less|above|below|over|under|up|higher|lower|longer|shorter|later|newer|older|earlier|further|larger|bigger|smaller)\b)"
    )
    .into()
});

/// What surpasses all others: `more stars than any other`, `larger than all others`.
pub(super) static SURPASSING: Pattern = Pattern::new(
    &[
        &["more", "fewer", "less", "er"],
        &[
            "than any",
            "than every",
            "than all",
            "than the others",
            "than the rest",
        ],
    ],
    || {
        r"(?i)\b(?:(?P<most>more|fewer|less)|(?P<root>[a-z]{3,})er)\b(?P<what>(?: [\w-]+){0,5}?) than (?:any(?:thing|one|body| one)?(?: other| else)?|every(?:thing|one|body)?(?: other| else)?|all (?:the )?(?:others?|rest)|the (?:others|rest))\b".into()
    },
);
/// A range of which only the last number has a unit: `between 100 and 200 MB`, `10 to 20 seconds`.
pub(super) static RANGE: Pattern = Pattern::new(&[&["between", "from", "range"]], || {
    r"(?i)\b(?P<before>between|from|range of)(?P<first> \d[\d.,]*)(?P<and> (?:and|to|-) )(?P<last>\d[\d.,]*)(?P<unit> ?(?:[kmgt]i?b|bytes|ms|seconds?|minutes?|hours?|days?|weeks?)\b)".into()
});

/// Two numbers with a sign or `to` between them and no other words: `ports 500 to 520`,
/// `100000 - 200000 KB`.
pub(super) static BARE_RANGE: Pattern = Pattern::new(&[&[DIGIT]], || {
    r"(?i)(?P<before>^|\b(?:between|from|of) |[\s(])(?P<first>\d[\d,]+)(?: ?(?:-|–|\.{2,3}) ?| to )(?P<last>\d[\d,]+)(?P<behind>[\s?,;)]|$)".into()
});
/// Two months of a year: `in June or July 2026`, `June to September 2026`.
pub(super) static MONTHS: Pattern = Pattern::new(
    &[
        &[" or ", " and ", " to ", " through ", "til", "-", "–", "/"],
        &["20", "19"],
    ],
    || {
        let month = "(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*";
        format!(r"(?i)\b(?P<word>(?:between|from|in) )?(?P<one>{month})(?P<joint> or | and | ?[-/–] ?| (?:to|through|until|till) )(?P<other>{month}) (?:of )?(?P<year>(?:19|20)\d\d)\b").into()
    },
);
/// Two years: `in 2018 or 2019`.
pub(super) static YEARS: Pattern = Pattern::new(&[&[" or ", "/"], &["20", "19"]], || {
    r"(?i)(?P<before>^|[\s(])(?:(?:in|from) )?(?P<one>(?:19|20)\d\d)(?: or (?:in )?| ?/ ?)(?P<other>(?:19|20)\d\d)\b".into()
});
/// Two of what is named behind it: `the pair of types`.
pub(super) static PAIR: Pattern = Pattern::new(&[&["pair of", "couple of"]], || {
    r"(?i)\b(?:the|an?) (?:pair|couple) of\b".into()
});
/// A sign by its name: `with a hyphen`.
pub(super) static SIGN: Pattern = Pattern::new(
    &[&[
        "hyphen",
        "dash",
        "ampersand",
        "underscore",
        "slash",
        "apostrophe",
        "dot",
        "comma",
        "plus",
    ]],
    || {
        r"(?i)\b(?P<before>with|has|have|having|contains?|containing|includes?|including) an? (?P<sign>hyphen|dash|ampersand|underscore|slash|apostrophe|dot|comma|plus)(?: sign| character)?\b".into()
    },
);
/// How often at least: `at least twice`.
pub(super) static TWICE: Pattern = Pattern::new(&[&["twice"]], || {
    r"(?i)\b(?P<before>at least|at most|than|exactly|just|only) twice\b".into()
});

/// A number before what there are so many of: `three-cylinder`.
pub(super) static HYPHENED: Pattern = Pattern::new(&[SMALL_NUMBERS, &["-"]], || {
    let small = [&NUMBERS[..], &TEENS].concat().join("|");
    format!(r"(?i)\b(?P<one>{small})-(?P<behind>[a-z]| (?:or|and) )").into()
});
/// Exactly one: `a single file`.
pub(super) static ONLY_ONE: Pattern = Pattern::new(&[&["single"]], || {
    r"(?i)\b(?P<lacking>(?:without|lacks?|lacking|not \w+|\w+n['’]t \w+) )?(?:(?:only|just) )?(?:an?|one) single\b".into()
});
/// `came out in 2012`.
pub(super) static CAME_OUT: Pattern =
    Pattern::new(&[&["out"]], || r"(?i)\b(?:came|comes?|coming) out\b".into());

/// Returns a question with a superlative for what surpasses all others, and with the unit of a range
/// behind both of its numbers.
fn told_in_full(question: &str) -> Cow<'_, str> {
    let surpassing = replaced(&SURPASSING, question, |found: &Captures<'_>| {
        let what = &found["what"];
        match (
            found.name("most").map(|one| one.as_str()),
            found.name("root"),
        ) {
            (Some(most), _) if most.eq_ignore_ascii_case("more") => format!("most{what}"),
            (Some(most), _) if most.eq_ignore_ascii_case("fewer") => format!("fewest{what}"),
            (None, Some(root)) => format!("{}est{what}", root.as_str()),
            _ => format!("least{what}"),
        }
    });
    let bare = replaced(&BARE_RANGE, &surpassing, |found: &Captures<'_>| {
        let number = |name: &str| found[name].replace(',', "").parse::<u64>().ok();
        let (before, behind) = (&found["before"], &found["behind"]);
        let before = if before.trim().len() > 1 { " " } else { before };
        match number("first") < number("last") {
            true => format!(
                "{before}between {} and {}{behind}",
                &found["first"], &found["last"]
            ),
            false => found[0].to_owned(),
        }
    });
    let months = replaced(&MONTHS, &bare, |found: &Captures<'_>| {
        let month = |name: &str| month_of(&found[name].to_lowercase());
        let is_either = [" or ", " and ", "/"].contains(&found["joint"].to_lowercase().as_str());
        let is_range = month("one")
            .zip(month("other"))
            .is_some_and(|(one, other)| one + 1 == other || one < other && !is_either);
        match is_range {
            true => format!(
                "between {one} {year} and {other} {year}",
                one = &found["one"],
                other = &found["other"],
                year = &found["year"]
            ),
            false => found[0].to_owned(),
        }
    });
    let years = replaced(&YEARS, &months, |found: &Captures<'_>| {
        let year = |name: &str| found[name].parse::<u32>().unwrap_or_default();
        match year("one") + 1 == year("other") {
            true => format!(
                "{}between {} and {}",
                &found["before"], &found["one"], &found["other"]
            ),
            false => found[0].to_owned(),
        }
    });
    let pair = replaced(&PAIR, &years, |_| "the 2".to_owned());
    let signs = replaced(&SIGN, &pair, |found: &Captures<'_>| {
        let sign = match &*found["sign"].to_lowercase() {
            "ampersand" => '&',
            "underscore" => '_',
            "slash" => '/',
            "apostrophe" => '\'',
            "dot" => '.',
            "comma" => ',',
            "plus" => '+',
            _ => '-',
        };
        format!("{} \"{sign}\"", &found["before"])
    });
    let twice = replaced(&TWICE, &signs, |found: &Captures<'_>| {
        let before = match &found["before"] {
            "just" | "only" => "exactly",
            before => before,
        };
        format!("{before} 2 times")
    });
    let single = replaced(&ONLY_ONE, &twice, |found: &Captures<'_>| {
        match found.name("lacking") {
            Some(_) => found[0].to_owned(),
            None => "exactly 1".to_owned(),
        }
    });
    let hyphened = replaced(&HYPHENED, &single, |found: &Captures<'_>| {
        let number = spoken(&found["one"]).unwrap_or_default();
        format!("{number}-{}", &found["behind"])
    });
    let released = replaced(&CAME_OUT, &hyphened, |_| "released".to_owned());
    let ranged = replaced(&RANGE, &released, |found: &Captures<'_>| {
        let unit = &found["unit"];
        format!(
            "{}{}{unit}{}{}{unit}",
            &found["before"], &found["first"], &found["and"], &found["last"]
        )
    });
    match ranged == question {
        true => Cow::Borrowed(question),
        false => Cow::Owned(ranged.into_owned()),
    }
}

/// Returns a question with its numbers in figures where words compare them or name a large number:
/// `over one hundred thousand`, `at least three`. Units of ranges and superlatives are told in full.
pub(super) fn spelled(question: &str) -> Cow<'_, str> {
    let full = told_in_full(question);
    let large = replaced(&LARGE, &full, |found: &Captures<'_>| {
        spoken(&found[0]).map_or_else(|| found[0].to_owned(), |number| number.to_string())
    });
    let compared = replaced(&COMPARED, &large, |found: &Captures<'_>| {
        let figure = |name: &str| {
            let word = found.name(name)?.as_str();
            spoken(word).map(|number| number.to_string())
        };
        let rest = match (found.name("and"), figure("other")) {
            (Some(and), Some(other)) => format!("{}{other}", and.as_str()),
            _ => String::new(),
        };
        format!(
            "{} {}{rest}",
            &found["before"],
            figure("one").unwrap_or_default()
        )
    });
    let compared = replaced(&OR_MORE, &compared, |found: &Captures<'_>| {
        let number = spoken(&found["one"]).unwrap_or_default();
        format!("{number}{}", &found["behind"])
    });
    let compared = replaced(&SINGLE, &compared, |found: &Captures<'_>| {
        format!("{} 1 {}", &found["before"], &found["unit"])
    });
    match compared == question {
        true => Cow::Borrowed(question),
        false => Cow::Owned(compared.into_owned()),
    }
}

/// Returns a question with other texts for the matches of a pattern.
fn replaced<'q>(
    pattern: &Pattern,
    question: &'q str,
    with: impl Fn(&Captures<'_>) -> String,
) -> Cow<'q, str> {
    match pattern.on(question) {
        Some(regex) => regex.replace_all(question, with),
        None => Cow::Borrowed(question),
    }
}

/// Returns the number that a text of number words is.
fn spoken(text: &str) -> Option<u64> {
    let (mut sum, mut part) = (0u64, 0u64);
    let text = text.to_lowercase();
    let half = text.starts_with("half ");
    for word in text.split([' ', '-']) {
        let place = |words: &[&str]| words.iter().position(|known| *known == word);
        match word {
            "and" | "half" => {}
            "a" | "an" => part += 1,
            "hundred" => part = part.max(1) * 100,
            "thousand" | "million" | "billion" => {
                let times = match word {
                    "thousand" => 1_000,
                    "million" => 1_000_000,
                    _ => 1_000_000_000,
                };
                sum += part.max(1) * times;
                part = 0;
            }
            _ => {
                let small = place(&NUMBERS).map(|at| at as u64);
                let teen = place(&TEENS).map(|at| at as u64 + 11);
                let ten = place(&TENS).map(|at| (at as u64 + 2) * 10);
                part += small.or(teen).or(ten)?;
            }
        }
    }
    let number = sum + part;
    Some(if half { number / 2 } else { number })
}

/// Returns a question with the names of columns instead of their initials: `mpg` for
/// `Miles_per_Gallon`.
pub(super) fn expanded(question: &str, columns: &[String]) -> String {
    const LEAST: usize = 3;
    static WORD: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\b[A-Za-z]{3,8}\b").expect("invariant: the pattern is valid")
    });
    let parts = |name: &str| -> Vec<String> {
        let parts = name.split(|c: char| !c.is_alphanumeric());
        let parts = parts.filter(|part| !part.is_empty()).flat_map(camel_parts);
        parts.map(str::to_owned).collect()
    };
    let initials: Vec<(String, String)> = columns
        .iter()
        .map(|name| parts(name))
        .filter(|parts| parts.len() >= LEAST)
        .map(|parts| {
            let initials = parts.iter().filter_map(|part| part.chars().next());
            let initials = initials.flat_map(char::to_lowercase).collect();
            (initials, parts.join(" "))
        })
        .collect();
    let question = &*with_initials(question, columns);
    let full = WORD.replace_all(question, |found: &Captures<'_>| {
        let lower = found[0].to_lowercase();
        let mut known = initials.iter().filter(|(initials, _)| *initials == lower);
        match (known.next(), known.next()) {
            (Some((_, name)), None) if !is_stop_word(&lower) => name.clone(),
            _ => found[0].to_owned(),
        }
    });
    full.into_owned()
}

/// Returns a question with the name of a column that has the initials of its words behind them:
/// `end of life eol`.
fn with_initials<'q>(question: &'q str, columns: &[String]) -> Cow<'q, str> {
    const LENGTHS: std::ops::RangeInclusive<usize> = 3..=5;
    let names = columns.iter().filter(|name| {
        LENGTHS.contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphabetic())
    });
    let names: Vec<&String> = names.collect();
    if names.is_empty() {
        return Cow::Borrowed(question);
    }
    let all: Vec<&str> = question.split(' ').collect();
    let is_sign = |c: char| !c.is_alphanumeric();
    let words: Vec<&str> = all
        .iter()
        .map(|word| word.trim_end_matches(is_sign))
        .collect();
    let is_plain =
        |word: &&str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let says = |word: &str| !is_asking(&word.to_lowercase());
    let found = names.iter().find_map(|name| {
        let mut windows = words.windows(name.len());
        let is_meant = |window: &[&str]| {
            let letters = window.iter().zip(name.chars());
            let mut letters = letters.map(|(word, letter)| (word.chars().next(), letter));
            window.iter().all(is_plain)
                && says(window[0])
                && says(window[window.len() - 1])
                && letters
                    .all(|(one, other)| one.is_some_and(|one| one.eq_ignore_ascii_case(&other)))
        };
        let at = windows.position(is_meant)?;
        Some((at + name.len(), name))
    });
    match found {
        Some((at, name)) => {
            let (before, behind) = all.split_at(at);
            Cow::Owned([before, &[name.as_str()], behind].concat().join(" "))
        }
        None => Cow::Borrowed(question),
    }
}

/// Returns the words of a question. The name of a column such as `unMember` is as many words as it
/// has parts.
pub(super) fn words(question: &str, stems: &Stems, columns: &[String]) -> Vec<Word> {
    static WORD: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"[\p{L}\p{M}\p{N}]+").expect("invariant: the pattern is valid")
    });
    let is_step = |word: &str| {
        let mut columns = columns.iter();
        columns.any(|name| {
            name.rsplit('.')
                .next()
                .is_some_and(|last| last.eq_ignore_ascii_case(word))
        })
    };
    let words = WORD.find_iter(question).flat_map(|found| {
        let word = found.as_str();
        let parts = match camel_parts(word) {
            parts if parts.len() > 1 && is_step(word) => parts,
            _ => vec![word],
        };
        let mut start = found.start();
        let words = parts.into_iter().map(|part| {
            let end = start + part.len();
            let word = Word {
                start,
                end,
                lower: part.to_lowercase(),
                stem: stems.stem(part),
            };
            start = end;
            word
        });
        words.collect::<Vec<_>>()
    });
    words.take(80).collect()
}

/// The stems of the words in a column's name.
pub(super) fn column_stems(name: &str, stems: &Stems) -> Vec<String> {
    let parts = name.split(|c: char| !c.is_alphanumeric());
    let parts = parts.filter(|part| !part.is_empty()).flat_map(camel_parts);
    let parts: Vec<&str> = parts.collect();
    // `Cost Other` is not all that costs.
    let says = |part: &&str| {
        let lower = part.to_lowercase();
        lower == "other" || !is_stop_word(&lower)
    };
    // A column `off` has no other name.
    let is_small = !parts.iter().any(says);
    let parts = parts.into_iter().filter(|part| is_small || says(part));
    parts.map(|part| stems.stem(part)).collect()
}

/// The count that a word tells, at most 100.
pub(super) fn number(word: &Word) -> Option<usize> {
    let known = NUMBERS.iter().position(|name| *name == word.lower);
    let figure = word.lower.parse().ok();
    known.or_else(|| figure.filter(|&count: &usize| count <= 100))
}

/// Whether a word of the question and one of a name mean the same: equal stems, one that begins
/// with the other (`mag`, `magnitude`), two forms of a word (`describ` and `descript`, `licenc` and
/// `licens`), or what costs and its price.
pub(super) fn alike(word: &str, name: &str) -> bool {
    const LEAST: usize = 3;
    const ROOT: usize = 5;
    const ENDING: usize = 2;
    const SAME: [[&str; 2]; 56] = [
        ["cost", "price"],
        ["ow", "owe"],
        ["earn", "gross"],
        ["earner", "gross"],
        ["made", "gross"],
        ["take", "gross"],
        ["box", "gross"],
        ["domest", "us"],
        ["american", "us"],
        ["global", "worldwid"],
        ["runtim", "time"],
        ["altitud", "height"],
        ["strength", "mag"],
        ["strength", "magnitud"],
        ["space", "size"],
        ["cost", "budget"],
        ["bill", "cost"],
        ["rule", "code"],
        ["discuss", "comment"],
        ["retri", "attempt"],
        ["mileag", "gallon"],
        ["rain", "precipit"],
        ["rainfal", "precipit"],
        ["memori", "mem"],
        ["revenu", "mrr"],
        ["link", "url"],
        ["websit", "url"],
        ["websit", "homepag"],
        ["mail", "email"],
        ["author", "creator"],
        ["salari", "pay"],
        ["peopl", "pop"],
        ["peopl", "popul"],
        ["inhabit", "popul"],
        ["need", "depend"],
        ["need", "requir"],
        ["drag", "depend"],
        ["depend", "requir"],
        ["dep", "requir"],
        ["pull", "depend"],
        ["remov", "delet"],
        ["insert", "ad"],
        ["check", "verifi"],
        ["wrote", "author"],
        ["made", "author"],
        ["written", "author"],
        ["licenc", "licens"],
        ["msrv", "rust"],
        ["execut", "bin"],
        ["command", "bin"],
        ["enabl", "featur"],
        ["feel", "felt"],
        ["describ", "summari"],
        ["descript", "summari"],
        ["address", "url"],
        ["fetch", "download"],
    ];
    let (short, long) = match word.len() < name.len() {
        true => (word, name),
        false => (name, word),
    };
    let common = word.bytes().zip(name.bytes()).take_while(|(a, b)| a == b);
    let common = common.count();
    word == name
        || short.len() >= LEAST && long.starts_with(short)
        || short.len() >= ROOT && long.ends_with(short)
        || common >= ROOT && long.len() - common <= ENDING
        || SAME.contains(&[word, name])
        || SAME.contains(&[name, word])
}

/// Whether a word asks for something, so that its capital letter says nothing.
pub(super) fn is_asking(word: &str) -> bool {
    const ASKING: &str = "list give show find name tell count print return select get which what how number total every each all";
    is_stop_word(word) || ASKING.split(' ').any(|one| one == word)
}

/// A text in lower case without what separates its words.
pub(super) fn squeezed(text: &str) -> String {
    const LONGEST: usize = 120;
    if text.len() > LONGEST {
        return String::new();
    }
    text.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}
