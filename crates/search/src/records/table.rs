//! Writes the table of the records that a question asks for.

use rustc_hash::{FxHashMap, FxHashSet};
use spillgate_artifact::TokenBudget;
use spillgate_text::{TokenCounter, clip};
use spillgate_untrusted::marked;

use super::cell::{Cell, Rank};
use super::filter::filter;
use super::inner::inner;
use super::load::{Collection, Record};
use super::moment::{Unit, label};
use super::plan::{By, Group, Order, Plan};
use super::said::said_by;
use super::test::{Condition, Test, requirement, selected};

/// Records that are shown beyond those that an order asks for: equal ones may follow.
const MORE: usize = 4;
/// Fewest groups that are shown.
const GROUPS: usize = 10;
/// Most characters of a cell.
const CELL_CHARS: usize = 80;
/// The same if there are few records.
const LONG_CELL_CHARS: usize = 240;
const FEW: usize = 3;
/// Bytes of a table that is so short that its cells need not be cut.
const SHORT: usize = 1200;
/// Fewest lines of a table: the names and one record.
const LEAST: usize = 2;
/// Lines of a table if the number of records is the answer.
const COUNTED_LINES: usize = 4;
/// The part of the budget that a list of those that were counted may cost: one in this many.
const BRIEF_SHARE: u64 = 5;
/// Most tokens of a single record that is shown whole.
const MOST_OF_ONE: u64 = 400;
/// A page of fewer tokens is small.
const SMALL_PAGE: u64 = 400;
/// Most columns of the table.
const COLUMNS: usize = 6;

/// Tokens of the line that counts what is left out, and of what separates a table.
pub(super) const END: u64 = 12;

/// Most records of a table with further columns, and the tenths of the budget that it may cost.
const WIDE_RECORDS: usize = 20;
const WIDE_SHARE: u64 = 6;
/// The tenths of the budget that a table with long cells may cost.
const WHOLE_SHARE: u64 = 8;
/// Most columns of such a table.
const WIDE_COLUMNS: usize = 12;

/// Last parts of the names of columns that tell which record it is.
const IDENTITY: [&str; 8] = [
    "id", "number", "name", "title", "key", "code", "path", "version",
];
/// The number of `path` there.
const PATH: usize = 6;
/// Most records whose values are counted to find the columns that tell records apart.
const TOLD_APART: usize = 100;
/// Most columns that tell which record it is.
const IDENTITIES: usize = 3;

/// Returns the table within a budget; `None` if not even a record fits.
pub(super) fn table(
    plan: &Plan,
    collection: &Collection<'_>,
    budget: TokenBudget,
    counter: &dyn TokenCounter,
) -> Option<String> {
    let mut records = selected(&plan.conditions, collection);
    // How many there are of what does not occur is not how many there are of all.
    let missing = plan.missing.as_deref().map(cell_text);
    if let Some(missing) = missing.as_ref().filter(|_| plan.counts_missing()) {
        let head = head(plan, collection, 0);
        let head = format!("{head} have \"{missing}\"");
        return fitted(&head, &[], budget, 0, counter);
    }
    let mut head = head(plan, collection, records.len());
    if let Some(missing) = missing {
        head.push_str(&format!("; no record has \"{missing}\""));
    }
    if records.is_empty() {
        return fitted(&head, &[], budget, 0, counter);
    }
    if let Some(figures) = &plan.figures {
        head.push_str(&figures_of(*figures, &records, collection));
    }
    if let Some(column) = plan.counted.filter(|_| plan.group.is_none()) {
        let cells = records.iter().filter_map(|record| record.get(column));
        let values: FxHashSet<_> = cells.map(Cell::shown).collect();
        let name = shown_name(collection, column);
        head.push_str(&format!("; {} different {name}", values.len()));
    }
    if let Some(group) = &plan.group {
        let lines = grouped(plan, group, collection, &records, &mut head);
        return fitted(&head, &lines, budget, LEAST.min(lines.len()), counter);
    }
    if let Some(order) = &plan.order {
        sort(&mut records, order);
        head.push_str(&ordered(order, collection));
        records.truncate((order.count + MORE).max(5));
    }
    // Records that say `false` come before those without the flag.
    for one in plan.conditions.iter().filter(|_| plan.order.is_none()) {
        if one.test == Test::True && one.is_negated {
            records.sort_by_key(|record| !record.has(one.column));
        }
    }
    let mut columns = columns(plan, collection, &records);
    head.push(':');
    if let [record] = records[..]
        && !plan.conditions.is_empty()
        && plan.order.is_none()
    {
        return only(plan, collection, &head, (record, &columns), budget, counter);
    }
    // If there is room, the other columns may have what is asked for.
    let is_figure = plan.figures.is_some() && records.len() > WIDE_RECORDS;
    let is_number = (plan.is_count || is_figure) && plan.order.is_none();
    let most_records = if is_number { FEW } else { WIDE_RECORDS };
    if records.len() <= most_records {
        let most = [WIDE_COLUMNS, WIDE_COLUMNS - 3, COLUMNS + 1];
        let wide = most.map(|most| widened(&columns, most, collection, &records));
        let fits = |wide: &Vec<usize>| {
            let lines = rows(&records, wide, collection);
            let text = format!("{head}\n{}", lines.join("\n"));
            !counter.exceeds(&text, budget.get() / 10 * WIDE_SHARE)
        };
        columns = wide.into_iter().find(fits).unwrap_or(columns);
    }
    // A row has at least two tokens.
    let may_fit = records.len() as u64 * 2 <= budget.get();
    if !plan.is_count && plan.order.is_none() && may_fit {
        columns = narrowed(columns, plan, &records, |columns| {
            let lines = rows(&records, columns, collection);
            let text = format!("{head}\n{}", lines.join("\n"));
            !counter.exceeds(&text, budget.get().saturating_sub(END))
        });
    }
    let mut lines = rows(&records, &columns, collection);
    // If there is room, no cell is cut.
    let most = budget.get() / 10 * WHOLE_SHARE;
    let whole = may_fit.then(|| rows_of(&records, &columns, collection, LONG_CELL_CHARS));
    if let Some(whole) = whole.filter(|whole| !counter.exceeds(&whole.join("\n"), most)) {
        lines = whole;
    }
    if is_number {
        let names = columns
            .first()
            .map(|&first| rows(&records, &[first], collection));
        let most = budget.get() / BRIEF_SHARE;
        let is_brief = |names: &Vec<String>| {
            names.len() <= WIDE_RECORDS && !counter.exceeds(&names.join("\n"), most)
        };
        lines = counted(lines, names.filter(is_brief), plan);
    }
    // Rather than the rows that do not fit, all the values that are asked for.
    let values = plan.subject.filter(|_| is_list_of_values(plan));
    let values = values.map(|column| values_of(column, &records, collection));
    if let Some(values) = values.filter(|_| !fits_whole(&head, &lines, budget, counter)) {
        head.truncate(head.trim_end_matches(':').len());
        head.push_str(&values[0]);
        lines = [&values[1..], &lines[..]].concat();
    }
    let is_list = plan.order.is_none() && budget.get() >= SMALL_PAGE;
    let all = || filter(plan, collection, &columns).filter(|_| is_list);
    fitted_or(&head, &lines, budget, LEAST, counter, all)
}

/// Returns the values by which records are grouped, in lines with the number of records that have
/// each, and adds to the head how many there are.
fn grouped(
    plan: &Plan,
    group: &Group,
    collection: &Collection<'_>,
    records: &[&Record<'_>],
    head: &mut String,
) -> Vec<String> {
    let mut groups = groups(records, group);
    let name = shown_name(collection, group.column);
    let which = if group.is_descending { "most" } else { "least" };
    let unit = group.unit.map_or("", Unit::name);
    head.push_str(&format!("; {} different {name}{unit}", groups.len()));
    if let Some((comparison, times)) = group.times {
        groups.retain(|(_, count)| group.admits(*count));
        let sign = comparison.sign();
        head.push_str(&format!(
            "; {} of them in {sign} {times} records",
            groups.len()
        ));
    }
    head.push_str(&format!(", {which} frequent first:"));
    let shown = groups.iter().take((group.count + MORE).max(GROUPS));
    let mut lines: Vec<String> = shown
        .map(|(text, count)| format!("{count}\t{}", cell_text(text)))
        .collect();
    let hidden = groups.len() - lines.len();
    let rest = (hidden > 0).then(|| format!("… {hidden} more"));
    lines.extend(rest);
    // The records themselves, if they are few.
    if !plan.conditions.is_empty() && records.len() <= WIDE_RECORDS {
        let columns = columns(plan, collection, records);
        lines.extend(rows(records, &columns, collection));
    }
    lines
}

/// Returns how the records are ordered.
fn ordered(order: &Order, collection: &Collection<'_>) -> String {
    let which = if order.is_descending {
        "largest"
    } else {
        "smallest"
    };
    let name = shown_name(collection, order.column);
    match &order.by {
        By::Value => format!("; {which} {name} first"),
        By::Said(stem) => {
            let stem = cell_text(stem);
            format!("; {which} number in {name} with \"{stem}…\" first")
        }
        By::Length if order.is_descending => format!("; longest {name} first"),
        By::Length => format!("; shortest {name} first"),
    }
}

/// Whether a question asks for values among the records that meet conditions.
fn is_list_of_values(plan: &Plan) -> bool {
    let is_told = |column| {
        let mut conditions = plan.conditions.iter();
        conditions
            .any(|one| one.column == column && matches!(one.test, Test::Is(_)) && !one.is_negated)
    };
    !plan.is_count
        && plan.order.is_none()
        && !plan.conditions.is_empty()
        && plan.subject.is_some_and(|column| !is_told(column))
}

/// Returns how many different values some records have in a column, and these, the most frequent
/// ones first, in lines with their numbers.
fn values_of(column: usize, records: &[&Record<'_>], collection: &Collection<'_>) -> Vec<String> {
    let group = Group {
        column,
        unit: None,
        is_descending: true,
        count: 1,
        times: None,
    };
    let groups = groups(records, &group);
    let name = shown_name(collection, column);
    let head = format!("; {} different {name}, most frequent first:", groups.len());
    let lines = groups
        .iter()
        .map(|(text, count)| format!("{count}\t{}", cell_text(text)));
    std::iter::once(head).chain(lines).collect()
}

/// Whether the budget holds all lines of a table.
fn fits_whole(
    head: &str,
    lines: &[String],
    budget: TokenBudget,
    counter: &dyn TokenCounter,
) -> bool {
    fill(head, lines, budget, 0, counter).is_some_and(|text| !text.ends_with(" more\n"))
}

/// Returns the lines of a table if the number of records is the answer: a few of them show that the
/// question was understood. All names, if they are so few that this costs little: `number of` may
/// ask for a list.
fn counted(mut lines: Vec<String>, names: Option<Vec<String>>, plan: &Plan) -> Vec<String> {
    match names {
        Some(names) if !plan.conditions.is_empty() && lines.len() > COUNTED_LINES => names,
        _ => {
            lines.truncate(COUNTED_LINES);
            lines
        }
    }
}

/// Returns the name of a column for a page.
pub(super) fn shown_name(collection: &Collection<'_>, column: usize) -> String {
    clip(&marked(&collection.columns[column]), CELL_CHARS)
}

/// Returns how many records match, and the conditions as they were understood.
pub(super) fn head(plan: &Plan, collection: &Collection<'_>, count: usize) -> String {
    let all = collection.records.len();
    let mut head = match &*collection.path {
        "" => format!("{count} of {all} records"),
        path => format!("{count} of {all} in {}", clip(&marked(path), CELL_CHARS)),
    };
    if collection.left_out > 0 {
        let lines = match collection.left_out {
            1 => "1 line that is".to_owned(),
            many => format!("{many} lines that are"),
        };
        head.push_str(&format!(" (without {lines} not JSON)"));
    }
    let said = |one: &Condition| {
        let said = said(one, collection);
        format!("{said}{}", without_flag(one, collection))
    };
    let conditions: Vec<String> = plan.conditions.iter().map(said).collect();
    if !conditions.is_empty() {
        head.push_str(&format!(" have {}", conditions.join(", ")));
    }
    head
}

/// Returns how many records have a flag that is false and how many have none, if a condition takes
/// both.
fn without_flag(condition: &Condition, collection: &Collection<'_>) -> String {
    if condition.test != Test::True || !condition.is_negated {
        return String::new();
    }
    let all = collection.records.iter().filter(|one| condition.holds(one));
    let (with, without): (Vec<_>, Vec<_>) = all.partition(|one| one.has(condition.column));
    match (with.len(), without.len()) {
        (0, _) | (_, 0) => String::new(),
        (with, without) => format!(" ({with} false, {without} without it)"),
    }
}

/// Sorts the records that have the column of an order; the others are left out. If some values are
/// versions, figures such as `4.10` are versions, too.
pub(super) fn sort(records: &mut Vec<&Record<'_>>, order: &Order) {
    let number = |record: &Record<'_>| {
        let cell = record.get(order.column)?;
        match &order.by {
            By::Value => None,
            By::Said(stem) => said_by(cell, stem),
            By::Length => Some(cell.shown().chars().count() as f64),
        }
    };
    if order.by != By::Value {
        let numbers = (records.iter()).filter_map(|&record| Some((number(record)?, record)));
        let mut numbers: Vec<(f64, &Record<'_>)> = numbers.collect();
        numbers.sort_by(|(one, _), (other, _)| match order.is_descending {
            true => other.total_cmp(one),
            false => one.total_cmp(other),
        });
        *records = numbers.into_iter().map(|(_, record)| record).collect();
        return;
    }
    let ranked = records.iter().filter_map(|&record| {
        let cell = record.get(order.column)?;
        Some((cell.rank(), cell, record))
    });
    let mut ranked: Vec<(Rank<'_>, &Cell<'_>, &Record<'_>)> = ranked.collect();
    let is_version = |rank: &Rank<'_>| matches!(rank, Rank::Version(_));
    if ranked.iter().any(|(rank, ..)| is_version(rank)) {
        for (rank, cell, _) in &mut ranked {
            if let Some(version) = cell.version().filter(|_| matches!(rank, Rank::Number(_))) {
                *rank = Rank::Version(version);
            }
        }
    }
    ranked.sort_by(|(one, ..), (other, ..)| match order.is_descending {
        true => other.cmp(one),
        false => one.cmp(other),
    });
    *records = ranked.into_iter().map(|(.., record)| record).collect();
}

/// Returns a number without the digits of a sum of fractions that mean nothing.
pub(super) fn rounded(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}

/// Returns the sum and other figures of a column.
pub(super) fn figures_of(
    column: usize,
    records: &[&Record<'_>],
    collection: &Collection<'_>,
) -> String {
    let cells = records.iter().filter_map(|record| record.get(column));
    let mut numbers: Vec<f64> = cells.filter_map(Cell::number).collect();
    let name = shown_name(collection, column);
    if numbers.is_empty() {
        return format!("; no {name} is a number");
    }
    numbers.sort_by(f64::total_cmp);
    let (count, sum) = (numbers.len(), numbers.iter().sum::<f64>());
    let middle = match count % 2 {
        0 => f64::midpoint(numbers[count / 2 - 1], numbers[count / 2]),
        _ => numbers[count / 2],
    };
    format!(
        "; {count} values of {name}: sum {}, mean {}, median {}, smallest {}, largest {}",
        rounded(sum),
        rounded(sum / count as f64),
        rounded(middle),
        numbers[0],
        numbers[count - 1]
    )
}

/// Returns the values of a column with the number of records that have them, in order.
pub(super) fn groups(records: &[&Record<'_>], group: &Group) -> Vec<(String, usize)> {
    let mut counts: FxHashMap<String, usize> = FxHashMap::default();
    let by_last = are_paths(records, group.column);
    for record in records {
        let Some(cell) = record.get(group.column) else {
            continue;
        };
        match group.unit {
            Some(unit) => {
                if let Some(moment) = cell.moment() {
                    *counts.entry(label(moment, unit)).or_default() += 1;
                }
            }
            None if cell.is_list() => {
                cell.any(|item| {
                    // `tornado>=6.2` is about `tornado`.
                    let name = match item.contains(['<', '>', '=', '~', ';']) {
                        true => requirement(item),
                        false => item,
                    };
                    *counts.entry(name.to_owned()).or_default() += 1;
                    false
                });
            }
            None => {
                let shown = cell.shown();
                let group = if by_last { last_step(&shown) } else { &shown };
                *counts.entry(group.to_owned()).or_default() += 1;
            }
        }
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by(|a, b| {
        let ordering = b.1.cmp(&a.1);
        let ordering = match group.is_descending {
            true => ordering,
            false => ordering.reverse(),
        };
        ordering.then_with(|| a.0.cmp(&b.0))
    });
    counts
}

/// Returns whether the values of a column are different paths, so that only their last steps can
/// occur more than once.
fn are_paths(records: &[&Record<'_>], column: usize) -> bool {
    let mut known = FxHashSet::default();
    let mut paths = 0;
    for cell in records.iter().filter_map(|record| record.get(column)) {
        let Cell::Text(text) = cell else { return false };
        paths += usize::from(text.contains('/'));
        if !known.insert(*text) {
            return false;
        }
    }
    paths * 2 > known.len()
}

/// Returns the name at the end of a path, with the scope of a package: `@scope/name`.
fn last_step(path: &str) -> &str {
    let at = path.rfind('/').unwrap_or(0);
    let scope = path[..at].rfind('/').map_or(0, |slash| slash + 1);
    match at {
        0 => path,
        _ if path[scope..].starts_with('@') => &path[scope..],
        _ => &path[at + 1..],
    }
}

/// Returns the columns, or fewer of them if only then all records fit: without what repeats the
/// first one, then the first and one that is asked for, then the first. If not even that fits,
/// returns what repeats nothing.
fn narrowed(
    columns: Vec<usize>,
    plan: &Plan,
    records: &[&Record<'_>],
    fits: impl Fn(&[usize]) -> bool,
) -> Vec<usize> {
    let Some((&first, others)) = columns.split_first() else {
        return columns;
    };
    if others.is_empty() || fits(&columns) {
        return columns;
    }
    let repeats = |column: usize| {
        let mut cells = records
            .iter()
            .filter_map(|one| one.get(first).zip(one.get(column)));
        !plan.named.contains(&column)
            && cells.all(|(one, other)| {
                let (one, other) = (one.shown(), other.shown());
                one.contains(&*other) || other.contains(&*one)
            })
    };
    let own = others.iter().copied().filter(|&column| !repeats(column));
    let own: Vec<usize> = std::iter::once(first).chain(own).collect();
    let asked = plan
        .named
        .iter()
        .copied()
        .find(|column| others.contains(column));
    let two: Vec<usize> = std::iter::once(first).chain(asked).collect();
    let mut fewer = [own.clone(), two, vec![first]].into_iter();
    fewer.find(|columns| fits(columns)).unwrap_or(own)
}

/// Returns the columns with the other short ones of the records, at most `most`.
fn widened(
    columns: &[usize],
    most: usize,
    collection: &Collection<'_>,
    records: &[&Record<'_>],
) -> Vec<usize> {
    let is_short = |column: usize| {
        let cells = || records.iter().filter_map(|record| record.get(column));
        cells().next().is_some()
            && cells().all(|cell| {
                let shown = cell.shown();
                let most = if is_path(&shown) {
                    CELL_CHARS * 2
                } else {
                    CELL_CHARS
                };
                !cell.is_list() && shown.len() <= most
            })
    };
    let others = (0..collection.columns.len()).filter(|column| !columns.contains(column));
    let others = others.filter(|&column| is_short(column));
    let mut wide = columns.to_vec();
    wide.extend(others.take(most.saturating_sub(columns.len())));
    wide
}

/// Returns the names of the columns and a line per record. Equal lines are shown once.
pub(super) fn rows(
    records: &[&Record<'_>],
    columns: &[usize],
    collection: &Collection<'_>,
) -> Vec<String> {
    let length = |record: &&Record<'_>| -> usize {
        let cells = columns.iter().filter_map(|&column| record.get(column));
        cells
            .map(|cell| cell.shown().len().min(LONG_CELL_CHARS))
            .sum()
    };
    let is_short =
        records.len() <= WIDE_RECORDS && records.iter().map(length).sum::<usize>() <= SHORT;
    let most = match records.len() <= FEW || is_short {
        true => LONG_CELL_CHARS,
        false => CELL_CHARS,
    };
    rows_of(records, columns, collection, most)
}

/// Returns the same with cells of at most `most` characters.
fn rows_of(
    records: &[&Record<'_>],
    columns: &[usize],
    collection: &Collection<'_>,
    most: usize,
) -> Vec<String> {
    let names = columns.iter().map(|&column| shown_name(collection, column));
    let mut lines = vec![names.collect::<Vec<_>>().join("\t")];
    let mut known = FxHashSet::default();
    for record in records {
        let cell = |&column: &usize| {
            let cell = record.get(column);
            cell.map_or_else(String::new, |cell| cut(&cell.shown(), most))
        };
        let line = columns.iter().map(cell).collect::<Vec<_>>().join("\t");
        if known.insert(line.clone()) {
            lines.push(line);
        }
    }
    lines
}

/// Returns the members of the only record that matches.
fn only(
    plan: &Plan,
    collection: &Collection<'_>,
    head: &str,
    (record, columns): (&Record<'_>, &[usize]),
    budget: TokenBudget,
    counter: &dyn TokenCounter,
) -> Option<String> {
    let mut columns = columns.to_vec();
    if budget.get() < SMALL_PAGE {
        // The line above has told the list, and one of equal values is enough.
        let is_told = |column: usize| plan.conditions.iter().any(|one| one.column == column);
        let mut known = FxHashSet::default();
        columns.retain(|&column| {
            record.get(column).is_some_and(|cell| {
                !(cell.is_list() && is_told(column)) && known.insert(cell.shown())
            })
        });
    }
    let mut lines = members(plan, record, &columns, collection);
    let mut least = columns.len();
    // What lies deeper than the columns go, if the question leads there.
    // A small page needs its room for the passage.
    let whole = record.whole.filter(|_| budget.get() >= SMALL_PAGE);
    let inner = whole
        .map(|whole| inner(whole, &plan.asked))
        .unwrap_or_default();
    let told = members_told(plan, record, collection);
    for (path, text) in inner.iter().chain(&told).rev() {
        let line = format!(
            "{}\t{}",
            cut(path, LONG_CELL_CHARS),
            cut(text, LONG_CELL_CHARS)
        );
        if !lines.contains(&line) {
            lines.insert(0, line);
            least += 1;
        }
    }
    // If it has what is asked for, the rest matters less.
    let has_asked = plan.named.iter().any(|&one| record.has(one));
    let most = match has_asked {
        true => MOST_OF_ONE / 2,
        false => MOST_OF_ONE,
    };
    // A small page needs its room for the passage.
    let share = if budget.get() < SMALL_PAGE { 5 } else { 3 };
    let part = TokenBudget::new((budget.get() / share).min(most));
    fitted(head, &lines, part, least, counter).or_else(|| {
        let lines = &lines[..least.min(lines.len())];
        fitted(head, lines, budget, least, counter)
    })
}

/// What the record has in maps for the keys that conditions name: `dependencies.debug`.
fn members_told(
    plan: &Plan,
    record: &Record<'_>,
    collection: &Collection<'_>,
) -> Vec<(String, String)> {
    let told = |condition: &Condition| {
        let (Test::Is(texts), Some(Cell::Members(members))) =
            (&condition.test, record.get(condition.column))
        else {
            return None;
        };
        let is_told = |key: &str| texts.iter().any(|text| text.eq_ignore_ascii_case(key));
        let (key, value) = members.iter().find(|(key, _)| is_told(key))?;
        let name = &collection.columns[condition.column];
        let text = Cell::of_json(value)?.listed().into_owned();
        Some((format!("{name}.{key}"), text))
    };
    plan.conditions.iter().filter_map(told).collect()
}

/// The members of the only record: first those that are asked for, then the others that are short.
fn members(
    plan: &Plan,
    record: &Record<'_>,
    columns: &[usize],
    collection: &Collection<'_>,
) -> Vec<String> {
    let name = |column: usize| clip(&marked(&collection.columns[column]), CELL_CHARS);
    let line = |column: usize| {
        let cell = record.get(column)?;
        let listed = cell.listed();
        // How many there are may be the answer.
        let text = match plan.is_count && cell.is_list() {
            true if listed != cell.shown() => format!("{}: {listed}", cell.shown()),
            _ => listed.into_owned(),
        };
        Some((column, text))
    };
    let shown = |(column, text): (usize, String)| {
        format!("{}\t{}", name(column), cut(&text, LONG_CELL_CHARS))
    };
    let mut others: Vec<(usize, String)> = (0..collection.columns.len())
        .filter(|column| !columns.contains(column))
        .filter_map(line)
        .filter(|(_, text)| !text.is_empty())
        .collect();
    // What has members of its own is told by them.
    let names = &collection.columns;
    others.retain(|(column, _)| {
        let within = format!("{}.", names[*column]);
        let mut cells = record.cells();
        !cells.any(|(one, _)| names[one].starts_with(&within))
    });
    others.sort_by_key(|(column, text)| {
        let depth = names[*column].matches('.').count();
        (text.len() > CELL_CHARS, depth, *column)
    });
    // What is asked for is shown with all that is in it.
    let whole = |column: usize| {
        let whole = record.get(column)?.whole(LONG_CELL_CHARS);
        whole.map(|text| (column, text)).or_else(|| line(column))
    };
    let first = columns.iter().filter_map(|&column| whole(column));
    first.chain(others).map(shown).collect()
}

/// The table with as many lines as the budget holds; `None` if it does not hold `least` of them.
fn fitted(
    head: &str,
    lines: &[String],
    budget: TokenBudget,
    least: usize,
    counter: &dyn TokenCounter,
) -> Option<String> {
    fitted_or(head, lines, budget, least, counter, || None)
}

/// The same, with the filter that returns all lines if some are left out.
fn fitted_or(
    head: &str,
    lines: &[String],
    budget: TokenBudget,
    least: usize,
    counter: &dyn TokenCounter,
    all: impl FnOnce() -> Option<String>,
) -> Option<String> {
    let text = fill(head, lines, budget, least, counter)?;
    if !text.ends_with(" more\n") {
        return Some(text);
    }
    let Some(all) = all() else { return Some(text) };
    let all = format!("All with the jq filter: {all}\n");
    let room = budget.get().saturating_sub(counter.count(&all));
    let cut = fill(head, lines, TokenBudget::new(room), least, counter);
    Some(cut.map_or(text, |cut| cut + &all))
}

fn fill(
    head: &str,
    lines: &[String],
    budget: TokenBudget,
    least: usize,
    counter: &dyn TokenCounter,
) -> Option<String> {
    let mut text = format!("{head}\n");
    let mut spent = counter.count(&text);
    for (at, line) in lines.iter().enumerate() {
        let cost = counter.count(line) + 1;
        if spent + cost + END > budget.get() {
            text.push_str(&format!("… {} more\n", lines.len() - at));
            return (at >= least).then_some(text);
        }
        spent += cost;
        text.push_str(line);
        text.push('\n');
    }
    Some(text)
}

pub(super) fn cell_text(text: &str) -> String {
    cut(text, CELL_CHARS)
}

/// Whether a text is a path or an address, whose end tells more than its beginning.
fn is_path(text: &str) -> bool {
    text.contains('/') && !text.contains(' ')
}

/// Returns untrusted text as one cell of at most `most` characters.
fn cut(text: &str, most: usize) -> String {
    const BEGINNING: usize = 16;
    let length = text.chars().count();
    if length > most && is_path(text) {
        let begins = |at: usize| text.char_indices().nth(at).map_or(text.len(), |(at, _)| at);
        let end = &text[begins(length - (most - BEGINNING))..];
        return marked(&format!("{}…{end}", &text[..begins(BEGINNING)])).into_owned();
    }
    let line: String = text.chars().take(most * 2).collect();
    clip(&marked(&line.replace(['\t', '\n', '\r'], " ")), most)
}

/// Returns a condition as text: `price > 5`.
fn said(condition: &Condition, collection: &Collection<'_>) -> String {
    let name = shown_name(collection, condition.column);
    let is_not = |is: &'static str, not: &'static str| match condition.is_negated {
        true => not,
        false => is,
    };
    let day = |second: i64| label(second, Unit::Day);
    let is = match &condition.test {
        Test::Is(texts) => {
            let texts: Vec<String> = texts.iter().map(|text| cell_text(text)).collect();
            let is = is_not("=", "!=");
            return format!("{name} {is} {}", texts.join(" or "));
        }
        Test::Present => return format!("{name} {}", is_not("present", "absent")),
        Test::True => return format!("{name} {} true", is_not("=", "!=")),
        Test::Contains(part) | Test::Inside(part) | Test::Has(part) | Test::Part(part) => {
            format!("with \"{}\"", cell_text(part))
        }
        Test::Begins(parts) => {
            let parts: Vec<String> = parts.iter().map(|part| cell_text(part)).collect();
            format!("beginning with \"{}\"", parts.join("\" or \""))
        }
        Test::Number(comparison, number) => format!("{} {number}", comparison.sign()),
        Test::Said(stem, comparison, number) => format!(
            "with \"{}…\" and a number {} {number}",
            cell_text(stem),
            comparison.sign()
        ),
        Test::Column(comparison, other) => {
            format!("{} {}", comparison.sign(), shown_name(collection, *other))
        }
        Test::Suffix(end) => format!("ending with \"{}\"", cell_text(end)),
        Test::Version(comparison, version) => {
            format!("{} {} (as versions)", comparison.sign(), cell_text(version))
        }
        Test::Needs(version) => format!("of {} or later", cell_text(version)),
        Test::Within(i64::MIN, end) => format!("before {}", day(*end)),
        Test::Within(start, i64::MAX) => format!("from {} on", day(*start)),
        Test::Within(start, end) => format!("from {} to {}", day(*start), day(*end - 1)),
        Test::Calendar(month, None) => format!("in month {month} of any year"),
        Test::Calendar(month, Some(day)) => format!("on {month:02}-{day:02} of any year"),
        Test::Release => "without a suffix (a release)".to_owned(),
        Test::Ends(last) => format!("ending with \"/{}\"", cell_text(last)),
    };
    format!("{name} {}{is}", is_not("", "not "))
}

/// Returns how many different values the first records have in a column.
fn different(records: &[&Record<'_>], column: usize) -> usize {
    let cells = records.iter().take(TOLD_APART);
    let cells = cells.filter_map(|record| record.get(column));
    cells.map(Cell::shown).collect::<FxHashSet<_>>().len()
}

/// The columns of the table: what identifies a record, what is asked for, what was compared.
pub(super) fn columns(
    plan: &Plan,
    collection: &Collection<'_>,
    records: &[&Record<'_>],
) -> Vec<usize> {
    let has = |column: &usize| records.iter().any(|record| record.has(*column));
    let all = &collection.records;
    // How many different values a column has, if they are texts.
    let distinct = |column: usize| {
        let cells = all.iter().filter_map(|record| record.get(column));
        let texts: usize = cells
            .clone()
            .filter(|cell| matches!(cell, Cell::Text(_)))
            .count();
        let values: FxHashSet<_> = cells
            .filter(|cell| !cell.is_list())
            .map(Cell::shown)
            .collect();
        if texts * 2 > all.len() {
            values.len()
        } else {
            0
        }
    };
    // Whether it has a different value for each record, most of them texts.
    let are_different = |column: usize| {
        let mut known = FxHashSet::default();
        let mut texts = 0;
        let mut cells = all.iter().map(|record| record.get(column));
        let differ = cells.all(|cell| {
            texts += usize::from(matches!(cell, Some(Cell::Text(_))));
            cell.is_some_and(|cell| !cell.is_list() && known.insert(cell.shown()))
        });
        differ && texts * 2 > all.len()
    };
    let part = |column: usize| {
        let name = collection.columns[column].to_lowercase();
        let mut parts = name.rsplit(['.', '_', ' ']);
        let last = parts.next().unwrap_or_default();
        let place = |last: &str| IDENTITY.iter().position(|part| *part == last);
        // `name.common` is a name, too.
        let outer = || {
            name.split_once('.')
                .filter(|(outer, _)| ["name", "title"].contains(outer))
        };
        place(last).or_else(|| place(outer()?.0))
    };
    let depth = |column: usize| collection.columns[column].matches('.').count();
    // The column that no two records share, then names, the outermost first.
    let unique =
        (0..collection.columns.len()).find(|&column| depth(column) == 0 && are_different(column));
    let mut named: Vec<usize> = (0..collection.columns.len())
        .filter(|&column| part(column).is_some())
        .collect();
    let is_plain = |column: usize| {
        let cell = all.iter().find_map(|record| record.get(column));
        depth(column) < 2 && cell.is_some_and(|cell| !cell.is_list())
    };
    named.retain(|&column| is_plain(column));
    named.sort_by_key(|&column| (depth(column), part(column), column));
    // A time tells less than a name.
    let is_time = |column: usize| {
        let cell = all.iter().find_map(|record| record.get(column));
        cell.is_some_and(|cell| matches!(cell, Cell::Text(_)) && cell.moment().is_some())
    };
    let unique = unique.filter(|&column| named.is_empty() || !is_time(column));
    // Of many names, those that tell these records apart.
    if named.len() > IDENTITIES {
        named.sort_by_cached_key(|&column| {
            let values = different(records, column);
            (depth(column), part(column), std::cmp::Reverse(values))
        });
    }
    let mut columns: Vec<usize> = Vec::new();
    for column in unique.into_iter().chain(named).filter(has) {
        if columns.len() < IDENTITIES && !columns.contains(&column) {
            columns.push(column);
        }
    }
    // A path says little beside a name.
    if columns.iter().any(|&column| part(column) != Some(PATH)) {
        columns.retain(|&column| part(column) != Some(PATH));
    }
    if columns.is_empty() {
        let first = (0..collection.columns.len().min(8))
            .max_by_key(|&column| (distinct(column), std::cmp::Reverse(column)));
        columns.extend(first);
    }
    let is_told = |column: usize| {
        let told = plan.conditions.iter().filter(|one| one.column == column);
        told.into_iter()
            .any(|one| matches!(&one.test, Test::Is(texts) if texts.len() == 1 && !one.is_negated))
    };
    let compared = plan
        .conditions
        .iter()
        .map(|one| one.column)
        .filter(|&column| !is_told(column));
    let ordered = plan.order.iter().map(|order| order.column);
    for column in ordered.chain(plan.named.iter().copied()).chain(compared) {
        // What is inside of a member says more than the number of its members.
        let within = format!("{}.", collection.columns[column]);
        let is_outer = plan
            .named
            .iter()
            .any(|one| has(one) && collection.columns[*one].starts_with(&within));
        if columns.len() < COLUMNS && !columns.contains(&column) && has(&column) && !is_outer {
            columns.push(column);
        }
    }
    columns
}
