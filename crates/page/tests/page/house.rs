//! A page with a store in a temporary directory, and a browser that keeps its cookie.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::header::{CONTENT_TYPE, COOKIE, HOST, ORIGIN, SET_COOKIE};
use axum::http::{HeaderMap, Request, Response, StatusCode};
use serde_json::{Value, json};
use spillgate_artifact::{Clock, TokenBudget};
use spillgate_http_api::{Api, ApiLimits, Caller};
use spillgate_offload::{FileLedger, Ledger, NoLedger, Offloader, Policy, Rule};
use spillgate_page::{Door, GatewayWatch, Page, PageParts};
use spillgate_query::{Child, Engine};
use spillgate_retrieval::{RetrievalTools, audience};
use spillgate_store::{FileStore, Lifetime};
use spillgate_testkit::StoppedClock;
use spillgate_text::Tokenizer;
use tempfile::TempDir;
use tower::ServiceExt;

/// The store, the page, and a way to store results.
pub(crate) struct House {
    pub(crate) base: TempDir,
    pub(crate) page: Arc<Page>,
    pub(crate) ledger: Arc<FileLedger>,
    pub(crate) store: Arc<FileStore>,
    router: Router,
    api: Router,
    cookie: Option<String>,
}

/// An answer: its status, its head and its body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}", self.text()))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("-", |value| value.to_str().unwrap())
    }
}

/// Who may look at the page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rights {
    pub(crate) is_owner: bool,
    pub(crate) has_tokens: bool,
}

impl Rights {
    pub(crate) const OWNER: Self = Self {
        is_owner: true,
        has_tokens: false,
    };
}

fn offloader(store: &Arc<FileStore>, ledger: Arc<dyn Ledger>) -> Offloader {
    Offloader::new(
        Arc::clone(store) as _,
        Policy::new(Rule::default(), BTreeMap::new(), []).unwrap(),
        Tokenizer::Heuristic.counter(),
        audience::usual_tools(),
        Arc::new(StoppedClock::default()) as Arc<dyn Clock>,
        ledger,
    )
}

fn api(offloader: Offloader, store: &FileStore) -> Api {
    let tools = RetrievalTools {
        offloader,
        page: TokenBudget::new(2500),
        engine: Engine::new(Child {
            program: "/nowhere/spillgate".into(),
            arguments: Vec::new(),
        }),
        extractor: None,
        session: None,
    };
    let limits = ApiLimits {
        body_bytes: 8 << 20,
        upload_bytes: None,
        part_time: Duration::from_secs(5),
        upload_time: Duration::from_secs(60),
        uploads: 8,
    };
    Api::new(tools, store.names().unwrap(), limits, 4)
}

impl House {
    /// Returns a page for its owner, who has come in by the link.
    pub(crate) async fn new() -> Self {
        let house = Self::with(Rights::OWNER);
        house.let_in().await
    }

    /// Opens the link.
    pub(crate) async fn let_in(mut self) -> Self {
        let house = &mut self;
        let link = house.page.link().unwrap();
        let answer = house.get(link.strip_prefix("/ui").unwrap()).await;
        house.keep_cookie(&answer);
        self
    }

    /// Returns a page to which nobody has come yet.
    pub(crate) fn with(rights: Rights) -> Self {
        Self::of_gateway(rights, None)
    }

    /// Returns the page of a gateway, to which nobody has come yet.
    pub(crate) fn of_gateway(rights: Rights, gateway: Option<Arc<dyn GatewayWatch>>) -> Self {
        let base = tempfile::tempdir().unwrap();
        let clock = Arc::new(StoppedClock::default());
        let store = FileStore::new(base.path(), Lifetime::Durable, clock);
        let store = Arc::new(store);
        let ledger = Arc::new(FileLedger::new(base.path().join("ledger.ndjson")));
        let recorded = offloader(&store, Arc::clone(&ledger) as _);
        let unrecorded = offloader(&store, Arc::new(NoLedger));
        let page = Page::new(PageParts {
            api: api(unrecorded.clone(), &store),
            shell: unrecorded.for_audience(audience::command_line("")),
            store: Arc::clone(&store) as _,
            place: store.base().display().to_string(),
            ledger: Arc::clone(&ledger),
            prices: vec![("maker/model".to_owned(), 2.5)],
            traces: Some(base.path().join("traces")),
            gateway,
            is_owner: rights.is_owner,
            door: Arc::new(Door::new(
                Arc::new(StoppedClock::default()),
                rights.has_tokens,
            )),
            version: "1.2.3",
        });
        let api = Arc::new(api(recorded, &store)).router();
        let api = Router::new().nest_service("/v1", api);
        Self {
            base,
            store,
            router: page.router(),
            page,
            ledger,
            api,
            cookie: None,
        }
    }

    /// Stores a result of a tool, and returns its handle.
    pub(crate) async fn store(&self, tool: &str, text: &str) -> String {
        self.store_of(json!({ "tool": tool, "content": text }))
            .await
    }

    /// Stores a result as the HTTP API takes it, and returns its handle.
    pub(crate) async fn store_of(&self, body: Value) -> String {
        let request = Request::post("/v1/offload")
            .header(CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_string()));
        let mut request = request.unwrap();
        request.extensions_mut().insert(Caller("test".to_owned()));
        let answer = answered(&self.api, request).await;
        let stored = answer.json()["handle"].as_str().map(str::to_owned);
        stored.unwrap_or_else(|| panic!("not stored: {}", answer.text()))
    }

    /// Stores raw bytes, and returns their handle.
    pub(crate) async fn store_bytes(&self, tool: &str, bytes: &[u8]) -> String {
        let request =
            Request::post(format!("/v1/offload?tool={tool}")).body(Body::from(bytes.to_vec()));
        let mut request = request.unwrap();
        request.extensions_mut().insert(Caller("test".to_owned()));
        let answer = answered(&self.api, request).await;
        answer.json()["handle"].as_str().unwrap().to_owned()
    }

    /// Looks something up as a model does.
    pub(crate) async fn look_up(&self, path: &str) -> Answer {
        let mut request = Request::get(path).body(Body::empty()).unwrap();
        request.extensions_mut().insert(Caller("test".to_owned()));
        let answer = answered(&self.api, request).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer
    }

    /// Asks as a browser that opens a page.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.get_with(path, &[("accept", "text/html")]).await
    }

    pub(crate) async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut request = Request::get(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::empty()).unwrap()).await
    }

    /// Asks with the token of a client, which the server has recognized.
    pub(crate) async fn get_as_client(&self, path: &str) -> Answer {
        let mut request = Request::get(path).body(Body::empty()).unwrap();
        request.extensions_mut().insert(Caller("test".to_owned()));
        self.send(request).await
    }

    /// Asks, and leaves the body of the answer unread.
    pub(crate) async fn begin(&self, path: &str) -> Response<Body> {
        let request = self.with_cookie(Request::get(path).body(Body::empty()).unwrap());
        self.router.clone().oneshot(request).await.unwrap()
    }

    /// Sends a form as one of our own pages does.
    pub(crate) async fn post(&self, path: &str, form: &str) -> Answer {
        let request = Request::post(path).header(ORIGIN, "http://localhost:8701");
        self.send(request.body(Body::from(form.to_owned())).unwrap())
            .await
    }

    /// Sends a request with the cookie.
    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        answered(&self.router, self.with_cookie(request)).await
    }

    fn with_cookie(&self, mut request: Request<Body>) -> Request<Body> {
        let headers = request.headers_mut();
        headers
            .entry(HOST)
            .or_insert("localhost:8701".parse().unwrap());
        if let Some(cookie) = &self.cookie {
            headers.insert(COOKIE, cookie.parse().unwrap());
        }
        request
    }

    pub(crate) fn keep_cookie(&mut self, answer: &Answer) {
        let cookie = answer.header(SET_COOKIE.as_str());
        self.cookie = cookie.split(';').next().map(str::to_owned);
    }
}

async fn answered(router: &Router, request: Request<Body>) -> Answer {
    let response = router.clone().oneshot(request).await.unwrap();
    let (head, body) = response.into_parts();
    Answer {
        status: head.status,
        headers: head.headers,
        body: to_bytes(body, usize::MAX).await.unwrap().to_vec(),
    }
}
