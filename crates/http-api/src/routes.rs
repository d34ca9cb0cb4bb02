//! The operations of the API, in one table: the routes and the OpenAPI document are made from it.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{Response, Uri};
use axum::response::IntoResponse;
use axum::routing::{MethodFilter, MethodRouter};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use crate::answer::Text;
use crate::artifacts::{self, ListAnswer, ListParameters};
use crate::call::Call;
use crate::compress::{self, CompressAnswer, CompressBody};
use crate::lookups::{
    self, GrepParameters, OutlineAnswer, OutlineParameters, QueryParameters, ReadParameters,
    SearchParameters,
};
use crate::offload::{self, OffloadBody, OffloadParameters, Offloaded};
use crate::parameters::NoParameters;
use crate::problem::Problem;
use crate::retrieve::{self, RetrieveAnswer, RetrieveParameters};
use crate::{Api, openapi, raw};

/// Makes the schema of a type.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

type Answer = BoxFuture<'static, Result<Response<Body>, Problem>>;

/// The method of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    Post,
    Delete,
}

impl Verb {
    /// Returns the name, in lower case.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Delete => "delete",
        }
    }

    fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Delete => MethodFilter::DELETE,
        }
    }
}

/// One operation of the API.
pub(crate) struct Operation {
    pub(crate) verb: Verb,
    /// The path below [`crate::PREFIX`].
    pub(crate) path: &'static str,
    /// The name of the operation. That of a look-up is the name of its tool.
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) parameters: SchemaOf,
    pub(crate) body: Option<BodyKind>,
    /// The statuses of answers, with the answer's content.
    pub(crate) answers: &'static [(u16, Content)],
    answer: fn(Call) -> Answer,
}

/// The body of a request.
#[derive(Clone, Copy)]
pub(crate) enum BodyKind {
    /// JSON of a type.
    Json(SchemaOf),
    /// JSON of a type, or any bytes.
    JsonOrBytes(SchemaOf),
}

/// The content of an answer.
#[derive(Clone, Copy)]
pub(crate) enum Content {
    /// Nothing.
    Nothing,
    /// JSON of a type.
    Json(SchemaOf),
    /// JSON of a type, or its text alone.
    JsonOrText(SchemaOf),
    /// Bytes of any type.
    Bytes,
}

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Makes a handler of a function.
macro_rules! handler {
    ($function:path) => {
        |call| $function(call).boxed()
    };
}

const TEXT: &[(u16, Content)] = &[(200, Content::JsonOrText(schema::<Text>))];
const ANY: &[(u16, Content)] = &[(200, Content::Json(schema::<Value>))];

/// Returns all operations.
pub(crate) fn operations() -> Vec<Operation> {
    let mut all = of_the_store();
    all.extend(of_look_ups());
    all.extend(of_guardrails());
    all.push(get(
        "/openapi.json",
        "openapi",
        "Get this document",
        schema::<NoParameters>,
        ANY,
        handler!(openapi::serve),
    ));
    all
}

fn get(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    parameters: SchemaOf,
    answers: &'static [(u16, Content)],
    answer: fn(Call) -> Answer,
) -> Operation {
    Operation {
        verb: Verb::Get,
        path,
        id,
        summary,
        parameters,
        body: None,
        answers,
        answer,
    }
}

fn of_the_store() -> Vec<Operation> {
    vec![
        Operation {
            verb: Verb::Post,
            body: Some(BodyKind::JsonOrBytes(schema::<OffloadBody>)),
            ..get(
                "/offload",
                "offload",
                "Store a result if it is too large, and get what to show of it",
                schema::<OffloadParameters>,
                &[
                    (200, Content::Json(schema::<Offloaded>)),
                    (201, Content::Json(schema::<Offloaded>)),
                ],
                handler!(offload::offload),
            )
        },
        get(
            "/artifacts",
            "list",
            "List the stored results, newest first",
            schema::<ListParameters>,
            &[(200, Content::Json(schema::<ListAnswer>))],
            handler!(artifacts::list),
        ),
        get(
            "/artifacts/{handle}",
            "manifest",
            "Get the manifest of a stored result",
            schema::<NoParameters>,
            ANY,
            handler!(artifacts::manifest),
        ),
        Operation {
            verb: Verb::Delete,
            ..get(
                "/artifacts/{handle}",
                "remove",
                "Remove a stored result",
                schema::<NoParameters>,
                &[(204, Content::Nothing)],
                handler!(artifacts::remove),
            )
        },
        get(
            "/artifacts/{handle}/raw",
            "raw",
            "Get the bytes of a stored result, whole or a range of them",
            schema::<NoParameters>,
            &[
                (200, Content::Bytes),
                (206, Content::Bytes),
                (304, Content::Nothing),
            ],
            handler!(raw::raw),
        ),
    ]
}

fn of_look_ups() -> Vec<Operation> {
    vec![
        get(
            "/artifacts/{handle}/read",
            "spillgate_read",
            "Read lines or bytes of a stored result",
            schema::<ReadParameters>,
            TEXT,
            handler!(lookups::read),
        ),
        get(
            "/artifacts/{handle}/grep",
            "spillgate_grep",
            "Find the lines of a stored result that match a regular expression",
            schema::<GrepParameters>,
            TEXT,
            handler!(lookups::grep),
        ),
        get(
            "/artifacts/{handle}/query",
            "spillgate_query",
            "Run a jq filter over a stored result",
            schema::<QueryParameters>,
            TEXT,
            handler!(lookups::query),
        ),
        get(
            "/artifacts/{handle}/search",
            "spillgate_search",
            "Find the passages of a stored result that are relevant to some words",
            schema::<SearchParameters>,
            TEXT,
            handler!(lookups::search),
        ),
        get(
            "/artifacts/{handle}/outline",
            "outline",
            "Get the shape of a stored result in a few lines",
            schema::<OutlineParameters>,
            &[(200, Content::Json(schema::<OutlineAnswer>))],
            handler!(lookups::outline),
        ),
    ]
}

fn of_guardrails() -> Vec<Operation> {
    vec![
        Operation {
            verb: Verb::Post,
            body: Some(BodyKind::Json(schema::<CompressBody>)),
            ..get(
                "/compress",
                "compress",
                "Replace oversized results of tools in the messages of a conversation",
                schema::<NoParameters>,
                &[(200, Content::Json(schema::<CompressAnswer>))],
                handler!(compress::compress),
            )
        },
        get(
            "/retrieve/{hash}",
            "retrieve",
            "Read a part of a result that was replaced in a conversation",
            schema::<RetrieveParameters>,
            &[(200, Content::Json(schema::<RetrieveAnswer>))],
            handler!(retrieve::retrieve),
        ),
    ]
}

impl Api {
    /// Returns the routes of the API, without [`crate::PREFIX`]. Each request must have its
    /// [`crate::Caller`] in its extensions.
    pub fn router(self: Arc<Self>) -> Router {
        let mut paths: BTreeMap<&str, (MethodRouter, Vec<String>)> = BTreeMap::new();
        for operation in operations() {
            let (api, answer) = (Arc::clone(&self), operation.answer);
            let handler = move |request: Request| answered(Arc::clone(&api), answer, request);
            let (router, methods) = paths.entry(operation.path).or_default();
            *router = std::mem::take(router).on(operation.verb.filter(), handler);
            methods.push(operation.verb.name().to_ascii_uppercase());
        }
        let mut routes = Router::new();
        for (path, (router, methods)) in paths {
            let allowed = methods.join(", ");
            let refuse = move || async move { Problem::method(&allowed) };
            routes = routes.route(path, router.fallback(refuse));
        }
        routes.fallback(|uri: Uri| async move { Problem::no_route(uri.path()) })
    }
}

async fn answered(
    api: Arc<Api>,
    answer: fn(Call) -> Answer,
    request: Request,
) -> axum::response::Response {
    let answered: Result<Response<Body>, Problem> = async {
        let call = Call::of(api, request).await?;
        answer(call).await
    }
    .await;
    answered.unwrap_or_else(IntoResponse::into_response)
}
