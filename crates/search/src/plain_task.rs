//! Puts everyday phrases of a task into the usual words of tools: `throw the entry away` deletes it.

use std::sync::LazyLock;

use crate::words::Stems;

/// Verbs with a particle, and the usual words for what they mean. Each line has the words, a colon, and
/// the verbs, each with its particles.
const PHRASES: &str = "\
delete: throw out away, toss out away, take out away off, get rid, clear away, strip out, cross out off, chuck out away
undo: take back, roll back, put back
wait: hold on off, hang on, stand by, sit tight
open: pull up, bring up, call up, head over
search: look for up, hunt down, track down, dig up out, come up, scan for
locate: get hold
drag: pull over onto across, carry over
disconnect offline: cut off, go offline, take offline, pull plug
record: write down, note down, jot down, put down, keep track, keep record
tree structure: lay out
compare: put side, hold against
fill: fill in out
type: type in, key in, punch in
start: kick off, fire up, spin up, boot up
stop: shut down off, call off, take down
stop disable: switch off, turn off
start enable: switch on, turn on
create: set up, put together, draw up, come with
send: send off out over, pass on along, hand over
back: go back, step back
read: read out through, go through, run through, look at inside into, peek at into inside
rename: call instead, name instead
save: hang onto, hold onto, put aside, set aside
compress: pack up, zip up, boil down";

/// Forms of the verbs that have another stem.
const FORMS: &str = "threw throw, thrown throw, took take, taken take, got get, held hold, wrote write, written write, laid lay, \
    went go, gone go, sent send, came come, drew draw, drawn draw, kept keep, hung hang, stood stand";

/// Most words from a verb to its particle.
const REACH: usize = 4;

/// A verb with its particles.
#[derive(Debug)]
struct Phrase {
    /// The stem of the verb.
    verb: String,
    particles: Vec<&'static str>,
    means: &'static str,
}

/// The phrases by lines.
static ALL: LazyLock<Vec<Phrase>> = LazyLock::new(|| {
    let stems = Stems::new();
    let lines = PHRASES.lines().filter_map(|line| line.split_once(": "));
    let phrases = lines.flat_map(|(means, verbs)| verbs.split(", ").map(move |verb| (means, verb)));
    let phrases = phrases.map(|(means, phrase)| {
        let mut words = phrase.split(' ');
        Phrase {
            verb: stems.stem(words.next().unwrap_or_default()),
            particles: words.collect(),
            means,
        }
    });
    phrases.collect()
});

/// Returns a task with its phrases in the usual words of tools. The particle goes. A particle counts if
/// at most three words without a mark are between it and its verb.
pub(crate) fn plain_task(stems: &Stems, task: &str) -> String {
    let tokens: Vec<&str> = task.split_whitespace().collect();
    let word = |at: usize| tokens[at].trim_matches(|c: char| !c.is_alphanumeric());
    let mut text: Vec<&str> = tokens.clone();
    for at in 0..tokens.len() {
        let verb = verb(stems, word(at));
        let mut after = tokens.len().min(at + 1 + REACH);
        if let Some(end) =
            (at..after).find(|at| tokens[*at].ends_with(['.', ',', '?', '!', ';', ':']))
        {
            after = end + 1;
        }
        let found = ALL.iter().filter(|phrase| phrase.verb == verb);
        let found = found.filter_map(|phrase| {
            let is_particle = |at: &usize| {
                phrase
                    .particles
                    .iter()
                    .any(|one| word(*at).eq_ignore_ascii_case(one))
            };
            (at + 1..after).find(is_particle).map(|at| (at, phrase))
        });
        if let Some((particle, phrase)) = found.min_by_key(|(at, _)| *at) {
            text[at] = phrase.means;
            // The mark after it still ends the sentence.
            text[particle] = tokens[particle].trim_start_matches(char::is_alphanumeric);
        }
    }
    text.retain(|token| !token.is_empty());
    text.join(" ")
}

/// Returns the stem of a word, or of the verb of which it is a form.
fn verb(stems: &Stems, word: &str) -> String {
    let lower = word.to_lowercase();
    let mut forms = FORMS.split(", ").filter_map(|form| form.split_once(' '));
    let verb = forms.find(|(form, _)| *form == lower);
    stems.stem(verb.map_or(&*lower, |(_, verb)| verb))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_put_into_usual_words() {
        let stems = Stems::new();
        let tasks = [
            "Throw the old entry away, please.",
            "I took it out. Look it up!",
            "Hold on until it is there",
            "What did we write down?",
            "Turn the alarms off",
            "pull the changes into main",
            "take the bus, then go out",
            "take one of all these out",
            "pull",
            "",
        ];
        let plain = tasks.map(|task| format!("{task} -> {}", plain_task(&stems, task)));
        insta::assert_snapshot!(plain.join("\n"), @r"
        Throw the old entry away, please. -> delete the old entry , please.
        I took it out. Look it up! -> I delete it . search it !
        Hold on until it is there -> wait until it is there
        What did we write down? -> What did we record ?
        Turn the alarms off -> stop disable the alarms
        pull the changes into main -> pull the changes into main
        take the bus, then go out -> take the bus, then go out
        take one of all these out -> take one of all these out
        pull -> pull
         ->
        ");
    }
}
