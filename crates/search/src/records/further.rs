//! Writes the further readings of a question below the table of the first one, briefly.

use rustc_hash::FxHashMap;
use spillgate_artifact::TokenBudget;
use spillgate_text::TokenCounter;

use super::cell::Cell;
use super::load::{Collection, Record};
use super::moment::{Unit, label};
use super::plan::{Group, Plan};
use super::table::{
    END, cell_text, columns, figures_of, groups, head, rounded, rows, shown_name, sort,
};
use super::test::selected;

/// Tenths of the budget that all further readings may cost.
const SHARE: u64 = 3;
/// Columns that a further reading shows.
const COLUMNS: usize = 4;
/// Records that it shows if one is asked for.
const LEAST_ROWS: usize = 3;
/// Most records that it shows if no order is asked for.
const MOST_ROWS: usize = 16;
/// Fewest tokens of a budget that has room for further readings.
const LEAST_BUDGET: u64 = 400;

/// Returns a table with the further readings that there is room for.
pub(super) fn with_further(
    table: Option<String>,
    plan: &Plan,
    collection: &Collection<'_>,
    budget: TokenBudget,
    counter: &dyn TokenCounter,
) -> Option<String> {
    if budget.get() < LEAST_BUDGET || plan.further.is_empty() {
        return table;
    }
    let mut text = table.unwrap_or_default();
    let spent = counter.count(&text) + END;
    let mut room = (budget.get() * SHARE / 10).min(budget.get().saturating_sub(spent));
    let word = if text.is_empty() { "Perhaps" } else { "Or" };
    for reading in &plan.further {
        let Some(lines) = lines(reading, collection) else {
            continue;
        };
        let lines = format!("{word} {lines}\n");
        let cost = counter.count(&lines);
        if cost <= room {
            room -= cost;
            text.push_str(&lines);
        }
    }
    (!text.is_empty()).then_some(text)
}

/// Returns a reading as a line with its answer, or as a line above a few records.
fn lines(plan: &Plan, collection: &Collection<'_>) -> Option<String> {
    let mut records = selected(&plan.conditions, collection);
    if records.is_empty() {
        return None;
    }
    let mut text = match plan.conditions.is_empty() {
        true => String::new(),
        false => format!("{}, ", head(plan, collection, records.len())),
    };
    if let Some((column, number)) = plan.sides {
        let cells = records.iter().filter_map(|record| record.get(column));
        let numbers: Vec<f64> = cells.filter_map(Cell::number).collect();
        let above = numbers.iter().filter(|&&one| one > number).count();
        let below = numbers.iter().filter(|&&one| one < number).count();
        let equal = numbers.len() - above - below;
        let name = shown_name(collection, column);
        text.push_str(&format!(
            "{name} above {number}: {above}, equal: {equal}, below: {below}"
        ));
        return Some(text);
    }
    match (&plan.group, plan.figures, &plan.order) {
        (Some(group), Some(measure), _) => {
            let of = shown_name(collection, measure);
            let unit = group.unit.map_or("", Unit::name);
            let by = format!("{}{unit}", shown_name(collection, group.column));
            text.push_str(&format!("{of} by {by}:\n{by}\trecords\tsum\tmean"));
            let sums = sums(&records, group, measure, plan.by_mean);
            for (value, count, sum) in sums.iter().take(group.count) {
                let mean = rounded(sum / *count as f64);
                let (value, sum) = (cell_text(value), rounded(*sum));
                text.push_str(&format!("\n{value}\t{count}\t{sum}\t{mean}"));
            }
            more(&mut text, "\n", sums.len(), group.count);
        }
        (Some(group), None, _) => {
            let groups = groups(&records, group);
            let shown = groups.iter().take(group.count);
            let shown: Vec<String> = shown
                .map(|(value, count)| format!("{} {count}", cell_text(value)))
                .collect();
            let name = shown_name(collection, group.column);
            let all = groups.len();
            text.push_str(&format!(
                "by {name} ({all} different): {}",
                shown.join(", ")
            ));
            more(&mut text, ", ", groups.len(), group.count);
        }
        (None, Some(measure), _) => {
            let figures = figures_of(measure, &records, collection);
            text.push_str(figures.trim_start_matches("; "));
        }
        (None, None, Some(order)) => {
            sort(&mut records, order);
            let name = shown_name(collection, order.column);
            let which = match order.is_descending {
                true => "largest",
                false => "smallest",
            };
            let most = (order.count + 1).max(LEAST_ROWS);
            let last = match plan.has_both_ends && records.len() > most {
                true => records.split_off(most.max(records.len() - most)),
                false => Vec::new(),
            };
            records.truncate(most);
            let mut shown = columns(plan, collection, &records);
            let place = shown.iter().position(|&column| column == order.column);
            shown.truncate(COLUMNS.max(place.unwrap_or(0) + 1));
            text.push_str(&format!("{which} {name} first:\n"));
            text.push_str(&rows(&records, &shown, collection).join("\n"));
            if !last.is_empty() {
                let lines = rows(&last, &shown, collection);
                text.push_str(&format!("\n… the smallest:\n{}", lines[1..].join("\n")));
            }
        }
        (None, None, None) => {
            text.truncate(text.trim_end_matches(", ").len());
            // If the records are asked for rather than their number, they are shown.
            if !plan.is_count && records.len() <= MOST_ROWS {
                let shown = columns(plan, collection, &records);
                let shown = &shown[..shown.len().min(2)];
                text.push_str(":\n");
                text.push_str(&rows(&records, shown, collection).join("\n"));
            }
        }
    }
    Some(text)
}

/// Says how many are left out.
fn more(text: &mut String, before: &str, all: usize, shown: usize) {
    if all > shown {
        text.push_str(&format!("{before}… {} more", all - shown));
    }
}

/// Returns for each value of a column how many records have a number in another column, and the sum
/// of these numbers; the largest sum first, or the largest mean.
fn sums(
    records: &[&Record<'_>],
    group: &Group,
    measure: usize,
    by_mean: bool,
) -> Vec<(String, usize, f64)> {
    let mut sums: FxHashMap<String, (usize, f64)> = FxHashMap::default();
    for record in records {
        let number = record.get(measure).and_then(Cell::number);
        let value = record.get(group.column).and_then(|cell| match group.unit {
            Some(unit) => Some(label(cell.moment()?, unit)),
            None => Some(cell.shown().into_owned()),
        });
        if let (Some(value), Some(number)) = (value, number) {
            let sum = sums.entry(value).or_default();
            sum.0 += 1;
            sum.1 += number;
        }
    }
    let sums = sums
        .into_iter()
        .map(|(value, (count, sum))| (value, count, sum));
    let mut sums: Vec<(String, usize, f64)> = sums.collect();
    let figure = |one: &(String, usize, f64)| match by_mean {
        true => one.2 / one.1 as f64,
        false => one.2,
    };
    sums.sort_by(|a, b| figure(b).total_cmp(&figure(a)).then_with(|| a.0.cmp(&b.0)));
    sums
}
