//! Compiles and runs jq filters.
//!
//! The engine is jaq, with its whole library except what reaches outside: the environment, the
//! clock, the time zone, files, and the end of the process.

use std::fmt::{self, Write};

use jaq_core::load::{self, Arena, File, Loader, span};
use jaq_core::native::{Fun, bome, run, v};
use jaq_core::{Compiler, Ctx, DataT, Error, Lut, Vars, compile, data, unwrap_valr};
use jaq_json::Val;
use jaq_std::input::{self, HasInputs, Inputs, RcIter};

use super::json::render;
use super::lazy::Stop;
use crate::protocol::Refusal;

/// Functions of jaq that reach outside.
const OUTSIDE: [&str; 4] = ["env", "now", "localtime", "strflocaltime"];

/// Most characters of a message, which may quote a whole document.
const LONGEST_MESSAGE: usize = 300;

/// The types that filters run with.
pub(crate) struct Kind;

impl DataT for Kind {
    type V<'a> = Val;
    type Data<'a> = &'a Data<'a>;
}

/// Data that a running filter can reach: its functions and the inputs that are still to come.
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

impl Jq {
    /// Compiles a filter. The refusal says what is wrong and where.
    pub(crate) fn compile(filter: &str) -> Result<Self, Refusal> {
        let own = load::parse(include_str!("defs.jq"), |parser| parser.defs())
            .expect("invariant: our own definitions are jq");
        let defs = jaq_core::defs()
            .chain(jaq_std::defs())
            .chain(jaq_json::defs())
            .chain(own);
        let arena = Arena::default();
        let file = File {
            code: filter,
            path: (),
        };
        let refusal = |(message, part): (String, &str)| Refusal::Filter {
            message,
            at: span(filter, part).start.min(filter.len()),
        };
        let modules = Loader::new(defs)
            .load(&arena, file)
            .map_err(|errors| refusal(not_parsed(errors, filter)))?;
        // The loader accepts imported data, because it is not a module.
        load::import(&modules, |_| Err(String::new()))
            .map_err(|errors| refusal(not_parsed(errors, filter)))?;
        let compiled = Compiler::default()
            .with_funs(funs())
            .compile(modules)
            .map_err(|errors| refusal(not_compiled(errors, filter)))?;
        Ok(Self(compiled))
    }

    /// Passes the results for `value` to `each` until it has enough or the filter fails. `inputs`
    /// feeds the functions `input` and `inputs`.
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

/// What is wrong with a filter, and the part that is wrong.
type Fault<'a> = (String, &'a str);

fn not_parsed<'a>(errors: load::Errors<&'a str, ()>, filter: &'a str) -> Fault<'a> {
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

fn not_compiled<'a>(errors: compile::Errors<&'a str, ()>, filter: &'a str) -> Fault<'a> {
    use compile::Undefined::Filter;
    let mut faults = errors.into_iter().flat_map(|(_, errors)| errors);
    let Some((name, undefined)) = faults.next() else {
        return ("not understood".to_owned(), filter);
    };
    let message = match (name, undefined) {
        ("$ENV", _) => {
            "$ENV is not available: a filter sees the stored output and nothing else".to_owned()
        }
        (name, Filter(0)) => format!("there is no {name}"),
        (name, Filter(arity)) => format!("there is no {name} with {arity} arguments"),
        (name, other) => format!("there is no {} {name}", other.as_str()),
    };
    (message, name)
}

/// Returns the message of an error; a string without its quotes.
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
    // The write fails when the limit is reached, which is intended.
    if write!(cut, "{message}").is_err() {
        cut.0.push('…');
    }
    cut.0
}

/// Accepts the given number of characters, then fails.
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
