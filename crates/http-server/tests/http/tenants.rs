//! Tests of what each principal reaches: its own doors, by the name of its token or its subject.

use std::num::NonZeroU32;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::json;
use spillgate_artifact::Principal;
use spillgate_http_server::{DoorLimits, Doors, HttpServerSettings, Tenants, Token, Unopened};

use crate::running::{Running, initialize};

/// Tenants that note who came.
#[derive(Debug, Default)]
struct Noted {
    came: Mutex<Vec<String>>,
    doors: Mutex<Option<Arc<Doors>>>,
}

impl Tenants for Noted {
    fn doors<'a>(&'a self, of: &'a Principal) -> BoxFuture<'a, Result<Arc<Doors>, Unopened>> {
        self.came.lock().push(of.to_string());
        let doors = self.doors.lock().clone();
        std::future::ready(doors.ok_or(Unopened("no disk".to_owned()))).boxed()
    }
}

async fn running(tenants: &Arc<Noted>) -> Running {
    let auth = json!({"kind": "bearer", "token_env": ["TEAM"]});
    let settings = HttpServerSettings {
        auth: serde_json::from_value(auth).unwrap(),
        ..HttpServerSettings::default()
    };
    let tokens = Token::in_file("alice: first\nbob smith: second # his\nnameless\n").unwrap();
    Running::with(settings, |front| {
        front.tokens(&tokens).tenants(Arc::clone(tenants) as _)
    })
    .await
}

async fn status(front: &Running, token: &str) -> u16 {
    let post = front.post(&initialize());
    let post = post.header("authorization", format!("Bearer {token}"));
    post.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn each_principal_is_asked_for_by_its_name() {
    let tenants = Arc::<Noted>::default();
    let front = running(&tenants).await;
    for (token, expected) in [
        ("first", 503), // its store cannot be opened
        ("second", 503),
        ("nameless", 403),
        ("alice: first", 401),
        ("third", 401),
    ] {
        assert_eq!(status(&front, token).await, expected, "{token}");
    }
    assert_eq!(*tenants.came.lock(), ["alice", "bob smith"]);
}

#[tokio::test]
async fn requests_above_the_rate_are_refused() {
    let tenants = Arc::<Noted>::default();
    let limits = DoorLimits {
        requests_per_minute: NonZeroU32::new(2),
        ..DoorLimits::default()
    };
    let doors = Doors::new(None, None, limits);
    *tenants.doors.lock() = Some(Arc::new(doors));
    let doors = tenants.doors.lock().clone().unwrap();
    let front = running(&tenants).await;
    assert!(!doors.is_in_use());
    assert_eq!((doors.too_early(), doors.too_early()), (None, None));
    assert!(doors.too_early().is_some_and(|seconds| seconds <= 30));
    assert_eq!(status(&front, "first").await, 429);
}
