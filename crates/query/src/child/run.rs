//! Runs a filter on the documents of a request.

use std::cell::RefCell;
use std::ops::ControlFlow;

use jaq_json::{Val, read};
use sonic_rs::LazyValue;

use super::documents::{Document, Documents};
use super::jq::{Jq, truncated};
use super::json::{check, render};
use super::lazy::{Stop, document, start as lazy_start, walk};
use super::missing::missing;
use super::plan::{FilterPlan, Step, StepKind, plan};
use super::sink::Sink;
use super::text::{too_deep, without_lone_surrogates};
use crate::protocol::{Failure, Format, Refusal, Request, Summary};

/// Some Windows programs write it before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Runs a request; the results go to the sink.
pub(crate) fn run(request: &Request, data: &[u8], sink: &mut Sink<'_>) -> Result<Summary, Refusal> {
    let program = Program::compile(request)?;
    let data = data.strip_prefix(BYTE_ORDER_MARK).unwrap_or(data);
    let is_json = matches!(request.format, Format::Json | Format::Ndjson);
    // The path walk trusts that all bytes are UTF-8; those of a damaged file may be anything.
    let text = String::from_utf8_lossy(data);
    let data = match is_json {
        true => without_lone_surrogates(text.as_bytes()),
        false => data.into(),
    };
    let is_one = request.format == Format::Json;
    let runner = Runner {
        program: &program,
        depth: request.depth,
        documents: RefCell::new(Documents::new(&data, request.format, request.depth)),
    };
    let lazy = match (is_one, &program.parts) {
        (true, Some(parts)) => lazy_start(&data, &parts.plan.steps),
        _ => None,
    };
    if is_one
        && lazy.is_none()
        && let Some(at) = too_deep(&data, request.depth)
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
        None if request.slurp => runner.slurped(&mut summary, sink),
        None => runner.each(&mut summary, sink),
    };
    summary.complete = ran.is_continue();
    summary.results = sink.results;
    let documents = runner.documents.into_inner();
    if is_one
        && documents.seen == 1
        && let Some((_, why)) = documents.first_bad
    {
        return Err(Refusal::NotJson { message: why });
    }
    summary.documents = summary.documents.max(documents.seen);
    (summary.bad, summary.first_bad) = (documents.bad, documents.first_bad);
    if is_json
        && sink.only_nulls
        && let Some(parts) = &program.parts
    {
        summary.missing =
            first_text(&data, request.format).and_then(|text| missing(text, &parts.plan.steps));
    }
    Ok(summary)
}

/// Returns the text of the first document.
fn first_text(data: &[u8], format: Format) -> Option<&[u8]> {
    match format {
        Format::Json => Some(data),
        _ => data
            .split(|&byte| byte == b'\n')
            .find(|line| document(line).is_some()),
    }
}

/// A filter compiled whole, and in the parts of its plan.
struct Program<'f> {
    whole: Jq,
    parts: Option<CompiledPlan<'f>>,
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
        Ok(Self { whole, parts })
    }

    /// Runs the plan on a value that is still text.
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
                    // The result is only counted, so it is not parsed.
                    None => count(text, sink),
                };
                ran.map_or_else(ControlFlow::Break, ControlFlow::Continue)
            }));
        }
        let mut all = Vec::new();
        flow(walk(value, steps, &mut |text| {
            let gather = &mut |value| {
                all.push(value);
                Ok(())
            };
            let ran = parsed(text).and_then(|value| match &parts.each {
                Some(each) => runner.jq(each, value, gather),
                None => gather(value),
            });
            ran.map_or_else(ControlFlow::Break, ControlFlow::Continue)
        }))?;
        let all = all.into_iter().collect();
        match &parts.then {
            Some(then) => runner.jq(then, all, &mut |value| emit(&value, sink)),
            None => emit(&all, sink),
        }
    }
}

/// Runs a program on its documents; jq's `inputs` takes from them, too.
struct Runner<'p, 'd> {
    program: &'p Program<'p>,
    /// Most levels that a value may nest.
    depth: usize,
    documents: RefCell<Documents<'d>>,
}

impl Runner<'_, '_> {
    /// Runs the filter on each document.
    fn each(&self, summary: &mut Summary, sink: &mut Sink<'_>) -> ControlFlow<()> {
        loop {
            let Some(next) = self.documents.borrow_mut().next_document() else {
                return ControlFlow::Continue(());
            };
            let number = self.documents.borrow().seen;
            let ran = match next {
                Document::Text(text) => self.text(text, sink),
                Document::Value(value) => {
                    keep(&value, number == 1);
                    self.whole(value, sink)
                }
                Document::Bad(_) => Ok(()),
            };
            note(ran, summary, number, sink)?;
        }
    }

    /// Runs the filter on all documents as one array.
    fn slurped(&self, summary: &mut Summary, sink: &mut Sink<'_>) -> ControlFlow<()> {
        let all: Val = std::iter::from_fn(|| self.documents.borrow_mut().next_value()).collect();
        note(self.whole(all, sink), summary, 1, sink)
    }

    fn text(&self, text: &[u8], sink: &mut Sink<'_>) -> Result<(), Stop> {
        if let Some(parts) = &self.program.parts
            && let Some(value) = document(text)
        {
            return self.program.lazily(value, &parts.plan.steps, self, sink);
        }
        match read::parse_single(text) {
            Ok(value) => self.whole(value, sink),
            Err(error) => {
                self.documents.borrow_mut().is_bad(error.to_string());
                Ok(())
            }
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

/// Records the outcome of a document. Returns whether to continue with the next.
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

/// Keeps a value from being freed, which for a large document takes as long as parsing it. The end
/// of the process frees it at no cost.
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
        // A value that cannot be written fails on every page.
        false => check(value).map(|()| Vec::new()).map_err(refused)?,
    };
    match sink.result(matches!(value, Val::Null), || text) {
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

#[cfg(test)]
mod tests;
