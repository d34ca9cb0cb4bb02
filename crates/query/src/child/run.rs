//! Runs a filter on the documents of a request.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::ControlFlow;

use jaq_core::load::parse;
use jaq_core::load::parse::Term;
use jaq_json::{Num, Val, read};
use sonic_rs::LazyValue;

use super::access::{Accesses, accesses};
use super::documents::{Document, Documents};
use super::explain::Records;
use super::halves::{self, Checked};
use super::jq::{Jq, truncated};
use super::json::{check, render};
use super::lazy::{Stop, document, start as lazy_start, walk};
use super::missing::missing;
use super::plan::{FilterPlan, Step, StepKind, plan};
use super::reading::{Readings, needed, readings};
use super::sink::Sink;
use super::split::{self, Found};
use super::table::Table;
use super::text::{too_deep, without_lone_surrogates};
use crate::protocol::{Failure, Format, Reading, Refusal, Request, Summary};

/// Some Windows programs write this mark at the start of a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Maximum size, in bytes, of a document that is searched for all paths of a filter that had no
/// results. Each path takes one pass over the document.
const LARGEST_EXPLAINED: usize = 16 << 20;

/// Runs a request and sends the results to the sink.
pub(crate) fn run<'d>(
    request: &Request,
    data: impl Into<Cow<'d, [u8]>>,
    sink: &mut Sink<'_>,
) -> Result<Summary, Refusal> {
    let mut data = data.into();
    let program = Program::compile(request)?;
    let found = match (&program.parts, &mut data, request.format) {
        (Some(parts), Cow::Owned(data), Format::Json) => split::find(data, &parts.plan.steps),
        _ => None,
    };
    let data = data.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&data);
    let is_json = matches!(request.format, Format::Json | Format::Ndjson);
    let checked = match is_json && found.is_none() {
        true => halves::check(data)?,
        false => Checked::UNCHANGED,
    };
    // The path walk relies on valid UTF-8. The bytes of a damaged file may not be.
    let text = match checked.is_utf8 {
        true => Cow::Borrowed(data),
        false => Cow::Owned(String::from_utf8_lossy(data).into_owned().into_bytes()),
    };
    let data = match checked.may_escape {
        true => without_lone_surrogates(&text),
        false => text,
    };
    let mut summary = match request.format {
        Format::Json => document_of(request, &data, &program, found, sink)?,
        _ => records_of(request, &data, &program, sink),
    };
    summary.results = sink.results;
    Ok(summary)
}

/// Runs a program on JSON documents in sequence; usually there is only one.
fn document_of(
    request: &Request,
    data: &[u8],
    program: &Program<'_>,
    found: Option<Found>,
    sink: &mut Sink<'_>,
) -> Result<Summary, Refusal> {
    let runner = Runner::new(request, data, program, None);
    let lazy = program.parts.as_ref().and_then(|parts| match found {
        Some(found) => Some((
            document(&data[found.text])?,
            &parts.plan.steps[found.steps..],
        )),
        None => lazy_start(data, &parts.plan.steps),
    });
    if lazy.is_none()
        && let Some(at) = too_deep(data, request.depth)
    {
        return Err(Refusal::TooDeep { at: at as u64 });
    }
    let mut summary = Summary::default();
    let ran = match lazy {
        Some((value, steps)) => {
            summary.documents = 1;
            let ran = program.lazily(value, steps, &runner, sink);
            note(ran, &mut summary, 1, sink)
        }
        None if request.slurp => runner.all(None, &mut summary, sink),
        None => runner.each(Reading::Each, &mut summary, sink),
    };
    summary.complete = ran.is_continue();
    let documents = runner.documents.into_inner();
    if documents.seen == 1
        && let Some((_, why)) = documents.first_bad
    {
        return Err(Refusal::NotJson { message: why });
    }
    summary.documents = summary.documents.max(documents.seen);
    (summary.bad, summary.first_bad) = (documents.bad, documents.first_bad);
    let found = program.accesses();
    if sink.only_empty {
        let of_plan = program.parts.iter().map(|parts| &parts.plan.steps);
        let others = found.paths.iter().map(|access| &access.steps);
        let others = others.filter(|_| data.len() <= LARGEST_EXPLAINED && !request.slurp);
        summary.missing = of_plan.chain(others).find_map(|steps| missing(data, steps));
    }
    summary.hints.extend(assignment(&found));
    Ok(summary)
}

/// Runs a program on each record or on the array of all records, as the filter's form suggests. If
/// the program fails before its first result, runs it in the other way.
fn records_of(
    request: &Request,
    data: &[u8],
    program: &Program<'_>,
    sink: &mut Sink<'_>,
) -> Summary {
    let table = match request.format {
        Format::Table { delimiter } => Some(Table::new(data, delimiter)),
        _ => None,
    };
    let attempt = |reading, sink: &mut Sink<'_>| {
        Runner::new(request, data, program, table.as_ref()).attempt(reading, request.slurp, sink)
    };
    let is_array = request.format == Format::Ndjson
        && first_text(data, request.format)
            .is_some_and(|text| text.trim_ascii_start().starts_with(b"["));
    let readings = match (&program.term, request.slurp) {
        (Some(term), false) => readings(term, is_array),
        (_, slurp) => Readings {
            first: if slurp { Reading::All } else { Reading::Each },
            other: None,
        },
    };
    let mut reading = readings.first;
    let mut summary = attempt(reading, sink);
    if let Some(other) = readings.other
        && sink.results == 0
        && let Some(failure) = summary.all_failed()
    {
        let not_read = failure.message.clone();
        let again = attempt(other, sink);
        if sink.results > 0 {
            reading = other;
            summary = Summary {
                not_read: Some(not_read),
                ..again
            };
        }
    }
    summary.reading = readings.other.map(|_| reading);
    let found = program.accesses();
    summary.hints.extend(assignment(&found));
    let records = Records {
        data,
        format: request.format,
        table: table.as_ref(),
        reading,
    };
    records.explain(&found, sink.only_empty, &mut summary);
    summary
}

/// Returns a hint if a filter contains an assignment where a comparison was probably meant.
fn assignment(found: &Accesses) -> Option<String> {
    let hint = "`=` in `select` assigns, so nothing is dropped: compare with `==`";
    found.assigns_in_select.then(|| hint.to_owned())
}

/// Returns the text of the first document that is valid JSON.
fn first_text(data: &[u8], format: Format) -> Option<&[u8]> {
    match format {
        Format::Json => Some(data),
        _ => data
            .split(|&byte| byte == b'\n')
            .find(|line| document(line).is_some()),
    }
}

/// A filter compiled as a whole and, if it has a plan, in parts.
struct Program<'f> {
    whole: Jq,
    parts: Option<CompiledPlan<'f>>,
    /// The part of the filter that runs on each record, if the plan begins with `.[]`.
    element: Option<Jq>,
    term: Option<Term<&'f str>>,
}

struct CompiledPlan<'f> {
    plan: FilterPlan<'f>,
    each: Option<Jq>,
    then: Option<Jq>,
}

impl<'f> Program<'f> {
    fn compile(request: &'f Request) -> Result<Self, Refusal> {
        let whole = Jq::compile(&request.filter)?;
        let parts = match plan(&request.filter).filter(|_| !request.slurp) {
            Some(plan) => Some(CompiledPlan {
                each: plan.each.map(Jq::compile).transpose()?,
                then: plan.then.map(Jq::compile).transpose()?,
                plan,
            }),
            None => None,
        };
        let element = match (&parts, request.format) {
            (None, _) | (_, Format::Json) => None,
            (Some(parts), _) => parts.plan.of_element(),
        };
        Ok(Self {
            whole,
            parts,
            element: element.as_deref().map(Jq::compile).transpose()?,
            term: parse(&request.filter, |parser| parser.term()),
        })
    }

    /// Returns which paths of its input the filter reads.
    fn accesses(&self) -> Accesses {
        let term = self.term.as_ref();
        term.map_or_else(Accesses::default, |term| accesses(term, Vec::new()))
    }

    /// Runs the plan on a value that has not been parsed.
    fn lazily(
        &self,
        value: LazyValue<'_>,
        steps: &[Step],
        runner: &Runner<'_, '_>,
        sink: &mut Sink<'_>,
    ) -> Result<(), Stop> {
        let parts = self.parts.as_ref().expect("invariant: asked before");
        let parsed = |text: &str| parsed(text, runner.depth);
        let is_one = !steps.iter().any(|step| step.kind == StepKind::Each);
        if !parts.plan.gathers {
            return flow(walk(value, steps, &mut |text| {
                let ran = match &parts.each {
                    Some(each) => parsed(text).and_then(|value| {
                        keep(&value, is_one);
                        runner.jq(each, value, &mut |value| emit(&value, sink))
                    }),
                    None if sink.wants_text() => parsed(text).and_then(|value| emit(&value, sink)),
                    // The result is only counted, so it need not be parsed.
                    None => count(text, sink),
                };
                ran.map_or_else(ControlFlow::Break, ControlFlow::Continue)
            }));
        }
        let mut gathered = Gathered::new(parts);
        self.gather(value, steps, runner, &mut gathered)?;
        gathered.finish(parts, runner, sink)
    }

    /// Gathers the results for a value that has not been parsed.
    fn gather(
        &self,
        value: LazyValue<'_>,
        steps: &[Step],
        runner: &Runner<'_, '_>,
        gathered: &mut Gathered,
    ) -> Result<(), Stop> {
        let parts = self.parts.as_ref().expect("invariant: asked before");
        flow(walk(value, steps, &mut |text| {
            let ran = parsed(text, runner.depth).and_then(|value| match &parts.each {
                Some(each) => runner.jq(each, value, &mut |value| gathered.add(value)),
                None => gathered.add(value),
            });
            ran.map_or_else(ControlFlow::Break, ControlFlow::Continue)
        }))
    }
}

/// The results that a plan gathers in an array.
enum Gathered {
    Values(Vec<Val>),
    /// The number of values, if the filter needs only the length of the array.
    Count(usize),
}

impl Gathered {
    fn new(parts: &CompiledPlan<'_>) -> Self {
        match parts.plan.then {
            Some("length") => Self::Count(0),
            _ => Self::Values(Vec::new()),
        }
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "it has the type of a visitor of results"
    )]
    fn add(&mut self, value: Val) -> Result<(), Stop> {
        match self {
            Self::Values(values) => values.push(value),
            Self::Count(count) => *count += 1,
        }
        Ok(())
    }

    fn finish(
        self,
        parts: &CompiledPlan<'_>,
        runner: &Runner<'_, '_>,
        sink: &mut Sink<'_>,
    ) -> Result<(), Stop> {
        match (self, &parts.then) {
            (Self::Count(count), _) => emit(&Val::from(count), sink),
            (Self::Values(values), Some(then)) => {
                let all = values.into_iter().collect();
                runner.jq(then, all, &mut |value| emit(&value, sink))
            }
            (Self::Values(values), None) => emit(&values.into_iter().collect(), sink),
        }
    }
}

/// Runs a program on its documents. jq's `inputs` takes documents from the same source.
struct Runner<'p, 'd> {
    program: &'p Program<'p>,
    /// Maximum nesting depth of a value.
    depth: usize,
    documents: RefCell<Documents<'d>>,
}

impl<'p, 'd> Runner<'p, 'd> {
    fn new(
        request: &Request,
        data: &'d [u8],
        program: &'p Program<'p>,
        table: Option<&'d Table<'d>>,
    ) -> Self {
        Self {
            program,
            depth: request.depth,
            documents: RefCell::new(Documents::new(data, request.format, table, request.depth)),
        }
    }

    /// Runs the filter once: on each record or on the array of all records, as `reading` says.
    fn attempt(self, reading: Reading, slurp: bool, sink: &mut Sink<'_>) -> Summary {
        let mut summary = Summary::default();
        let parts = self.program.parts.as_ref().filter(|parts| {
            let first = parts.plan.steps.first();
            !slurp && first.is_some_and(|step| step.kind == StepKind::Each)
        });
        let ran = match (reading, parts) {
            (Reading::All, Some(parts)) if parts.plan.gathers => {
                self.gathered(parts, &mut summary, sink)
            }
            (Reading::All, None) => {
                let most = self.program.term.as_ref().and_then(needed);
                self.all(most.filter(|_| !slurp), &mut summary, sink)
            }
            (Reading::Each, _) | (Reading::All, Some(_)) => self.each(reading, &mut summary, sink),
        };
        summary.complete = ran.is_continue();
        let documents = self.documents.into_inner();
        summary.documents = documents.seen;
        (summary.bad, summary.first_bad) = (documents.bad, documents.first_bad);
        summary
    }

    /// Runs the filter on each document. If the filter reads the array of all documents and begins
    /// with `.[]`, runs the rest of it on each document.
    fn each(
        &self,
        reading: Reading,
        summary: &mut Summary,
        sink: &mut Sink<'_>,
    ) -> ControlFlow<()> {
        loop {
            let Some(next) = self.documents.borrow_mut().next_document() else {
                return ControlFlow::Continue(());
            };
            let number = self.documents.borrow().seen;
            let ran = match next {
                Document::Text(text) => self.text(reading, text, sink),
                Document::Value(value) => {
                    keep(&value, number == 1);
                    self.value(reading, value, sink)
                }
                Document::Bad(_) => Ok(()),
            };
            note(ran, summary, number, sink)?;
        }
    }

    /// Runs the filter on the array of all documents. `most` is the number of documents that the
    /// filter needs; later ones are not read.
    fn all(
        &self,
        most: Option<usize>,
        summary: &mut Summary,
        sink: &mut Sink<'_>,
    ) -> ControlFlow<()> {
        let values = std::iter::from_fn(|| self.documents.borrow_mut().next_value());
        let values = values.take(most.unwrap_or(usize::MAX));
        let ran = match &self.program.term {
            Some(Term::Call("length", arguments)) if arguments.is_empty() => {
                emit(&Val::from(values.count()), sink)
            }
            _ => self.whole(values.collect(), sink),
        };
        note(ran, summary, 0, sink)
    }

    /// Runs a plan that gathers results from all documents in one array.
    fn gathered(
        &self,
        parts: &CompiledPlan<'_>,
        summary: &mut Summary,
        sink: &mut Sink<'_>,
    ) -> ControlFlow<()> {
        let mut gathered = Gathered::new(parts);
        loop {
            let Some(next) = self.documents.borrow_mut().next_document() else {
                let ran = gathered.finish(parts, self, sink);
                return note(ran, summary, 0, sink);
            };
            let number = self.documents.borrow().seen;
            if let Err(stop) = self.add(parts, next, &mut gathered) {
                note(Err(stop), summary, number, sink)?;
                summary.failed_at_once = true;
                return ControlFlow::Continue(());
            }
        }
    }

    /// Adds the results for one document to `gathered`.
    fn add(
        &self,
        parts: &CompiledPlan<'_>,
        document_: Document<'_>,
        gathered: &mut Gathered,
    ) -> Result<(), Stop> {
        let value = match document_ {
            Document::Text(text) => match document(text) {
                Some(value) => {
                    return self
                        .program
                        .gather(value, &parts.plan.steps[1..], self, gathered);
                }
                None => match self.parsed(text) {
                    Some(value) => value,
                    None => return Ok(()),
                },
            },
            Document::Value(value) => value,
            Document::Bad(_) => return Ok(()),
        };
        let element = self.program.element.as_ref();
        let element = element.expect("invariant: the plan begins with .[]");
        self.jq(element, value, &mut |value| gathered.add(value))
    }

    fn text(&self, reading: Reading, text: &[u8], sink: &mut Sink<'_>) -> Result<(), Stop> {
        if let Some(parts) = &self.program.parts
            && let Some(value) = document(text)
        {
            let skipped = usize::from(reading == Reading::All);
            return self
                .program
                .lazily(value, &parts.plan.steps[skipped..], self, sink);
        }
        match self.parsed(text) {
            Some(value) => self.value(reading, value, sink),
            None => Ok(()),
        }
    }

    /// Parses a document. Returns `None` if it is not JSON, and records this.
    fn parsed(&self, text: &[u8]) -> Option<Val> {
        let value = read::parse_single(text);
        value
            .map_err(|error| self.documents.borrow_mut().is_bad(error.to_string()))
            .ok()
    }

    fn value(&self, reading: Reading, value: Val, sink: &mut Sink<'_>) -> Result<(), Stop> {
        match (reading, &self.program.element) {
            (Reading::All, Some(element)) => {
                self.jq(element, value, &mut |value| emit(&value, sink))
            }
            _ => self.whole(value, sink),
        }
    }

    fn whole(&self, value: Val, sink: &mut Sink<'_>) -> Result<(), Stop> {
        self.jq(&self.program.whole, value, &mut |value| emit(&value, sink))
    }

    fn jq(
        &self,
        filter: &Jq,
        value: Val,
        each: &mut dyn FnMut(Val) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let mut inputs = std::iter::from_fn(|| self.documents.borrow_mut().next_value());
        filter.run(value, &mut inputs, each)
    }
}

/// Records the outcome for a document. Returns whether to continue with the next document.
fn note(
    ran: Result<(), Stop>,
    summary: &mut Summary,
    document: u64,
    sink: &Sink<'_>,
) -> ControlFlow<()> {
    match ran {
        Ok(()) => ControlFlow::Continue(()),
        Err(Stop::Enough) => ControlFlow::Break(()),
        Err(Stop::Error(message)) => {
            summary.failed += 1;
            summary.failure.get_or_insert(Failure {
                document,
                after: sink.results,
                message,
            });
            ControlFlow::Continue(())
        }
    }
}

fn flow(walked: ControlFlow<Stop>) -> Result<(), Stop> {
    match walked {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(stop) => Err(stop),
    }
}

/// Leaks a value on purpose, if it is the only one. Freeing a large document takes as long as
/// parsing it, whereas the end of the process frees it at no cost.
fn keep(value: &Val, is_one: bool) {
    if is_one {
        std::mem::forget(value.clone());
    }
}

fn parsed(text: &str, depth: usize) -> Result<Val, Stop> {
    if too_deep(text.as_bytes(), depth).is_some() {
        let message = format!("the value nests deeper than {depth} levels");
        return Err(Stop::Error(message));
    }
    read::parse_single(text.as_bytes()).map_err(|error| Stop::Error(error.to_string()))
}

fn emit(value: &Val, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let refused = |error| Stop::Error(truncated(&error));
    let text = match sink.wants_text() {
        true => render(value, sink.raw).map_err(refused)?,
        // A value that cannot be written must fail on every page, even if it is only counted.
        false => check(value).map(|()| Vec::new()).map_err(refused)?,
    };
    match sink.result(sink.only_empty && is_empty(value), || text) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Stop::Enough),
    }
}

fn count(text: &str, sink: &mut Sink<'_>) -> Result<(), Stop> {
    match sink.result(text == "null", Vec::new) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Stop::Enough),
    }
}

/// Returns whether a value is `null`, `false` or zero, or contains nothing else.
fn is_empty(value: &Val) -> bool {
    match value {
        Val::Null | Val::Bool(false) => true,
        Val::Bool(true) => false,
        Val::Num(number) => matches!(number, Num::Int(0)),
        Val::TStr(text) | Val::BStr(text) => text.is_empty(),
        Val::Arr(all) => all.iter().all(is_empty),
        Val::Obj(members) => members.is_empty(),
    }
}

#[cfg(test)]
mod tests;
