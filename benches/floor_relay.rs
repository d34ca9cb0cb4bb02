//! The minimal cost of a relay: two threads that move bytes and look at none of them.
//!
//! - `floor_relay CMD…` spawns CMD and copies stdin to it and its stdout back, 64 KB at a time.
//! - `floor_relay --tcp HOST:PORT` does the same between the connections that it accepts and those
//!   that it opens; it prints its address.
//!
//! The difference between a round trip through it and a direct one is the price of two extra hops
//! and two extra wake-ups on this machine; no relay that also reads the frames can cost less. It
//! uses a plain read/write loop, not `io::copy`, which would splice inside the kernel: a relay has
//! to see the bytes. Std only, built by `run.sh` with `rustc -O`.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;

/// Linux' default pipe capacity: one read empties a full pipe.
const BUFFER_BYTES: usize = 64 * 1024;

fn main() -> io::Result<()> {
    let mut args = std::env::args_os().skip(1);
    let program = args
        .next()
        .expect("usage: floor_relay CMD… | floor_relay --tcp HOST:PORT");
    if program == "--tcp" {
        let to = args.next().expect("HOST:PORT");
        return tcp(&to.to_string_lossy());
    }
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let to_child = child.stdin.take().expect("stdin was piped above");
    let mut from_child = child.stdout.take().expect("stdout was piped above");
    // Not joined: when the child has ended, an open stdin must not keep this process alive.
    thread::spawn(move || pump(&mut io::stdin(), to_child));
    pump(&mut from_child, io::stdout().lock())?;
    child.wait().map(|_| ())
}

fn tcp(to: &str) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("http://{}/mcp", listener.local_addr()?);
    loop {
        let (client, _) = listener.accept()?;
        let server = TcpStream::connect(to)?;
        for stream in [&client, &server] {
            stream.set_nodelay(true)?;
        }
        for (mut from, to) in [(client.try_clone()?, server.try_clone()?), (server, client)] {
            thread::spawn(move || {
                // When one end closes, the other end is shut down, too.
                drop(pump(&mut from, &to));
                drop(to.shutdown(Shutdown::Write));
            });
        }
    }
}

/// Copies until the end of `from`; dropping `to` then passes the end on.
fn pump(from: &mut impl Read, mut to: impl Write) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let n = from.read(&mut buffer)?;
        if n == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..n])?;
        to.flush()?;
    }
}
