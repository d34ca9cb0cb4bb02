//! Compiles and runs jq filters.
//!
//! The engine is jaq with its whole library, except for functions that reach outside the process:
//! the environment, the clock, the time zone, files, and ending the process.

use std::fmt::{self, Write};

use jaq_core::load::parse::Def;
use jaq_core::load::{self, Arena, File, Loader, span};
use jaq_core::native::{Fun, bome, run, v};
use jaq_core::{Compiler, Ctx, DataT, Error, Lut, Vars, compile, data, unwrap_valr};
use jaq_json::Val;
use jaq_std::input::{self, HasInputs, Inputs, RcIter};

use super::json::render;
use super::lazy::Stop;
use super::repair::repaired;
use crate::protocol::Refusal;

/// Functions of jaq that reach outside the process.
const OUTSIDE: [&str; 4] = ["env", "now", "localtime", "strflocaltime"];

/// Maximum length of a message, in characters. A message may quote a whole document.
const LONGEST_MESSAGE: usize = 300;

/// The types that filters run with.
pub(crate) struct Kind;

impl DataT for Kind {
    type V<'a> = Val;
    type Data<'a> = &'a Data<'a>;
}

/// What a running filter can access: its compiled functions and the remaining inputs.
pub(crate) struct Data<'a> {
    lut: &'a Lut<Kind>,
    inputs: Inputs<'a, Val>,
}

impl<'a> data::HasLut<'a, Kind> for &'a Data<'a> {
    fn lut(&self) -> &'a Lut<Kind> {
        self.lut
    }
}

impl<'a> HasInputs<'a, Val> for &'a Data<'a> {
    fn inputs(&self) -> Inputs<'a, Val> {
        self.inputs
    }
}

/// A compiled filter.
pub(crate) struct Jq(jaq_core::Filter<Kind>);

/// What is wrong with a filter.
#[derive(Debug)]
pub(crate) struct Fault {
    message: String,
    /// Position of the error in the filter, in bytes.
    pub(crate) at: usize,
    /// The function that does not exist, and its number of arguments.
    pub(crate) undefined: Option<(String, usize)>,
}

impl Jq {
    /// Compiles a filter. An error says what is wrong and where, and what was probably meant.
    pub(crate) fn compile(filter: &str) -> Result<Self, Refusal> {
        Self::compiled(filter).map_err(|fault| {
            let compile = |filter: &str| Self::compiled(filter).map(drop);
            Refusal::Filter {
                message: fault.message,
                at: fault.at,
                fix: repaired(filter, &compile, &names()),
            }
        })
    }

    fn compiled(filter: &str) -> Result<Self, Fault> {
        let arena = Arena::default();
        let file = File {
            code: filter,
            path: (),
        };
        let fault = |(message, part): (String, &str)| Fault {
            message,
            at: span(filter, part).start.min(filter.len()),
            undefined: None,
        };
        let modules = Loader::new(definitions())
            .load(&arena, file)
            .map_err(|errors| fault(not_parsed(errors, filter)))?;
        // The loader refuses imports of modules. Imports of data must be refused here.
        load::import(&modules, |_| Err(String::new()))
            .map_err(|errors| fault(not_parsed(errors, filter)))?;
        let compiled = Compiler::default()
            .with_funs(funs())
            .compile(modules)
            .map_err(|errors| {
                let (message, part, arity) = not_compiled(errors, filter);
                Fault {
                    undefined: arity.map(|arity| (part.to_owned(), arity)),
                    ..fault((message, part))
                }
            })?;
        Ok(Self(compiled))
    }

    /// Passes the results for `value` to `each` until `each` stops the run or the filter fails. The
    /// functions `input` and `inputs` take their values from `inputs`.
    pub(crate) fn run(
        &self,
        value: Val,
        inputs: &mut dyn Iterator<Item = Val>,
        each: &mut dyn FnMut(Val) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let inputs = RcIter::new(inputs.map(Ok));
        let data = Data {
            lut: &self.0.lut,
            inputs: &inputs,
        };
        let context = Ctx::<Kind>::new(&data, Vars::new([]));
        for result in self.0.id.run((context, value)).map(unwrap_valr) {
            each(result.map_err(|error| Stop::Error(message(error)))?)?;
        }
        Ok(())
    }
}

/// Returns the functions that are written in jq.
fn definitions() -> impl Iterator<Item = Def<&'static str>> {
    let own = load::parse(include_str!("defs.jq"), |parser| parser.defs())
        .expect("invariant: our own definitions are jq");
    jaq_core::defs()
        .chain(jaq_std::defs())
        .chain(jaq_json::defs())
        .chain(own)
}

/// Returns the names of all functions with their numbers of arguments.
fn names() -> Vec<(String, usize)> {
    let defined = definitions().map(|def| (def.name.to_owned(), def.args.len()));
    let built_in = funs().map(|fun| (fun.0.to_owned(), fun.1.len()));
    let names = defined.chain(built_in);
    names.filter(|(name, _)| !name.starts_with('_')).collect()
}

/// Returns the functions that a filter may call.
fn funs() -> impl Iterator<Item = Fun<Kind>> {
    let inside = jaq_std::funs::<Kind>().filter(|fun| !OUTSIDE.contains(&fun.0) && fun.0 != "halt");
    let refused = [
        run::<Kind>(("env", v(0), |_| bome(Err(outside("env"))))),
        run::<Kind>(("now", v(0), |_| bome(Err(outside("now"))))),
        run::<Kind>(("localtime", v(0), |_| bome(Err(outside("localtime"))))),
        run::<Kind>(("strflocaltime", v(1), |_| {
            bome(Err(outside("strflocaltime")))
        })),
        run::<Kind>(("halt", v(1), |_| bome(Err(outside("halt"))))),
    ];
    let tojson = run::<Kind>(("tojson", v(0), |cv| {
        bome(render(&cv.1, false).map(Val::utf8_str).map_err(Error::str))
    }));
    let input = input::funs::<Kind>()
        .into_vec()
        .into_iter()
        .map(run::<Kind>);
    jaq_core::funs::<Kind>()
        .chain(inside)
        .chain(jaq_json::funs().filter(|fun| fun.0 != "tojson"))
        .chain([tojson])
        .chain(refused)
        .chain(input)
}

fn outside(name: &str) -> Error<Val> {
    Error::str(format_args!(
        "{name} is not available: a filter sees the stored output and nothing else"
    ))
}

/// Returns what is wrong with a filter, and the part that is wrong.
fn not_parsed<'a>(errors: load::Errors<&'a str, ()>, filter: &'a str) -> (String, &'a str) {
    use load::Error::{Io, Lex, Parse};
    let first = errors.into_iter().next();
    let fault = first.and_then(|(_, error)| match error {
        Io(errors) => errors.into_iter().next().map(|(path, _)| {
            let message = "modules are not available".to_owned();
            (message, path)
        }),
        Lex(errors) => errors
            .into_iter()
            .next()
            .map(|(expected, found)| (format!("{} expected", expected.as_str()), found)),
        Parse(errors) => errors
            .into_iter()
            .next()
            .map(|(expected, found)| (format!("{} expected", expected.as_str()), found)),
    });
    fault.unwrap_or_else(|| ("not understood".to_owned(), filter))
}

/// Returns what is wrong with a filter, the part that is wrong, and the number of its arguments if
/// it is a function that does not exist.
fn not_compiled<'a>(
    errors: compile::Errors<&'a str, ()>,
    filter: &'a str,
) -> (String, &'a str, Option<usize>) {
    use compile::Undefined::Filter;
    let mut faults = errors.into_iter().flat_map(|(_, errors)| errors);
    let Some((name, undefined)) = faults.next() else {
        return ("not understood".to_owned(), filter, None);
    };
    let (message, arity) = match (name, undefined) {
        ("$ENV", _) => (
            "$ENV is not available: a filter sees the stored output and nothing else".to_owned(),
            None,
        ),
        (name, Filter(0)) => (format!("there is no {name}"), Some(0)),
        (name, Filter(1)) => (format!("there is no {name} with 1 argument"), Some(1)),
        (name, Filter(arity)) => (
            format!("there is no {name} with {arity} arguments"),
            Some(arity),
        ),
        (name, other) => (format!("there is no {} {name}", other.as_str()), None),
    };
    (message, name, arity)
}

/// Returns the message of an error. A string is returned without its quotes.
fn message(error: Error<Val>) -> String {
    let shown = truncated(&error);
    // Only an error that is a string begins with a quote.
    if shown.starts_with('"')
        && let Val::TStr(text) = error.into_val()
    {
        return truncated(&String::from_utf8_lossy(&text));
    }
    shown
}

/// Returns a message of at most [`LONGEST_MESSAGE`] characters.
pub(crate) fn truncated(message: &dyn fmt::Display) -> String {
    let mut cut = TruncatedText(String::new(), LONGEST_MESSAGE);
    // The write fails when the maximum length is reached, as intended.
    if write!(cut, "{message}").is_err() {
        cut.0.push('…');
    }
    cut.0
}

/// A text that accepts the given number of characters. Further writes fail.
struct TruncatedText(String, usize);

impl Write for TruncatedText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for char in text.chars() {
            self.1 = self.1.checked_sub(1).ok_or(fmt::Error)?;
            self.0.push(char);
        }
        Ok(())
    }
}
