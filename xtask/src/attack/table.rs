//! Formats the outcomes of all attacks as a table, and decides whether they pass.

use std::fmt::Write;

/// The outcome of an attack.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Attempts that counted.
    pub(crate) tried: usize,
    /// Processes that panicked or were ended by a signal that we did not send.
    pub(crate) panics: usize,
    /// Programs that did not end, or requests that were not answered, in time.
    pub(crate) hangs: usize,
    /// Handles that were shown but do not work.
    pub(crate) dead: usize,
    /// Cases of damage that the program did not detect: wrong bytes that were returned as correct,
    /// changed frames, and forbidden requests that were carried out.
    pub(crate) unnoticed: usize,
    /// Resident memory in MiB of the process that ran throughout the attack, before and after.
    pub(crate) memory: Option<(f64, f64)>,
    /// The first problems, and figures that are not in the table.
    pub(crate) notes: Vec<String>,
}

/// Maximum number of notes that are printed for an attack.
const MOST_NOTES: usize = 8;

/// How much memory may grow: by a fifth, and by 4 MiB for the pools of one more thread.
const MEMORY_PART: f64 = 1.2;
const MEMORY_MIB: f64 = 4.0;

impl Outcome {
    /// Adds a note, if there is room for it.
    pub(crate) fn note(&mut self, what: String) {
        if self.notes.len() < MOST_NOTES {
            self.notes.push(what);
        }
    }

    /// Adds the outcome of another part of the same attack.
    pub(crate) fn add(&mut self, other: Self) {
        self.tried += other.tried;
        self.panics += other.panics;
        self.hangs += other.hangs;
        self.dead += other.dead;
        self.unnoticed += other.unnoticed;
        self.memory = self.memory.or(other.memory);
        for note in other.notes {
            self.note(note);
        }
    }

    /// Returns what is wrong: fewer than `wanted` attempts, or any failure.
    pub(crate) fn faults(&self, wanted: usize) -> Vec<String> {
        let mut faults = Vec::new();
        if self.tried < wanted {
            faults.push(format!("{} of {wanted} attempts", self.tried));
        }
        for (count, what) in [
            (self.panics, "panics"),
            (self.hangs, "hangs"),
            (self.dead, "dead handles"),
            (self.unnoticed, "unnoticed"),
        ] {
            if count > 0 {
                faults.push(format!("{count} {what}"));
            }
        }
        if let Some((start, end)) = self.memory
            && has_grown(start, end)
        {
            faults.push(format!("memory from {start:.0} to {end:.0} MiB"));
        }
        faults
    }
}

/// Whether memory has grown by more than is allowed, or could not be measured.
pub(crate) fn has_grown(start: f64, end: f64) -> bool {
    let has_come_back = end <= start * MEMORY_PART + MEMORY_MIB;
    !has_come_back
}

/// Formats the rows, followed by their notes.
pub(crate) fn table(rows: &[(&str, Outcome)]) -> String {
    let mut text = format!(
        "{:<12} {:>8} {:>7} {:>6} {:>13} {:>10} {:>15}\n",
        "attack", "tried", "panics", "hangs", "dead handles", "unnoticed", "memory MiB"
    );
    for (name, row) in rows {
        let memory = row.memory.map_or_else(
            || "-".to_owned(),
            |(start, end)| format!("{start:.1} -> {end:.1}"),
        );
        let _ = writeln!(
            text,
            "{name:<12} {:>8} {:>7} {:>6} {:>13} {:>10} {memory:>15}",
            row.tried, row.panics, row.hangs, row.dead, row.unnoticed
        );
    }
    for (name, row) in rows {
        for note in &row.notes {
            let _ = writeln!(text, "{name}: {note}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_good_only_without_a_fault() {
        let good = || Outcome {
            tried: 10,
            memory: Some((20.0, 24.0)),
            ..Outcome::default()
        };
        let few = Outcome { tried: 9, ..good() };
        let panicked = Outcome {
            panics: 1,
            ..good()
        };
        let hung = Outcome { hangs: 2, ..good() };
        let dead = Outcome { dead: 1, ..good() };
        let unnoticed = Outcome {
            unnoticed: 3,
            ..good()
        };
        let grown = Outcome {
            memory: Some((20.0, 29.0)),
            ..good()
        };
        let cases = [
            (good(), ""),
            (few, "9 of 10 attempts"),
            (panicked, "1 panics"),
            (hung, "2 hangs"),
            (dead, "1 dead handles"),
            (unnoticed, "3 unnoticed"),
            (grown, "memory from 20 to 29 MiB"),
        ];
        for (outcome, wanted) in cases {
            assert_eq!(outcome.faults(10).join(", "), wanted);
        }
    }
}
