//! Finds further readings of a question: what else it may mean, if its words leave that open.
//!
//! A reading is a plan of its own: the same order by another column, the other end of it, the counts
//! by value of a column that a condition is about, sums for each value of a column, or the counts
//! on both sides of a number. The first plan stays the best guess.

use rustc_hash::FxHashSet;

use super::cell::Cell;
use super::comparisons::unread_numbers;
use super::groups::{FIGURE, MOST, unit_of};
use super::load::{KEY, Record};
use super::moment::Unit;
use super::order::GREAT;
use super::plan::{By, Group, Order, Plan};
use super::reader::{ColumnKind, Reader};
use super::terms::{DATE, SOON, Word, alike, is_ranking, is_superlative, superlatives};
use super::test::{Condition, Test, selected};
use crate::words::is_stop_word;

/// Readings beside the first one.
const BESIDE: usize = 2;
/// Readings if there is no first one.
const ALONE: usize = 3;
/// Most different values of a column that are counted.
const MOST_VALUES: usize = 24;
/// Words that ask for a mean rather than a sum.
const MEANS: [&str; 4] = ["average", "avg", "mean", "median"];
/// Words that leave no doubt which end of an order is asked for.
const CLEAR: [&str; 10] = [
    "most",
    "least",
    "fewest",
    "max",
    "maximum",
    "min",
    "minimum",
    "desc",
    "descending",
    "asc",
];
/// What joins several names in one value: `MIT OR Apache-2.0`, `red, green`.
const JOINED: [&str; 6] = [" OR ", " AND ", " or ", " and ", ", ", "/"];
/// Most different values of a column whose values may be joined.
const MOST_JOINED: usize = 60;
/// Values that a further reading shows.
const SHOWN_VALUES: usize = 8;

impl Reader<'_, '_> {
    /// The same without the record of a map whose key is empty, such as the root of a lock file.
    fn without_root(&self) -> Option<Plan> {
        let key = (self.collection.columns.iter()).position(|name| name == KEY)?;
        let is_root = |record: &&Record<'_>| record.get(key).is_some_and(Cell::is_empty);
        let is_asked = self.plan.is_count && !self.plan.has_result();
        let selected = selected(&self.plan.conditions, self.collection);
        let is_fit = is_asked && selected.len() > 1 && selected.iter().any(is_root);
        is_fit.then(|| {
            let mut conditions = self.plan.conditions.clone();
            conditions.push(Condition {
                column: key,
                test: Test::Present,
                is_negated: false,
                is_weak: false,
            });
            Plan {
                conditions,
                is_count: true,
                ..Plan::default()
            }
        })
    }

    /// The same with a value that longer values contain as a word: `MIT` in `MIT OR Apache-2.0`.
    fn as_part(&self) -> Option<Plan> {
        let mut conditions = self.plan.conditions.clone();
        let is_own = |one: &&mut Condition| {
            matches!(&one.test, Test::Is(texts) if texts.len() == 1) && !self.has_lists(one.column)
        };
        let one = conditions.iter_mut().find(is_own)?;
        let Test::Is(texts) = &one.test else {
            return None;
        };
        let part = Test::Part(texts.first()?.clone());
        let column = one.column;
        let is_joined = |cell: &Cell<'_>| {
            part.holds(cell) && cell.any(|text| JOINED.iter().any(|sign| text.contains(sign)))
        };
        if self.share(column, is_joined) <= 0.0 || self.variety(column, MOST_JOINED) > MOST_JOINED {
            return None;
        }
        one.test = part;
        let count = |conditions: &[Condition]| selected(conditions, self.collection).len();
        let is_other = count(&conditions) != count(&self.plan.conditions);
        (is_other && !self.plan.has_result()).then(|| Plan {
            conditions,
            is_count: self.plan.is_count,
            ..Plan::default()
        })
    }

    /// The same with sizes in thousands, if that selects other records.
    fn in_thousands(&self) -> Option<Plan> {
        let mut conditions = self.plan.conditions.clone();
        for &(column, number, decimal) in &self.plan.decimal {
            for one in &mut conditions {
                if let Test::Number(comparison, held) = one.test
                    && one.column == column
                    && held.total_cmp(&number).is_eq()
                {
                    one.test = Test::Number(comparison, decimal);
                }
            }
        }
        let count = |conditions: &[Condition]| selected(conditions, self.collection).len();
        let is_other = conditions != self.plan.conditions
            && count(&conditions) != count(&self.plan.conditions);
        is_other.then(|| Plan {
            conditions,
            is_count: self.plan.is_count,
            ..Plan::default()
        })
    }

    /// Adds what else the question may mean, the most likely first.
    pub(super) fn readings(&mut self) {
        self.of_words();
        let mut part = self.as_part();
        // `not under MIT` excludes `MIT OR Apache-2.0`, too.
        if let Some(part) = &mut part
            && self.plan.conditions.iter().any(|one| one.is_negated)
        {
            std::mem::swap(&mut part.conditions, &mut self.plan.conditions);
        }
        let others = [self.without_root(), part, self.in_thousands()];
        self.plan.further.splice(0..0, others.into_iter().flatten());
    }

    fn of_words(&mut self) {
        let is_ranked = (self.words.iter())
            .any(|word| self.is_end(word) || is_ranking(&word.lower) && !self.names_column(word));
        let is_figure = FIGURE.is_match(self.question);
        let plan = &self.plan;
        if !plan.is_count && !is_ranked && !is_figure && !plan.has_result() {
            if plan.conditions.is_empty() {
                self.plan.further = self.of_named();
            }
            return;
        }
        // Conditions alone do not answer what asks for an end of an order.
        let has_first = plan.has_result() || !plan.conditions.is_empty() && !is_ranked;
        let most = match plan.is_count || has_first {
            true => BESIDE,
            false => ALONE,
        };
        let mut further = Vec::new();
        if plan.is_count && !plan.has_result() {
            further.extend(self.sides());
            further.extend(self.by_value());
        } else if plan.group.is_some() {
            further.extend(self.without_weak());
            further.extend(self.figures_by_group(is_figure));
            further.extend(self.other_groups());
        } else {
            further.extend(self.figures_by_group(is_figure));
            further.extend(self.without_weak());
            if !is_figure || plan.order.is_some() {
                further.extend(self.other_orders(is_ranked));
            }
        }
        further.truncate(most);
        self.plan.further = further;
    }

    /// Whether a word asks for an end of an order. Any word that ends like a superlative does,
    /// unless it is a name in the document.
    pub(super) fn is_end(&self, word: &Word) -> bool {
        const NOUNS: &str = "request test interest west northwest southwest midwest forest guest manifest digest contest harvest quest rest nest suggest invest honest pytest rust";
        const LEAST: usize = 6;
        let lower = &*word.lower;
        is_superlative(lower) && !self.is_level(word)
            || lower.len() >= LEAST
                && lower.ends_with("est")
                && !NOUNS.split(' ').any(|noun| noun == lower)
                && !self.names_column(word)
    }

    /// What there is in the columns that the question names, if nothing else was understood: the
    /// counts by value, or both ends.
    fn of_named(&self) -> Vec<Plan> {
        let of = |&column: &usize| {
            let kind = self.kinds[column];
            let is_fit = kind.is_usual && !kind.has_lists && !kind.is_prose;
            if is_fit && !kind.is_dated && !self.is_unique(column) && self.has_few_values(column) {
                return Some(Plan {
                    group: Some(values_of(column)),
                    ..Plan::default()
                });
            }
            let is_ordered = self.is_measure(column) || kind.is_dated;
            (is_fit && is_ordered).then(|| Plan {
                order: Some(Order {
                    column,
                    is_descending: true,
                    count: 1,
                    by: By::Value,
                }),
                has_both_ends: true,
                ..Plan::default()
            })
        };
        let named = self.plan.named.iter().filter_map(of);
        named.take(BESIDE).collect()
    }

    /// The plan without a result, with the same conditions.
    fn same_conditions(&self) -> Plan {
        Plan {
            conditions: self.plan.conditions.clone(),
            named: self.plan.named.clone(),
            ..Plan::default()
        }
    }

    /// `which department pays best on average`: sums and means of a measure for each value of a
    /// column.
    fn figures_by_group(&self, is_figure: bool) -> Option<Plan> {
        let plan = &self.plan;
        let is_measure = |column: &usize| self.is_measure(*column);
        let ordered = plan.order.as_ref().map(|order| order.column);
        let measure = plan.figures.or(ordered).filter(is_measure);
        let measure = measure.or_else(|| {
            let measures = self.measures();
            let (best, column) = *measures.first()?;
            (is_figure || plan.group.is_some())
                .then_some(column)
                .filter(|_| best > 0.0 || measures.len() == 1)
        })?;
        let grouped = plan.group.as_ref().filter(|group| group.unit.is_none());
        let text = self.text_group(grouped.map(|group| group.column), measure);
        let group = text
            .map(values_of)
            .or_else(|| self.calendar().filter(|group| group.column != measure))?;
        Some(Plan {
            group: Some(group),
            figures: Some(measure),
            by_mean: self.words.iter().any(|word| MEANS.contains(&&*word.lower)),
            ..self.same_conditions()
        })
    }

    /// The months or years that the question names, of a column of dates.
    fn calendar(&self) -> Option<Group> {
        let known = self
            .plan
            .group
            .as_ref()
            .filter(|group| group.unit.is_some());
        let known = known.map(|group| Group {
            unit: group.unit,
            ..values_of(group.column)
        });
        known.or_else(|| {
            let units = self.words.iter().filter_map(|word| {
                let unit = unit_of(&word.lower)?;
                (unit != Unit::Day).then_some((word.start, unit))
            });
            let (at, unit) = units.min_by_key(|(_, unit)| *unit != Unit::Month)?;
            let column = self.dated(at)?;
            Some(Group {
                unit: Some(unit),
                ..values_of(column)
            })
        })
    }

    /// The column of texts by which a measure may be summed: `grouped`, or the one that is asked for.
    fn text_group(&self, grouped: Option<usize>, measure: usize) -> Option<usize> {
        let plan = &self.plan;
        let group = grouped.or_else(|| {
            let subject = self.subject().and_then(|at| self.group_column(at));
            let subject = subject.filter(|(_, unit)| unit.is_none());
            subject.map(|(column, _)| column).or_else(|| {
                let by = self
                    .words
                    .iter()
                    .position(|word| ["by", "per", "each", "every"].contains(&&*word.lower))?;
                let column = self.group_column(self.words.get(by + 1)?.start)?;
                column.1.is_none().then_some(column.0)
            })
        })?;
        let group = self.label_of(group);
        let is_told = plan.conditions.iter().any(|one| one.column == group);
        let is_fit = group != measure
            && !is_told
            && !self.is_measure(group)
            && !self.has_lists(group)
            && !self.is_unique(group);
        is_fit.then_some(group)
    }

    /// The counts by another column that the words name, and the records with most of a measure
    /// that they name.
    fn other_groups(&self) -> Vec<Plan> {
        let used = self.plan.group.as_ref().map(|group| group.column);
        let others = self.shared_texts().into_iter().filter(|plan| {
            let column = plan.group.as_ref().map(|group| group.column);
            column != used && column.is_some_and(|column| self.closeness(column) > 0.0)
        });
        let measures = self.measures().into_iter().filter(|one| one.0 > 0.3);
        let count = self.asked_count();
        let orders = measures.map(|(_, column)| Plan {
            order: Some(Order {
                column,
                is_descending: true,
                count,
                by: By::Value,
            }),
            ..self.same_conditions()
        });
        others.chain(orders).collect()
    }

    /// Whether a column is an object whose members are columns.
    pub(super) fn is_object(&self, column: usize) -> bool {
        let within = format!("{}.", self.collection.columns[column]);
        (self.collection.columns.iter()).any(|name| name.starts_with(&within))
    }

    /// For an object the member that tells which one it is: `category.name` for `category`.
    pub(super) fn label_of(&self, column: usize) -> usize {
        let within = format!("{}.", self.collection.columns[column]);
        let is_label = |&one: &usize| {
            self.collection.columns[one].starts_with(&within)
                && !self.is_numeric(one)
                && !self.has_lists(one)
                && !self.is_unique(one)
        };
        let inner = (0..self.columns.len()).find(is_label);
        inner.unwrap_or(column)
    }

    /// The same without the conditions of which another reading is likely.
    fn without_weak(&self) -> Option<Plan> {
        let plan = &self.plan;
        let is_weak = |test: &Test| matches!(test, Test::Has(_) | Test::Contains(_));
        let kept = plan.conditions.iter();
        let kept = kept.filter(|one| {
            !one.is_weak && !is_weak(&one.test) && (one.is_negated || !self.has_lists(one.column))
        });
        let conditions: Vec<_> = kept.cloned().collect();
        let is_less = conditions.len() < plan.conditions.len();
        (is_less && (plan.order.is_some() || plan.group.is_some())).then(|| Plan {
            conditions,
            order: plan.order.clone(),
            group: plan.group.clone(),
            named: plan.named.clone(),
            ..Plan::default()
        })
    }

    /// The order by another column, and the other end of an order. Without an order, both ends of
    /// the columns that the question may mean.
    fn other_orders(&self, is_ranked: bool) -> Vec<Plan> {
        let plan = &self.plan;
        let measures = self.measures();
        let of = |order: Order, has_both_ends: bool| Plan {
            order: Some(order),
            has_both_ends,
            ..self.same_conditions()
        };
        let Some(order) = &plan.order else {
            let is_often = self.words.iter().any(|word| {
                ["often", "frequent", "frequently", "common", "commonly"].contains(&&*word.lower)
            });
            if plan.group.is_some() || !is_ranked {
                return Vec::new();
            }
            if is_often {
                return self.shared_texts();
            }
            let count = self.asked_count();
            let best = measures.first().map_or(0.0, |one| one.0);
            // What the words name is meant; otherwise any of the first columns may be.
            let meant = measures.iter().filter(|one| one.0 > 0.0 || best <= 0.0);
            let orders = meant.map(|&(_, column)| Order {
                column,
                is_descending: true,
                count,
                by: By::Value,
            });
            let orders: Vec<Plan> = orders.map(|order| of(order, true)).collect();
            // What is most frequent may be meant, too.
            let groups = self.shared_texts();
            return match best > 0.0 {
                true => orders.into_iter().chain(groups).collect(),
                false => alternating(groups, orders),
            };
        };
        let is_named = plan.is_meant || self.naming(order.column, 0, usize::MAX / 4) > 0.3;
        let other = measures.iter().find(|one| one.1 != order.column);
        let other = other.filter(|one| !is_named || one.0 > 0.0);
        let other = other.map(|&(_, column)| {
            of(
                Order {
                    column,
                    ..order.clone()
                },
                false,
            )
        });
        let end = of(
            Order {
                is_descending: !order.is_descending,
                ..order.clone()
            },
            false,
        );
        // `top airlines` may mean those that most records have.
        let subject = self.subject().and_then(|at| self.group_column(at));
        let is_shared = |column: usize| {
            !is_named
                && !self.is_measure(column)
                && !self.has_lists(column)
                && !self.is_unique(column)
        };
        let subject = subject.filter(|&(column, _)| is_shared(column));
        let by_subject = subject.map(|(column, unit)| Plan {
            group: Some(Group {
                unit,
                ..values_of(column)
            }),
            ..self.same_conditions()
        });
        let end = (!self.is_one_sided()).then_some(end);
        // In a table without names, `most packages` may count the records of a kind.
        let asks_for_many = MOST.is_match(self.question) || self.is_by_number();
        let is_open = !is_named && by_subject.is_none() && asks_for_many;
        let kinds = is_open.then(|| self.shared_texts()).into_iter().flatten();
        let is_of = |plan: &Plan, fit: &dyn Fn(ColumnKind) -> bool| {
            let group = plan.group.as_ref();
            group.is_some_and(|group| fit(self.kinds[group.column]))
        };
        let is_other = |kind: ColumnKind| !kind.is_category && !kind.is_version;
        let (kinds, rest): (Vec<Plan>, Vec<Plan>) =
            kinds.partition(|plan| is_of(plan, &|kind| kind.is_category));
        let rest = rest.into_iter().filter(|plan| is_of(plan, &is_other));
        let rest = rest.filter(|_| self.is_unnamed());
        // Columns without names are shown by turns: many kinds of a few values say as much as others.
        let kinds = alternating(kinds, rest.collect());
        by_subject
            .into_iter()
            .chain(kinds)
            .chain(other)
            .chain(end)
            .collect()
    }

    /// Whether the table has no names of columns.
    pub(super) fn is_unnamed(&self) -> bool {
        (self.collection.columns.first()).is_some_and(|name| name == "column 1")
    }

    /// Whether it is clear which end of an order is asked for: the word means its column, or a
    /// measure of any kind.
    fn is_one_sided(&self) -> bool {
        let is_clear = |word: &Word| GREAT.contains(&&*word.lower) || CLEAR.contains(&&*word.lower);
        self.plan.is_meant || self.words.iter().any(is_clear)
    }

    /// How many records an order is asked for.
    fn asked_count(&self) -> usize {
        let ends = (0..self.words.len()).find(|&at| self.is_end(&self.words[at]));
        let count = ends.and_then(|at| self.count_near(at));
        count.unwrap_or(1).clamp(1, 10)
    }

    /// Columns that can be ordered by, with how well the question names them, best first.
    pub(super) fn measures(&self) -> Vec<(f64, usize)> {
        let fit = (0..self.columns.len()).filter(|&column| self.kinds[column].is_usual);
        let fit = fit.map(|column| (self.closeness(column) + self.sense(column), column));
        // The lengths of lists are meant only where the list is named.
        let fit = fit.filter(|&(closeness, column)| {
            let kind = self.kinds[column];
            match kind.has_lists {
                true => closeness > 0.0 && !self.is_object(column),
                false => {
                    self.is_measure(column) || kind.is_dated || kind.is_version && closeness > 0.0
                }
            }
        });
        let mut measures: Vec<(f64, usize)> = fit.collect();
        let is_dated = |column: usize| self.kinds[column].is_dated;
        measures.sort_by(|a, b| {
            b.0.total_cmp(&a.0)
                .then(is_dated(a.1).cmp(&is_dated(b.1)))
                .then(a.1.cmp(&b.1))
        });
        measures
    }

    /// How much a superlative means a column: by the words of its name, or because it asks for a date.
    fn sense(&self, column: usize) -> f64 {
        const NAMED: f64 = 0.5;
        const DATED: f64 = 0.4;
        let senses = self.words.iter().flat_map(|word| superlatives(&word.lower));
        let kind = self.kinds[column];
        let of = |means: &str| {
            let mut words = means.split_ascii_whitespace();
            let is_named =
                words.any(|word| self.columns[column].iter().any(|stem| alike(stem, word)));
            let is_time = means.contains(DATE) || means == SOON;
            match (is_named, is_time && (kind.is_dated || kind.is_version)) {
                (true, _) => NAMED,
                (false, true) => DATED,
                (false, false) => 0.0,
            }
        };
        senses.map(|sense| of(sense.means)).fold(0.0, f64::max)
    }

    /// Whether a column has amounts rather than numbers that only tell records apart.
    pub(super) fn is_measure(&self, column: usize) -> bool {
        self.is_numeric(column)
            && !self.has_lists(column)
            && !self.kinds[column].is_dated
            && self.may_be_measured(column)
            && self.variety(column, 2) > 2
    }

    /// How many different values a column has, at most one more than `most`.
    fn variety(&self, column: usize, most: usize) -> usize {
        let mut known = FxHashSet::default();
        let cells = self.collection.records.iter();
        for cell in cells.filter_map(|record| record.get(column)) {
            known.insert(cell.shown());
            if known.len() > most {
                break;
            }
        }
        known.len()
    }

    /// Whether a column has several different values, but no more than are counted.
    fn has_few_values(&self, column: usize) -> bool {
        (2..=MOST_VALUES).contains(&self.variety(column, MOST_VALUES))
    }

    /// How well the words name a column: by the words of its name, or by similar letters.
    fn closeness(&self, column: usize) -> f64 {
        let named = self.naming(column, 0, usize::MAX / 4);
        if named > 0.0 {
            return named;
        }
        let names = &self.columns[column];
        let words = self.words.iter().zip(&self.values_taken);
        let words = words.filter(|(word, taken)| !**taken && !is_stop_word(&word.lower));
        let near = words.flat_map(|(word, _)| names.iter().map(|name| likeness(&word.lower, name)));
        let near = near.fold(0.0, f64::max);
        if near >= LIKE { near / 4.0 } else { 0.0 }
    }

    /// The column whose name is spelled most like a word of the question: `airspeeds`, `speed`.
    pub(super) fn similar(&self, fit: impl Fn(usize) -> bool) -> Option<usize> {
        let fit = (0..self.columns.len()).filter(|&column| fit(column));
        let close = fit.map(|column| (self.closeness(column), column));
        let best = close.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        best.filter(|one| one.0 > 0.0).map(|(_, column)| column)
    }

    /// Columns of texts that several records share, with the most frequent values.
    fn shared_texts(&self) -> Vec<Plan> {
        let fit = (0..self.columns.len()).filter(|&column| {
            let kind = self.kinds[column];
            kind.is_usual
                && !kind.has_lists
                && !kind.is_prose
                && !kind.is_dated
                && !kind.is_numeric
                && !self.is_unique(column)
                && self.variety(column, 2) > 2
        });
        let mut fit: Vec<(f64, usize)> =
            fit.map(|column| (self.closeness(column), column)).collect();
        // A column of few values says more than one of nearly as many as there are records.
        let many = |column: usize| !self.is_category(column);
        fit.sort_by(|a, b| {
            let order = b.0.total_cmp(&a.0);
            order.then((many(a.1), a.1).cmp(&(many(b.1), b.1)))
        });
        let columns = fit.into_iter().map(|(_, column)| column);
        let plan = |column| Plan {
            group: Some(values_of(column)),
            ..self.same_conditions()
        };
        columns.map(plan).collect()
    }

    /// Counts by value of the columns that conditions are about, so that the opposite, other values
    /// and shares can be read off; without conditions, of the columns that the question may mean.
    fn by_value(&self) -> Vec<Plan> {
        let few = |column: usize| self.has_few_values(column);
        let conditions = &self.plan.conditions;
        let is_value = |test: &Test| matches!(test, Test::Is(_) | Test::True | Test::Has(_));
        let told: Vec<usize> = conditions
            .iter()
            .filter(|one| is_value(&one.test))
            .map(|one| one.column)
            .filter(|&column| few(column) && !self.has_lists(column))
            .collect();
        let columns = match conditions
            .iter()
            .any(|one| matches!(one.test, Test::Is(_) | Test::True))
        {
            true => told,
            false => self.categories(),
        };
        let plan = |column: usize| {
            let others = conditions.iter().filter(|one| one.column != column);
            Plan {
                conditions: others.cloned().collect(),
                group: Some(values_of(column)),
                ..Plan::default()
            }
        };
        columns.into_iter().map(plan).collect()
    }

    /// Columns of few different values, first those that the question names, then texts.
    fn categories(&self) -> Vec<usize> {
        let fit = (0..self.columns.len()).filter(|&column| {
            let kind = self.kinds[column];
            let used = self.plan.conditions.iter().any(|one| one.column == column);
            !used
                && kind.is_usual
                && !kind.has_lists
                && !kind.is_prose
                && !kind.is_dated
                && self.has_few_values(column)
                && !self.is_unique(column)
        });
        let mut fit: Vec<(f64, bool, usize)> = fit
            .map(|column| (self.closeness(column), self.is_numeric(column), column))
            .collect();
        fit.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        fit.into_iter().map(|(.., column)| column).collect()
    }

    /// How many records lie on both sides of a number of the question, in the columns that it may
    /// be about.
    fn sides(&self) -> Vec<Plan> {
        const MOST: usize = 2;
        let compared = self.plan.conditions.iter().find_map(|one| match one.test {
            Test::Number(_, number) => Some((one.column, number)),
            _ => None,
        });
        let unread = || -> Option<Vec<(usize, f64)>> {
            let (number, at) = unread_numbers(self).next()?;
            let fit = |column: usize| self.is_measure(column);
            let named = self.best_column(at, fit);
            let any = (0..self.columns.len())
                .filter(|&column| fit(column) && self.reaches(column, number));
            let columns = match named {
                Some(named) => vec![named],
                None => any.take(MOST).collect(),
            };
            Some(columns.into_iter().map(|column| (column, number)).collect())
        };
        let sides = match compared {
            Some(compared) => vec![compared],
            None => unread().unwrap_or_default(),
        };
        let plan = |(column, number)| {
            let others = self.plan.conditions.iter();
            let others = others.filter(|one| one.column != column);
            Plan {
                conditions: others.cloned().collect(),
                sides: Some((column, number)),
                ..Plan::default()
            }
        };
        sides.into_iter().map(plan).collect()
    }
}

/// The elements of two lists in turn.
fn alternating(one: Vec<Plan>, other: Vec<Plan>) -> Vec<Plan> {
    let (mut one, mut other) = (one.into_iter(), other.into_iter());
    let mut all = Vec::new();
    loop {
        let pair = [one.next(), other.next()];
        if pair.iter().all(Option::is_none) {
            return all;
        }
        all.extend(pair.into_iter().flatten());
    }
}

/// The groups of a column as a further reading shows them.
fn values_of(column: usize) -> Group {
    Group {
        column,
        unit: None,
        is_descending: true,
        count: SHOWN_VALUES,
        times: None,
    }
}

/// Texts that are so alike or more may be one word in two spellings.
const LIKE: f64 = 0.6;

/// Returns the share of letter pairs that two words have in common, between 0 and 1.
fn likeness(one: &str, other: &str) -> f64 {
    const LEAST: usize = 4;
    if one.len() < LEAST || other.len() < LEAST {
        return 0.0;
    }
    if alike(one, other) {
        return 1.0;
    }
    let pairs = |text: &str| -> FxHashSet<[u8; 2]> {
        text.as_bytes()
            .windows(2)
            .map(|pair| [pair[0], pair[1]])
            .collect()
    };
    let (one, other) = (pairs(one), pairs(other));
    let common = one.intersection(&other).count() as f64;
    2.0 * common / (one.len() + other.len()) as f64
}
