//! Tests that each of many concurrent clients gets its own responses.

use std::sync::Arc;

use serde_json::json;
use spillgate_http_server::HttpServerSettings;

use crate::running::{Running, call};

const CLIENTS: u64 = 64;
const REQUESTS: u64 = 12;

/// Returns a pseudo-random number without a random seed, so that failures are reproducible.
fn shuffled(a: u64, b: u64) -> u64 {
    (a.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ b.wrapping_mul(0xC2B2_AE3D_27D4_EB4F)) >> 40
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_answer_goes_to_another_client() {
    let settings = HttpServerSettings {
        max_sessions: Some(64),
        // The stateless requests of all clients come from one address, so they count as requests of
        // one client.
        max_requests_per_session: 1024,
        ..HttpServerSettings::default()
    };
    let front = Arc::new(Running::new(settings).await);
    let mut clients = Vec::new();
    for client in 0..CLIENTS {
        let front = Arc::clone(&front);
        clients.push(tokio::spawn(async move {
            let session = front.begin().await;
            let mut requests = Vec::new();
            for request in 0..REQUESTS {
                let text = format!("{client}/{request}");
                let wait = shuffled(client, request) % 3000;
                let arguments = json!({"text": text, "wait_us": wait});
                // All clients use the same ids.
                let post = match request % 3 {
                    0 => front.post_modern(&json!(request), "slow", &arguments),
                    1 => front.post_in(&session, &call(request, "noisy", &arguments)),
                    _ => front.post_in(&session, &call(request, "slow", &arguments)),
                };
                requests.push(tokio::spawn(async move {
                    let got = post.send().await.unwrap().text().await.unwrap();
                    let mine = format!("\"text\":\"{text}\"");
                    assert!(got.contains(&mine), "{mine} is not in {got}");
                    assert!(got.contains(&format!("\"id\":{request},")), "{got}");
                    assert_eq!(got.matches("\"result\"").count(), 1, "{got}");
                }));
            }
            for request in requests {
                request.await.unwrap();
            }
        }));
    }
    for client in clients {
        client.await.unwrap();
    }
}
