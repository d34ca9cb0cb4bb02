//! A test server that answers each path with fixed bytes, which need not be valid HTTP.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The answer to a path.
#[derive(Clone)]
pub(crate) enum Answer {
    /// Sends these bytes, then closes the connection.
    Bytes(Vec<u8>),
    /// Sends these bytes, then one byte from time to time, forever.
    Drip(Vec<u8>),
    /// Sends these bytes, then this number of copies of one byte.
    Flood(Vec<u8>, usize),
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// The number of connections.
    pub(crate) asked: Arc<AtomicUsize>,
    /// The heads of the requests.
    pub(crate) heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts the server. `SERVER` in an answer is replaced by the server's address.
    pub(crate) async fn start(answers: Vec<(&'static str, Answer)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = Self {
            address,
            asked: Arc::default(),
            heads: Arc::default(),
        };
        let (asked, heads) = (Arc::clone(&server.asked), Arc::clone(&server.heads));
        let answers: BTreeMap<_, _> = answers.into_iter().collect();
        let answers = Arc::new(answers);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                asked.fetch_add(1, Ordering::Relaxed);
                let (answers, heads) = (Arc::clone(&answers), Arc::clone(&heads));
                tokio::spawn(async move {
                    // It is not an error of the server if a client disconnects.
                    drop(answered(stream, address, &answers, &heads).await);
                });
            }
        });
        server
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

async fn answered(
    mut stream: TcpStream,
    address: SocketAddr,
    answers: &BTreeMap<&str, Answer>,
    heads: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    heads.lock().unwrap().push(head);
    let missing = Answer::Bytes(response("HTTP/1.1 404 Not Found", "", b"nothing here"));
    match answers.get(path.as_str()).unwrap_or(&missing) {
        Answer::Bytes(bytes) => stream.write_all(&placed(bytes, address)).await?,
        Answer::Drip(bytes) => {
            stream.write_all(bytes).await?;
            loop {
                tokio::time::sleep(Duration::from_millis(20)).await;
                stream.write_all(b"x").await?;
            }
        }
        Answer::Flood(bytes, more) => {
            stream.write_all(bytes).await?;
            let block = vec![b'x'; 1 << 16];
            for _ in 0..more / block.len() {
                stream.write_all(&block).await?;
            }
        }
    }
    stream.shutdown().await
}

/// Replaces `SERVER` with the address, if the bytes are text.
fn placed(bytes: &[u8], address: SocketAddr) -> Vec<u8> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.replace("SERVER", &address.to_string()).into_bytes(),
        Err(_) => bytes.to_vec(),
    }
}

/// A complete response; each of `headers` includes its line end.
pub(crate) fn response(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "{status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// A `200 OK` response.
pub(crate) fn ok(headers: &str, body: &[u8]) -> Answer {
    Answer::Bytes(response("HTTP/1.1 200 OK", headers, body))
}

/// A redirect.
pub(crate) fn to(place: &str) -> Answer {
    let location = format!("location: {place}\r\n");
    Answer::Bytes(response("HTTP/1.1 302 Found", &location, b""))
}

/// Returns a response head without a length, so that the body ends with the connection.
pub(crate) fn head(headers: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\n{headers}connection: close\r\n\r\n").into_bytes()
}
