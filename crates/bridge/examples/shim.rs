//! Runs a bridge between a real client and a real server.
//!
//! `shim to-legacy CMD…` and `shim to-modern CMD…` start the server `CMD…` and bridge it to the
//! client on standard input and output.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use data_encoding::HEXLOWER;
use spillgate_bridge::{
    Bridge, Caller, ClientFrame, Config, DeclaredCapabilities, Limits, Step, TokenGenerator,
};
use spillgate_transport::{Frame, Item, ServerEvent};

enum From {
    Client(Bytes),
    Server(Bytes),
    ClientGone,
    ServerGone,
}

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(way), Some(program)) = (arguments.next(), arguments.next()) else {
        return Err(io::Error::other("shim to-legacy|to-modern CMD…"));
    };
    let mut bridge = match way.as_str() {
        "to-legacy" => Bridge::modern_client_legacy_server(config()),
        "to-modern" => Bridge::legacy_client_modern_server(config()),
        _ => return Err(io::Error::other("to-legacy or to-modern")),
    };
    let mut server = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut server_in = server
        .stdin
        .take()
        .ok_or_else(|| io::Error::other("no standard input"))?;
    let server_out = server
        .stdout
        .take()
        .ok_or_else(|| io::Error::other("no standard output"))?;
    relay(&mut bridge, &mut server_in, server_out)?;
    drop(server_in);
    server.wait().map(|_| ())
}

fn relay(
    bridge: &mut Bridge,
    server_in: &mut impl Write,
    server_out: impl Read + Send + 'static,
) -> io::Result<()> {
    let (sender, receiver) = mpsc::channel();
    read(io::stdin(), sender.clone(), From::Client, From::ClientGone);
    read(server_out, sender, From::Server, From::ServerGone);
    let mut client_out = io::stdout();
    loop {
        let wait = bridge
            .deadline()
            .map(|at| at.saturating_duration_since(Instant::now()));
        let from = receiver.recv_timeout(wait.unwrap_or(Duration::from_secs(3600)));
        let now = Instant::now();
        let steps = match from {
            Ok(From::Client(frame)) => {
                let heard = ClientFrame {
                    from: Caller(0),
                    frame: &frame,
                    headers: &[],
                    now,
                };
                bridge.from_client(heard)
            }
            Ok(From::Server(frame)) => bridge.from_server(ServerEvent::message(frame), now),
            Err(RecvTimeoutError::Timeout) => bridge.tick(now),
            Ok(From::ClientGone | From::ServerGone) | Err(RecvTimeoutError::Disconnected) => {
                return Ok(());
            }
        };
        for step in steps {
            match step {
                Step::ToServer(message) => line(server_in, &message.frame)?,
                Step::ToClient { event, .. } => {
                    if let Item::Message(Frame::Memory(frame)) = event.item {
                        line(&mut client_out, &frame)?;
                    }
                }
                Step::Abandon(_) | Step::Listen => {}
            }
        }
    }
}

fn config() -> Config {
    Config {
        server: "server".to_owned(),
        ourselves: ("shim".to_owned(), "0".to_owned()),
        declare: DeclaredCapabilities::FirstRequest,
        streams: false,
        tokens: TokenGenerator::new(|| {
            let mut bytes = [0; 16];
            getrandom::fill(&mut bytes).expect("invariant: the system has random bytes");
            HEXLOWER.encode(&bytes)
        }),
        limits: Limits::default(),
    }
}

fn read(
    stream: impl Read + Send + 'static,
    to: Sender<From>,
    frame: fn(Bytes) -> From,
    gone: From,
) {
    thread::spawn(move || {
        for line in BufReader::new(stream).split(b'\n') {
            let Ok(line) = line else { break };
            if to.send(frame(line.into())).is_err() {
                return;
            }
        }
        let _ = to.send(gone);
    });
}

fn line(stream: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    // A frame that contains line breaks would be read as several messages.
    let one: Vec<u8> = frame
        .iter()
        .copied()
        .filter(|byte| !matches!(byte, b'\n' | b'\r'))
        .collect();
    stream.write_all(&one)?;
    stream.write_all(b"\n")?;
    stream.flush()
}
