//! Merges the lists of several servers, and records which server owns each entry.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use spillgate_mcp::{ByteEdits, Generation, ObjectView, frame, messages, object, span_in};

use bytes::Bytes;

use super::{Question, fetch, links, names};
use crate::session::Session;
use crate::upstream::Upstream;

/// The kind of a list's entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Tools,
    Prompts,
    Resources,
    Templates,
    /// Pages of MCP Apps to which tools refer, whether or not a server lists them.
    Pages,
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

    /// Returns the method that requests the list, and the member of the result that contains it.
    pub(super) fn list(self) -> (&'static str, &'static str) {
        match self {
            // The pages of MCP Apps are found in the list of tools.
            Self::Tools | Self::Pages => ("tools/list", "tools"),
            Self::Prompts => ("prompts/list", "prompts"),
            Self::Resources => ("resources/list", "resources"),
            Self::Templates => ("resources/templates/list", "resourceTemplates"),
            Self::Tasks => ("tasks/list", "tasks"),
        }
    }

    /// Returns the member that identifies an entry.
    fn name(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources | Self::Pages => "uri",
            Self::Templates => "uriTemplate",
            Self::Tasks => "taskId",
        }
    }

    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Tools => "tool",
            Self::Prompts => "prompt",
            Self::Resources | Self::Templates | Self::Pages => "resource",
            Self::Tasks => "task",
        }
    }

    /// Returns the notification for a change of this list, if there is one.
    pub(super) fn changed(self) -> Option<&'static str> {
        Some(match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources | Self::Templates => "notifications/resources/list_changed",
            Self::Pages | Self::Tasks => return None,
        })
    }
}

/// One entry of a list.
struct Entry {
    server: String,
    /// The entry as JSON, exactly as the server sent it except for our annotations.
    json: String,
    name: String,
}

fn entry(session: &Session, upstream: &Upstream, kind: Kind, json: &str) -> Option<Entry> {
    let raw: &RawValue = serde_json::from_str(json).ok()?;
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

/// Returns all entries in the order of the servers, each under the client's name for it, and the
/// other members of the first server's list. A server without a list is omitted; the client has
/// been informed about it.
async fn listed(
    session: &Arc<Session>,
    kind: Kind,
    question: &Question,
) -> (Vec<String>, Map<String, Value>) {
    let asker = session.asker();
    let all = asker.upstreams.all();
    let asked = all
        .iter()
        .map(|upstream| fetch::list(&asker, upstream, kind, &question.params));
    let answers = futures_util::future::join_all(asked).await;
    let (mut entries, mut said) = (Vec::new(), None);
    for (upstream, answer) in all.iter().zip(answers) {
        let Ok(list) = answer else { continue };
        // The session of the client looks for schemas in its own upstream, so record them there.
        let own = session.upstreams.named(upstream.name());
        let own = own.as_ref().unwrap_or(upstream);
        let of_server = list.entries.iter();
        entries.extend(of_server.filter_map(|json| entry(session, own, kind, json)));
        match &mut said {
            None if list.rest.is_empty() => {}
            None => said = Some(list.rest.clone()),
            Some(said) => join(said, &list.rest),
        }
    }
    let owned: Vec<(&str, &str)> = entries
        .iter()
        .map(|entry| (&*entry.server, &*entry.name))
        .collect();
    let names = match kind {
        Kind::Tools | Kind::Prompts => names::names(session.hub().gateway().several.prefix, &owned),
        Kind::Resources | Kind::Templates | Kind::Pages => links::names(&owned),
        // Task ids are random, so they do not collide.
        Kind::Tasks => owned.iter().map(|(_, name)| (*name).to_owned()).collect(),
    };
    let shown = entries.iter().zip(&names);
    let shown = shown.map(|(entry, shown)| renamed(entry, kind, shown));
    let mut shown: Vec<String> = shown.collect();
    if kind == Kind::Tools {
        shown = links::name_pages(session, &owned, shown, question).await;
    }
    let owners = entries.into_iter().zip(names);
    let owners = owners.map(|(entry, shown)| (shown, (entry.server, entry.name)));
    session.hub().catalogue.learn(kind, owners);
    (shown, said.unwrap_or_default())
}

/// Combines what two servers say about caching their lists: the shorter lifetime, and `private` if
/// one of the lists is private.
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

fn renamed(entry: &Entry, kind: Kind, shown: &str) -> String {
    if entry.name == shown {
        return entry.json.clone();
    }
    let members: BTreeMap<String, &RawValue> =
        serde_json::from_str(&entry.json).unwrap_or_default();
    let mut splice = ByteEdits::default();
    if let Some(name) = members.get(kind.name()) {
        let span = span_in(entry.json.as_bytes(), name.get());
        splice.replace(span, Value::from(shown).to_string());
    }
    String::from_utf8_lossy(&splice.apply(entry.json.as_bytes())).into_owned()
}

/// Returns the tools of all servers, each with its server and under the client's name for it.
/// `params` are those of a request for a list. The error says why the list of the only server could
/// not be fetched; servers that do not answer are left out if there are several.
pub(crate) async fn all_tools(
    session: &Arc<Session>,
    params: &str,
) -> Result<Vec<(String, String)>, String> {
    let kind = Kind::Tools;
    if let Some(only) = session.only() {
        let list = fetch::pages(session, &only, kind, params).await;
        let list = list.map_err(|error| super::why(&error))?;
        let of_server = list.entries.iter();
        let entries = of_server.filter_map(|json| entry(session, &only, kind, json));
        return Ok(entries.map(|entry| (entry.server, entry.json)).collect());
    }
    let (shown, _) = listed(session, kind, &Question::of_ours(params)).await;
    let catalogue = &session.hub().catalogue;
    let with_server = |json: String| {
        let raw: &RawValue = serde_json::from_str(&json).ok()?;
        let name = ObjectView::of(raw)?.text("name")?;
        let (server, _) = catalogue.find(kind, &name)?;
        Some((server, json))
    };
    Ok(shown.into_iter().filter_map(with_server).collect())
}

/// Returns the merged list of all servers as the response to the client's request.
pub(super) async fn gather(session: &Arc<Session>, kind: Kind, question: &Question) -> Vec<u8> {
    let (shown, mut said) = listed(session, kind, question).await;
    let params: Option<&RawValue> = serde_json::from_str(&question.params).ok();
    Generation::of(params).fill_in(&mut said);
    let rest: String = said
        .iter()
        .map(|(name, value)| format!(",{}:{value}", Value::from(&**name)))
        .collect();
    let (_, member) = kind.list();
    let result = format!("{{\"{member}\":[{}]{rest}}}", shown.join(","));
    frame::line(frame::response(&question.id, &result))
}

/// Fetches a list to find out which server owns each entry.
pub(super) async fn learn(session: &Arc<Session>, kind: Kind, question: &Question) {
    // Only `_meta` is kept, because every request needs it.
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
    listed(session, kind, &question).await;
}

/// Replaces the prompt's name in `ref` by the server's own name for it.
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
            let mut splice = ByteEdits::default();
            splice.replace(span, Value::from(name).to_string());
            splice.apply(frame).into()
        }
        _ => frame.clone(),
    }
}

/// Returns the server that a request is meant for, if a list shows it. For a request about a
/// resource, also returns the client's URI and the server's own URI.
pub(super) async fn owner(
    session: &Arc<Session>,
    question: &Question,
) -> Option<(String, Option<(String, String)>)> {
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
        let (server, own) = links::meant(session, &uri)?;
        Some((server, Some((uri, own))))
    });
    let task = about
        .task
        .and_then(|task| catalogue.find(Kind::Tasks, &task));
    let alone = |(server, _)| (server, None);
    prompt.map(alone).or(resource).or(task.map(alone))
}
