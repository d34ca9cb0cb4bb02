//! Tests of requests without sessions (2026-07-28).

use spillgate_transport::{Connection, HttpOptions, Message};

use crate::server::{Log, answering, json, message, open, send, serve};

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;

const TOOLS: &str = r#"{"id":1,"result":{"tools":[{"name":"t","inputSchema":{"type":"object",
    "properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}}"#;

#[tokio::test]
async fn headers_say_what_the_body_says() {
    let log = Log::default();
    let url = serve(answering(&log, |_, request| {
        let body = String::from_utf8_lossy(request.body());
        let mut response = match body.contains("tools/list") {
            true => json(TOOLS),
            false => json(r#"{"id":1,"result":{}}"#),
        };
        // In this version, a session id has no meaning.
        let headers = response.headers_mut();
        headers.insert("mcp-session-id", "s".parse().unwrap());
        response
    }))
    .await;
    let (link, mut server_events) = open(&url, HttpOptions::default());
    let list = format!(r#"{{"id":1,"method":"tools/list","params":{{{META}}}}}"#);
    let call = format!(
        r#"{{"id":1,"method":"tools/call","params":{{"name":"t","arguments":{{"region":"Köln"}},{META}}}}}"#
    );
    for frame in [&list, &call] {
        send(&link, frame).await;
        server_events.next().await;
    }
    let theirs = Message {
        headers: vec![
            ("mcp-param-region".to_owned(), "a lie".to_owned()),
            ("mcp-param-other".to_owned(), "a lie".to_owned()),
            ("traceparent".to_owned(), "00-a-b-01".to_owned()),
        ],
        ..message(&call)
    };
    link.send(theirs).await.unwrap();
    server_events.next().await;
    send(&link, r#"{"method":"notifications/x"}"#).await;
    link.close(false).await;
    insta::assert_snapshot!(log.all(), @r#"
    POST /mcp mcp-protocol-version=2026-07-28 mcp-method=tools/list x-key=hush {"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
    POST /mcp mcp-protocol-version=2026-07-28 mcp-method=tools/call mcp-name=t mcp-param-region==?base64?S8O2bG4=?= x-key=hush {"id":1,"method":"tools/call","params":{"name":"t","arguments":{"region":"Köln"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
    POST /mcp mcp-protocol-version=2026-07-28 mcp-method=tools/call mcp-name=t mcp-param-region==?base64?S8O2bG4=?= x-key=hush {"id":1,"method":"tools/call","params":{"name":"t","arguments":{"region":"Köln"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
    POST /mcp mcp-protocol-version=2026-07-28 mcp-method=notifications/x x-key=hush {"method":"notifications/x"}
    "#);
}
