//! The attack that calls `web_fetch` with every spelling of a local address, in the URL and in a
//! redirect. No such address may be fetched.
//!
//! A server on a loopback address counts the connections. No host name is looked up on the network,
//! because the program itself refuses the names that would need a name server.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use data_encoding::HEXLOWER;
use serde_json::json;

use super::chance::Chance;
use super::room::Room;
use super::table::Outcome;

/// Hosts that are this machine or in a private network; `PORT` stands for the port of the counting
/// server.
const HOSTS: [&str; 34] = [
    "127.0.0.1:PORT",
    "127.1:PORT",
    "127.0.1:PORT",
    "0:PORT",
    "0.0.0.0:PORT",
    "2130706433:PORT",
    "0x7f000001:PORT",
    "0x7f.0.0.1:PORT",
    "0x7f.1:PORT",
    "017700000001:PORT",
    "0177.0.0.1:PORT",
    "00000177.0.0.01:PORT",
    "127.0.0.1.:PORT",
    "127.255.255.254:PORT",
    "%31%32%37.0.0.1:PORT",
    "１２７.0.0.1:PORT",
    "127。0。0。1:PORT",
    "①②⑦.⓪.⓪.①:PORT",
    "localhost:PORT",
    "LOCALHOST:PORT",
    "localhost.:PORT",
    "foo.localhost:PORT",
    "metadata.internal:PORT",
    "printer.local:PORT",
    "router.home.arpa:PORT",
    "[::1]:PORT",
    "[0:0:0:0:0:0:0:1]:PORT",
    "[::]:PORT",
    "[::ffff:127.0.0.1]:PORT",
    "[::ffff:7f00:1]:PORT",
    "[::127.0.0.1]:PORT",
    "[64:ff9b::7f00:1]:PORT",
    "[2002:7f00:1::]:PORT",
    "user:password@127.0.0.1:PORT",
];

/// Time limit of a call in seconds. Refusals are immediate.
const TIMEOUT_S: u64 = 30;

/// Tries all spellings, as the URL and as the target of a redirect from an allowed host.
pub(crate) fn attack(room: &Room, count: usize, _: &mut Chance) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let hits = Arc::new(AtomicUsize::new(0));
    let target = counting(&hits)?;
    let redirecting = redirecting()?;
    let allowed = format!("127.0.0.1:{}", redirecting.port());
    let port = target.port().to_string();
    // First checks that the counting server counts and that the redirect works.
    let open = format!("127.0.0.1:{port}");
    let both = [allowed.as_str(), open.as_str()];
    let url = redirect(&allowed, &format!("http://{open}/"));
    let said = fetch(room, &both, &url, &mut outcome)?;
    let is_fetched = hits.swap(0, Ordering::SeqCst) > 0;
    anyhow::ensure!(is_fetched, "an allowed address was not fetched: {said}");
    for host in HOSTS {
        let url = format!("http://{}/", host.replace("PORT", &port));
        for url in [url.clone(), redirect(&allowed, &url)] {
            if outcome.tried >= count {
                break;
            }
            room.go_on()?;
            fetch(room, &[allowed.as_str()], &url, &mut outcome)?;
            outcome.tried += 1;
            if hits.swap(0, Ordering::SeqCst) > 0 {
                outcome.unnoticed += 1;
                outcome.note(format!("let in: {url}"));
            }
        }
    }
    Ok(outcome)
}

fn redirect(from: &str, to: &str) -> String {
    format!("http://{from}/{}", HEXLOWER.encode(to.as_bytes()))
}

/// Lets the tool fetch `url`; returns its output.
fn fetch(room: &Room, allowed: &[&str], url: &str, outcome: &mut Outcome) -> Result<String> {
    let work = room.work();
    let root = work.to_string_lossy();
    let arguments = json!({"url": url, "timeout": TIMEOUT_S}).to_string();
    let mut words = vec!["tools", "--root", &*root];
    for host in allowed {
        words.extend(["--allow", host]);
    }
    words.extend(["--call", "web_fetch", &arguments]);
    let ended = room.run(&words, &[])?;
    ended.judge(outcome, url);
    Ok(String::from_utf8_lossy(&ended.stdout).into_owned() + &ended.stderr)
}

/// Starts a server that counts connections on all loopback addresses, IPv4 and, if available, IPv6.
fn counting(hits: &Arc<AtomicUsize>) -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    let address = listener.local_addr()?;
    let mut listeners = vec![listener];
    listeners.extend(TcpListener::bind((Ipv6Addr::LOCALHOST, address.port())));
    for listener in listeners {
        let hits = Arc::clone(hits);
        serve(listener, move |_| {
            hits.fetch_add(1, Ordering::SeqCst);
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 6\r\nconnection: close\r\n\r\nsecret".to_owned()
        });
    }
    Ok(address)
}

/// Starts a server that redirects to the URL that its path encodes in hexadecimal.
fn redirecting() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    serve(listener, |request| {
        let path = request
            .split(' ')
            .nth(1)
            .unwrap_or_default()
            .trim_start_matches('/');
        let bytes = (0..path.len())
            .step_by(2)
            .filter_map(|at| u8::from_str_radix(path.get(at..at + 2)?, 16).ok());
        let to: String = String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned();
        format!(
            "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        )
    });
    Ok(address)
}

/// Answers connections on a thread that ends with the process.
fn serve(listener: TcpListener, answer: impl Fn(&str) -> String + Send + Sync + 'static) {
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
            let mut request = [0; 4096];
            let read = stream.read(&mut request).unwrap_or(0);
            let answer = answer(&String::from_utf8_lossy(&request[..read]));
            let _ = stream.write_all(answer.as_bytes());
        }
    });
}
