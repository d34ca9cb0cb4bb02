//! Lists of several servers as one, and whose each thing is.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use spillgate_wire::{LinkError, Splice, messages, object, span_in};

use bytes::Bytes;

use super::Question;
use crate::error::nobody_answered;
use crate::resources::Era;
use crate::session::Session;
use crate::upstream::Upstream;

/// Pages of one list that are followed at most: a server whose cursors go round
/// in a circle shall not keep a client waiting for ever.
const MOST_PAGES: usize = 1000;

/// What is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Tools,
    Prompts,
    Resources,
    Templates,
    Tasks,
}

impl Kind {
    pub(super) fn of_list(method: &str) -> Option<Self> {
        Some(match method {
            "tools/list" => Self::Tools,
            "prompts/list" => Self::Prompts,
            "resources/list" => Self::Resources,
            "resources/templates/list" => Self::Templates,
            "tasks/list" => Self::Tasks,
            _ => return None,
        })
    }

    fn list(self) -> (&'static str, &'static str) {
        match self {
            Self::Tools => ("tools/list", "tools"),
            Self::Prompts => ("prompts/list", "prompts"),
            Self::Resources => ("resources/list", "resources"),
            Self::Templates => ("resources/templates/list", "resourceTemplates"),
            Self::Tasks => ("tasks/list", "tasks"),
        }
    }

    /// The member by which it is asked for.
    fn name(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
            Self::Tasks => "taskId",
        }
    }

    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Tools => "the tool",
            Self::Prompts => "the prompt",
            Self::Resources | Self::Templates => "the resource",
            Self::Tasks => "the task",
        }
    }

    /// Whether a name has to be of one server only. Resources are named by the
    /// world, tasks by chance.
    fn is_renamed(self) -> bool {
        matches!(self, Self::Tools | Self::Prompts)
    }
}

/// One thing of a list.
struct Entry {
    server: String,
    /// As the server has it, verbatim.
    json: String,
    name: String,
}

/// All pages of a server's list, and what else its first page says.
async fn pages(
    session: &Arc<Session>,
    upstream: &Arc<Upstream>,
    kind: Kind,
    question: &Question,
) -> Result<(Vec<Entry>, Map<String, Value>), LinkError> {
    let (method, member) = kind.list();
    let mut params: Map<String, Value> = serde_json::from_str(&question.params).unwrap_or_default();
    params.remove("cursor");
    let (mut entries, mut first) = (Vec::new(), None);
    for _ in 0..MOST_PAGES {
        let asked = Value::from(params.clone()).to_string();
        let frame = session.ask(upstream, method, &asked).await?;
        let answers = messages(&frame);
        // A server without such things answers with an error.
        let Some(result) = answers.first().and_then(|answer| answer.result) else {
            break;
        };
        let mut page: BTreeMap<String, &RawValue> =
            serde_json::from_str(result.get()).unwrap_or_default();
        let listed = page.remove(member).map_or("[]", RawValue::get);
        let listed: Vec<&RawValue> = serde_json::from_str(listed).unwrap_or_default();
        entries.extend(
            listed
                .into_iter()
                .filter_map(|raw| entry(session, upstream, kind, raw)),
        );
        let cursor = page
            .remove("nextCursor")
            .and_then(|raw| serde_json::from_str(raw.get()).ok());
        first.get_or_insert_with(|| {
            let rest = page.iter().map(|(name, raw)| {
                (
                    name.clone(),
                    serde_json::from_str(raw.get()).unwrap_or_default(),
                )
            });
            rest.collect()
        });
        match cursor {
            Some(cursor @ Value::String(_)) => drop(params.insert("cursor".to_owned(), cursor)),
            _ => break,
        }
    }
    Ok((entries, first.unwrap_or_default()))
}

fn entry(session: &Session, upstream: &Upstream, kind: Kind, raw: &RawValue) -> Option<Entry> {
    let members: BTreeMap<String, &RawValue> = object(raw)?;
    let name: String = serde_json::from_str(members.get(kind.name())?.get()).ok()?;
    if kind == Kind::Tools && !upstream.server.tools.admits(&name) {
        return None;
    }
    Some(Entry {
        server: upstream.name().to_owned(),
        json: match kind {
            Kind::Tools => {
                let gateway = session.hub().gateway();
                let rewriting = session.rewriting(&gateway, upstream);
                let noted = rewriting.noted(raw.get().as_bytes(), &name, raw);
                String::from_utf8_lossy(&noted.apply(raw.get().as_bytes())).into_owned()
            }
            _ => raw.get().to_owned(),
        },
        name,
    })
}

/// All that is listed, in the servers' order, each under the name by which the
/// client can ask for it; and what the first server says of the list besides.
async fn listed(
    session: &Arc<Session>,
    kind: Kind,
    question: &Question,
) -> Result<(Vec<String>, Map<String, Value>), String> {
    let all = session.roster.all();
    let asked = all
        .iter()
        .map(|upstream| pages(session, upstream, kind, question));
    let answers = futures_util::future::join_all(asked).await;
    let (mut entries, mut said, mut silent) = (Vec::new(), None, Vec::new());
    let mut left_out = Vec::new();
    for (upstream, answer) in all.iter().zip(answers) {
        match answer {
            Ok((of_server, rest)) => {
                entries.extend(of_server);
                match &mut said {
                    None if rest.is_empty() => {}
                    None => said = Some(rest),
                    Some(said) => join(said, &rest),
                }
            }
            Err(error) => {
                tracing::warn!(server = upstream.name(), %error, "left out of a list");
                silent.push(format!("`{}` {error}", upstream.name()));
                left_out.push(upstream.name());
            }
        }
    }
    if silent.len() == all.len() {
        return Err(silent.join("; "));
    }
    let names = names(kind, &entries);
    let shown = entries
        .iter()
        .zip(&names)
        .map(|(entry, shown)| renamed(entry, kind, shown));
    let shown = shown.collect();
    let owners = entries.into_iter().zip(names);
    let owners = owners.map(|(entry, shown)| (shown, (entry.server, entry.name)));
    session.hub().catalogue.learn(kind, owners, &left_out);
    Ok((shown, said.unwrap_or_default()))
}

/// What two servers say of how long their lists keep: the shorter, and private
/// where one of them says so.
fn join(said: &mut Map<String, Value>, other: &Map<String, Value>) {
    if let (Some(least), Some(ttl)) = (said.get_mut("ttlMs"), other.get("ttlMs"))
        && ttl.as_u64() < least.as_u64()
    {
        *least = ttl.clone();
    }
    if other
        .get("cacheScope")
        .is_some_and(|scope| scope == "private")
    {
        said.insert("cacheScope".to_owned(), "private".into());
    }
}

/// By which name the client knows each entry.
fn names(kind: Kind, entries: &[Entry]) -> Vec<String> {
    let mut owners: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for entry in entries {
        let servers = owners.entry(&entry.name).or_default();
        if !servers.contains(&&*entry.server) {
            servers.push(&entry.server);
        }
    }
    let mut taken: Vec<String> = Vec::new();
    for entry in entries {
        let clashes = kind.is_renamed() && owners[&*entry.name].len() > 1;
        let mut shown = match clashes {
            false => entry.name.clone(),
            true => prefixed(&entry.server, &entry.name),
        };
        while clashes && (taken.contains(&shown) || owners.contains_key(&*shown)) {
            shown.push('_');
        }
        taken.push(shown);
    }
    taken
}

/// Models' interfaces take letters, digits, `_` and `-`, 64 in all.
fn prefixed(server: &str, name: &str) -> String {
    const MOST: usize = 64;
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    let room = MOST.saturating_sub(name.chars().count() + 1).max(1);
    let server: String = server.chars().map(plain).take(room).collect();
    format!("{server}_{name}")
}

fn renamed(entry: &Entry, kind: Kind, shown: &str) -> String {
    if entry.name == shown {
        return entry.json.clone();
    }
    let members: BTreeMap<String, &RawValue> =
        serde_json::from_str(&entry.json).unwrap_or_default();
    let mut splice = Splice::default();
    if let Some(name) = members.get(kind.name()) {
        let span = span_in(entry.json.as_bytes(), name.get());
        splice.replace(span, Value::from(shown).to_string());
    }
    String::from_utf8_lossy(&splice.apply(entry.json.as_bytes())).into_owned()
}

/// The list of all servers, as an answer to the client's question.
pub(super) async fn gather(session: &Arc<Session>, kind: Kind, question: &Question) -> Vec<u8> {
    let (shown, mut said) = match listed(session, kind, question).await {
        Ok(listed) => listed,
        Err(silent) => return nobody_answered(&question.id, &question.method, &silent),
    };
    let params: Option<&RawValue> = serde_json::from_str(&question.params).ok();
    Era::of(params).fill_in(&mut said);
    let rest: String = said
        .iter()
        .map(|(name, value)| format!(",{}:{value}", Value::from(&**name)))
        .collect();
    let (_, member) = kind.list();
    let result = format!("{{\"{member}\":[{}]{rest}}}", shown.join(","));
    super::result_frame(&question.id, &result)
}

/// Asks for a list to learn whose each thing is.
pub(super) async fn learn(session: &Arc<Session>, kind: Kind, question: &Question) {
    // Of the parameters only what every request has.
    #[derive(Deserialize)]
    struct Meta<'a> {
        #[serde(borrow, default, rename = "_meta")]
        meta: Option<&'a RawValue>,
    }
    let params: &RawValue = serde_json::from_str(&question.params).unwrap_or(RawValue::NULL);
    let meta = object::<Meta<'_>>(params).and_then(|params| params.meta);
    let question = Question {
        params: meta.map_or_else(|| "{}".to_owned(), |meta| format!("{{\"_meta\":{meta}}}")),
        ..question.clone()
    };
    if let Err(silent) = listed(session, kind, &question).await {
        tracing::warn!(silent, "no server gave its list");
    }
}

/// The request with the name that its server has for the prompt in `ref`.
pub(super) async fn named_by_its_server(
    session: &Arc<Session>,
    question: &Question,
    frame: &Bytes,
) -> Bytes {
    #[derive(Deserialize)]
    struct About<'a> {
        #[serde(borrow, default, rename = "ref")]
        reference: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        name: &'a RawValue,
    }
    let named = || {
        let all = messages(frame);
        let about: About<'_> = object(all.first()?.params?)?;
        let named: Named<'_> = object(about.reference?)?;
        let shown: String = serde_json::from_str(named.name.get()).ok()?;
        Some((span_in(frame, named.name.get()), shown))
    };
    let Some((span, shown)) = named() else {
        return frame.clone();
    };
    let catalogue = &session.hub().catalogue;
    if !catalogue.knows(Kind::Prompts) {
        learn(session, Kind::Prompts, question).await;
    }
    match catalogue.find(Kind::Prompts, &shown) {
        Some((_, name)) if name != shown => {
            let mut splice = Splice::default();
            splice.replace(span, Value::from(name).to_string());
            splice.apply(frame).into()
        }
        _ => frame.clone(),
    }
}

/// The server that a request is about, as far as lists tell.
pub(super) async fn owner(session: &Arc<Session>, question: &Question) -> Option<String> {
    #[derive(Deserialize)]
    struct About {
        #[serde(default)]
        uri: Option<String>,
        #[serde(default, rename = "taskId")]
        task: Option<String>,
        #[serde(default, rename = "ref")]
        reference: Option<Box<Reference>>,
    }
    #[derive(Deserialize)]
    struct Reference {
        #[serde(default)]
        uri: Option<String>,
        #[serde(default)]
        name: Option<String>,
    }
    let about: About = serde_json::from_str(&question.params).ok()?;
    let catalogue = &session.hub().catalogue;
    let reference = about.reference;
    let (of_uri, of_name) = reference.map_or((None, None), |one| (one.uri, one.name));
    if of_name.is_some() && !catalogue.knows(Kind::Prompts) {
        learn(session, Kind::Prompts, question).await;
    }
    let prompt = of_name.and_then(|name| catalogue.find(Kind::Prompts, &name));
    let uri = about.uri.or(of_uri);
    if uri.is_some() && !catalogue.knows(Kind::Resources) {
        learn(session, Kind::Resources, question).await;
        learn(session, Kind::Templates, question).await;
    }
    let resource = uri.and_then(|uri| {
        let listed = catalogue.find(Kind::Resources, &uri);
        listed.or_else(|| catalogue.find_template(&uri))
    });
    let task = about
        .task
        .and_then(|task| catalogue.find(Kind::Tasks, &task));
    prompt.or(resource).or(task).map(|(server, _)| server)
}
