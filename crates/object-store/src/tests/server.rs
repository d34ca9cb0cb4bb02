//! A small server that speaks the part of S3 that the store uses, and fails as it is told.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

/// A failure of the server or of the way to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It answers after this time.
    Slow(Duration),
    /// It takes the request and does not answer.
    Hang,
    /// The connection breaks before the request is carried out.
    CutBefore,
    /// The connection breaks after the request was carried out.
    CutAfter,
    /// It answers with a status and a code.
    Status(u16, &'static str),
    /// It ignores conditions, as s3rver does.
    NoConditions,
    /// It answers a request for a part with the whole object.
    WholeForPart,
    /// It answers a request for a part with another part.
    OtherPart,
    /// The answer ends before all of its bytes.
    Short,
}

/// A request.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: String,
    /// The name of the object, without the bucket.
    pub(super) key: String,
    pub(super) query: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

/// Decides which fault a request meets. The number counts the requests.
type Choose = dyn Fn(&Request, usize) -> Option<Fault> + Send + Sync;

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Vec<u8>>,
    uploads: BTreeMap<String, BTreeMap<u32, Vec<u8>>>,
    count: usize,
    choose: Option<Arc<Choose>>,
    /// The methods and names of all requests.
    seen: Vec<String>,
}

/// A server on this machine. Its threads end with the test.
#[derive(Clone)]
pub(super) struct Server {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Server {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            state: Arc::default(),
        };
        let its = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let its = its.clone();
                std::thread::spawn(move || its.serve(&stream));
            }
        });
        server
    }

    /// The environment of a client.
    pub(super) fn environment(&self) -> Vec<(String, String)> {
        [
            ("AWS_ENDPOINT_URL", format!("http://{}", self.address)),
            ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI-SECRET".to_owned()),
            ("AWS_SESSION_TOKEN", "TOKEN-SECRET".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }

    /// From now on, requests meet the faults that `choose` returns.
    pub(super) fn fails(
        &self,
        choose: impl Fn(&Request, usize) -> Option<Fault> + Send + Sync + 'static,
    ) {
        let mut state = self.state.lock();
        state.count = 0;
        state.choose = Some(Arc::new(choose));
    }

    pub(super) fn works(&self) {
        self.state.lock().choose = None;
    }

    pub(super) fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        self.state.lock().objects.clone()
    }

    /// Returns the requests since the last call.
    pub(super) fn seen(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().seen)
    }

    fn serve(&self, stream: &TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let Some(request) = Request::read(&mut reader) else {
            return;
        };
        let fault = {
            let mut state = self.state.lock();
            state.count += 1;
            state
                .seen
                .push(format!("{} {}", request.method, request.key));
            let count = state.count - 1;
            let choose = state.choose.clone();
            drop(state);
            choose.and_then(|choose| choose(&request, count))
        };
        match fault {
            Some(Fault::CutBefore) => return drop(stream.shutdown(Shutdown::Both)),
            Some(Fault::Hang) => return std::thread::sleep(Duration::from_secs(20)),
            Some(Fault::Slow(time)) => std::thread::sleep(time),
            _ => {}
        }
        let response = match fault {
            Some(Fault::Status(status, code)) => Response::error(status, code),
            fault => self.answer(&request, fault),
        };
        if fault == Some(Fault::CutAfter) {
            return drop(stream.shutdown(Shutdown::Both));
        }
        drop(response.write(stream, &request, fault));
    }

    fn answer(&self, request: &Request, fault: Option<Fault>) -> Response {
        let mut state = self.state.lock();
        let query = |name: &str| {
            let mut pairs = request.query.split('&');
            pairs.find_map(|pair| match pair.split_once('=') {
                Some((key, value)) if key == name => Some(value.to_owned()),
                None if pair == name => Some(String::new()),
                _ => None,
            })
        };
        let key = request.key.clone();
        match request.method.as_str() {
            "PUT" if query("uploadId").is_some() => {
                let number = query("partNumber").unwrap().parse().unwrap();
                let parts = state.uploads.get_mut(&query("uploadId").unwrap());
                let Some(parts) = parts else {
                    return Response::error(404, "NoSuchUpload");
                };
                parts.insert(number, request.body.clone());
                Response::ok(Vec::new()).header("ETag", &tag(&request.body))
            }
            "PUT" => {
                let found = state.objects.get(&key);
                let if_match = request.headers.get("if-match");
                let keeps = fault != Some(Fault::NoConditions);
                if keeps && request.headers.contains_key("if-none-match") && found.is_some() {
                    return Response::error(412, "PreconditionFailed");
                }
                if keeps && if_match.is_some() && if_match != found.map(|found| tag(found)).as_ref()
                {
                    return Response::error(412, "PreconditionFailed");
                }
                state.objects.insert(key, request.body.clone());
                Response::ok(Vec::new()).header("ETag", &tag(&request.body))
            }
            "POST" if query("uploads").is_some() => {
                let id = format!("upload{}", state.uploads.len());
                state.uploads.insert(id.clone(), BTreeMap::new());
                Response::xml(format!(
                    "<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
                ))
            }
            "POST" if query("uploadId").is_some() => {
                let Some(parts) = state.uploads.remove(&query("uploadId").unwrap()) else {
                    return Response::error(404, "NoSuchUpload");
                };
                let bytes: Vec<u8> = parts.into_values().flatten().collect();
                let tag = tag(&bytes);
                state.objects.insert(key, bytes);
                Response::xml(format!(
                    "<CompleteMultipartUploadResult><ETag>{tag}</ETag></CompleteMultipartUploadResult>"
                ))
            }
            "POST" => {
                let body = String::from_utf8_lossy(&request.body).into_owned();
                let keys = body.split("<Key>").skip(1);
                let mut deleted = String::new();
                for (key, _) in keys.filter_map(|rest| rest.split_once("</Key>")) {
                    state.objects.remove(key);
                    deleted.push_str(&format!("<Deleted><Key>{key}</Key></Deleted>"));
                }
                Response::xml(format!("<DeleteResult>{deleted}</DeleteResult>"))
            }
            "DELETE" => {
                state.uploads.remove(&query("uploadId").unwrap_or_default());
                state.objects.remove(&key);
                Response {
                    status: 204,
                    ..Response::ok(Vec::new())
                }
            }
            _ if query("list-type").is_some() => {
                listed(&state, &query("prefix").unwrap_or_default())
            }
            _ => got(&state, request, fault),
        }
    }
}

fn listed(state: &State, prefix: &str) -> Response {
    let prefix = prefix.replace("%2F", "/");
    let contents: String = state
        .objects
        .iter()
        .filter(|(key, _)| key.starts_with(&prefix))
        .map(|(key, bytes)| {
            format!(
                "<Contents><Key>{key}</Key><LastModified>2027-01-01T00:00:00.000Z</LastModified><ETag>{}</ETag><Size>{}</Size></Contents>",
                tag(bytes),
                bytes.len()
            )
        })
        .collect();
    Response::xml(format!(
        "<ListBucketResult><IsTruncated>false</IsTruncated>{contents}</ListBucketResult>"
    ))
}

fn got(state: &State, request: &Request, fault: Option<Fault>) -> Response {
    let Some(bytes) = state.objects.get(&request.key) else {
        return Response::error(404, "NoSuchKey");
    };
    let response = |bytes: Vec<u8>| {
        Response::ok(bytes).header("Last-Modified", "Fri, 01 Jan 2027 00:00:00 GMT")
    };
    let tag = tag(bytes);
    let range = request
        .headers
        .get("range")
        .filter(|_| fault != Some(Fault::WholeForPart));
    let Some(range) = range else {
        return response(bytes.clone()).header("ETag", &tag);
    };
    let (start, end) = range.trim_start_matches("bytes=").split_once('-').unwrap();
    let (mut start, end): (usize, usize) = (start.parse().unwrap(), end.parse().unwrap());
    if fault == Some(Fault::OtherPart) {
        start += 1;
    }
    let end = end.min(bytes.len() - 1);
    let part = bytes[start..=end].to_vec();
    let range = format!("bytes {start}-{end}/{}", bytes.len());
    let mut response = response(part).header("ETag", &tag);
    response.status = 206;
    response.header("Content-Range", &range)
}

fn tag(bytes: &[u8]) -> String {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("\"{:x}\"", hasher.finish())
}

impl Request {
    fn read(reader: &mut impl BufRead) -> Option<Self> {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let mut words = line.split_whitespace();
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let key = path.trim_start_matches('/');
        let key = key.split_once('/').map_or("", |(_, key)| key).to_owned();
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(':') else {
                break;
            };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let length = headers
            .get("content-length")
            .and_then(|one| one.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).ok()?;
        Some(Self {
            method,
            key,
            query: query.to_owned(),
            headers,
            body,
        })
    }
}

struct Response {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Response {
    fn ok(body: Vec<u8>) -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            body,
        }
    }

    fn xml(body: String) -> Self {
        Self::ok(body.into_bytes()).header("Content-Type", "application/xml")
    }

    fn error(status: u16, code: &str) -> Self {
        let body = format!("<Error><Code>{code}</Code><Message>a message</Message></Error>");
        Self {
            status,
            ..Self::xml(body)
        }
    }

    fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    fn write(
        &self,
        mut to: &TcpStream,
        request: &Request,
        fault: Option<Fault>,
    ) -> std::io::Result<()> {
        let mut head = format!("HTTP/1.1 {} X\r\nConnection: close\r\n", self.status);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", self.body.len()));
        to.write_all(head.as_bytes())?;
        if request.method != "HEAD" {
            let end = match fault {
                Some(Fault::Short) => self.body.len() / 2,
                _ => self.body.len(),
            };
            to.write_all(&self.body[..end])?;
        }
        to.flush()
    }
}
