//! Outlines thread dumps: those of Java's `jstack`, and Go's dumps of goroutines.
//!
//! Threads with the same innermost frames share an entry, because people read such dumps to see
//! where many threads wait.

use std::io;

use rustc_hash::FxHashMap;
use spillgate_text::View;

use crate::parts::{SamplePlan, counted, grouped, lines};
use crate::{EntryKind, OutlineEntry, located, note};

/// Number of bytes at the start of a text that show whether it is a thread dump.
const HEAD: u64 = 32 << 10;
/// Minimum number of threads that begin in these bytes.
const FEWEST: usize = 3;
/// Maximum number of bytes of a line that are read.
const LONGEST: usize = 400;
/// Number of innermost frames that are compared and shown.
const FRAMES: usize = 3;
/// Maximum number of different stacks, and of different states, that are counted.
const APART: usize = 4096;
/// Maximum number of stacks that are shown.
const SHOWN: usize = 60;
/// Maximum number of states that are shown.
const STATES: usize = 8;

/// Returns the outline of a thread dump; no entries for other texts.
pub(crate) fn outline(view: &View, plan: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
    let head = view.source().bytes(0, HEAD)?;
    // A Go program that fails prints its threads, too. Then the outline of the failure says more.
    let has_failed = lines(&head)
        .any(|(_, line)| line.starts_with(b"panic: ") || line.starts_with(b"fatal error: "));
    let threads = lines(&head).filter(|(_, line)| begins(line).is_some());
    if has_failed || threads.count() < FEWEST {
        return Ok(Vec::new());
    }
    let mut dump = Dump::default();
    plan.each_line(view.source(), |line, offset| {
        dump.line(line[..line.len().min(LONGEST)].trim_ascii_end(), offset);
    })?;
    dump.end();
    dump.render(view, plan)
}

/// Returns the state in the first line of a thread; an empty text if a later line has the state.
fn begins(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii_end();
    if let Some(rest) = line.strip_prefix(b"goroutine ") {
        let from = memchr::memchr(b'[', rest)?;
        let is_number = rest[..from].trim_ascii().iter().all(u8::is_ascii_digit);
        let state = rest[from + 1..].strip_suffix(b"]:")?;
        // The waiting time after the comma differs between threads.
        let state = state.split(|&byte| byte == b',').next()?;
        return is_number.then_some(state);
    }
    let is_java = line.starts_with(b"\"") && memchr::memmem::find(line, b" tid=0x").is_some();
    is_java.then_some(b"")
}

/// A stack with the number of threads that have it.
struct Stack {
    offset: u64,
    count: u64,
    text: String,
}

#[derive(Default)]
struct Dump {
    threads: u64,
    states: FxHashMap<Vec<u8>, u64>,
    known: FxHashMap<String, usize>,
    stacks: Vec<Stack>,
    /// The thread that is being read: its offset, its state and its frames.
    open: Option<(u64, Vec<u8>, Vec<String>)>,
}

impl Dump {
    fn line(&mut self, line: &[u8], offset: u64) {
        if let Some(state) = begins(line) {
            self.end();
            self.open = Some((offset, state.to_vec(), Vec::new()));
            return;
        }
        let Some((_, state, frames)) = &mut self.open else {
            return;
        };
        let bare = line.trim_ascii_start();
        if let Some(named) = bare.strip_prefix(b"java.lang.Thread.State: ") {
            *state = named.to_vec();
        } else if frames.len() < FRAMES {
            let frame = match bare.strip_prefix(b"at ") {
                Some(frame) => Some(frame),
                // Go writes the function on one line and its place, indented, on the next line.
                None => (line.ends_with(b")") && bare.len() == line.len()).then_some(line),
            };
            let name = frame.map(|frame| {
                let end = memchr::memrchr(b'(', frame).unwrap_or(frame.len());
                String::from_utf8_lossy(&frame[..end]).into_owned()
            });
            frames.extend(name);
        }
    }

    fn end(&mut self) {
        let Some((offset, state, frames)) = self.open.take() else {
            return;
        };
        self.threads += 1;
        if self.states.len() < APART || self.states.contains_key(&state) {
            *self.states.entry(state.clone()).or_default() += 1;
        }
        let state = match state.is_empty() {
            true => String::new(),
            false => format!("{}: ", String::from_utf8_lossy(&state)),
        };
        let frames = match frames.is_empty() {
            true => "no frames".to_owned(),
            false => frames.join(" < "),
        };
        let text = state + &frames;
        match self.known.get(&text) {
            Some(&at) => self.stacks[at].count += 1,
            None if self.stacks.len() < APART => {
                self.known.insert(text.clone(), self.stacks.len());
                self.stacks.push(Stack {
                    offset,
                    count: 1,
                    text,
                });
            }
            None => {}
        }
    }

    fn render(self, view: &View, plan: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
        let mut states: Vec<(Vec<u8>, u64)> = self.states.into_iter().collect();
        states.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        let states: Vec<String> = states
            .iter()
            .filter(|(state, _)| !state.is_empty())
            .take(STATES)
            .map(|(state, count)| {
                format!(
                    "{}× {}",
                    plan.scaled(*count),
                    String::from_utf8_lossy(state)
                )
            })
            .collect();
        let mut shown = vec![note(format!(
            "{} with {}",
            counted(&plan.scaled(self.threads), "thread"),
            counted(&grouped(self.stacks.len() as u64), "different stack")
        ))];
        if !states.is_empty() {
            let text = format!("states: {}", states.join(", "));
            shown.push(OutlineEntry::new(1, 0, EntryKind::Remark, text));
        }
        let mut stacks = self.stacks;
        stacks.sort_by_key(|stack| (std::cmp::Reverse(stack.count), stack.offset));
        for (at, stack) in stacks.into_iter().take(SHOWN).enumerate() {
            let text = format!("{}× {}", grouped(stack.count), stack.text);
            shown.push(located(view, stack.offset, (2 + at, 0), text)?);
        }
        Ok(shown)
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::tests::shown_by;

    fn shown(text: &str) -> String {
        shown_by(outline, text)
    }

    #[test]
    fn threads_by_their_stacks() {
        let java: String = (0..3)
            .map(|i| format!("\"pool-1-thread-{i}\" #{i} prio=5 os_prio=0 cpu=1.5ms tid=0x0000{i} nid=0x1{i} waiting on condition\n   java.lang.Thread.State: WAITING (parking)\n\tat jdk.internal.misc.Unsafe.park(java.base@21/Native Method)\n\t- parking to wait for  <0x1>\n\tat a.Queue.take(Queue.java:17)\n\n"))
            .collect();
        let java = format!(
            "Full thread dump OpenJDK 64-Bit Server VM:\n\n{java}\"main\" #1 prio=5 tid=0x1 nid=0x1 runnable\n   java.lang.Thread.State: RUNNABLE\n\tat a.Main.main(Main.java:3)\n\n\"GC Thread#0\" os_prio=0 tid=0x2 nid=0x2 runnable\n"
        );
        assert_snapshot!(shown(&java), @"
        5 threads with 3 different stacks
        states: 3× WAITING (parking), 1× RUNNABLE
        3: 3× WAITING (parking): jdk.internal.misc.Unsafe.park < a.Queue.take
        21: 1× RUNNABLE: a.Main.main
        25: 1× no frames
        ");
        let go: String = (1..4)
            .map(|i| format!("goroutine {i} [chan receive, {i} minutes]:\nmain.worker(0xc00001{i})\n\t/src/main.go:12 +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:9 +0x3\n\n"))
            .collect();
        assert_snapshot!(shown(&go), @"
        3 threads with 1 different stack
        states: 3× chan receive
        1: 3× chan receive: main.worker
        ");
        assert_eq!(shown(&format!("panic: no\n\n{go}")), "");
        assert_eq!(shown("goroutine 1 [running]:\nmain.main()\n"), "");
    }
}
