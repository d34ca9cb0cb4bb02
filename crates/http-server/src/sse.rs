//! Writes messages as server-sent events.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use memchr::memchr2;

/// A comment that keeps a quiet stream open.
pub(crate) const COMMENT: Bytes = Bytes::from_static(b":\n\n");

/// Writes a message as an event. A message without line ends is not copied; otherwise each line
/// becomes a `data:` line.
pub(crate) fn message(event: Option<&str>, frame: Bytes) -> [Bytes; 3] {
    let mut head = BytesMut::new();
    put_id(&mut head, event);
    head.put_slice(b"event: message\ndata: ");
    let data = match memchr2(b'\n', b'\r', &frame) {
        None => frame,
        Some(_) => lines(&frame),
    };
    [head.freeze(), data, Bytes::from_static(b"\n\n")]
}

/// Returns the parts to write before and after a message that is one line with its line end.
pub(crate) fn around_line(event: Option<&str>) -> [Bytes; 2] {
    let [head, _, _] = message(event, Bytes::new());
    [head, Bytes::from_static(b"\n")]
}

/// Returns an event that only marks a position in the stream.
pub(crate) fn mark(event: Option<&str>, retry: Option<Duration>) -> Bytes {
    let mut head = BytesMut::new();
    put_id(&mut head, event);
    if let Some(retry) = retry {
        head.put_slice(format!("retry: {}\n", retry.as_millis()).as_bytes());
    }
    head.put_slice(b"data: \n\n");
    head.freeze()
}

/// Writes the event id. An id with a line end is dropped, because it would add fields to the event.
/// A server that uses SSE cannot send such an id.
fn put_id(head: &mut BytesMut, event: Option<&str>) {
    let is_plain = |id: &&str| !id.contains(['\n', '\r', '\0']);
    if let Some(id) = event.filter(is_plain) {
        head.put_slice(b"id: ");
        head.put_slice(id.as_bytes());
        head.put_u8(b'\n');
    }
}

fn lines(frame: &[u8]) -> Bytes {
    let mut data = BytesMut::with_capacity(frame.len() + 64);
    let mut rest = frame;
    while let Some(at) = memchr2(b'\n', b'\r', rest) {
        data.put_slice(&rest[..at]);
        data.put_slice(b"\ndata: ");
        let ends = if rest[at..].starts_with(b"\r\n") {
            2
        } else {
            1
        };
        rest = &rest[at + ends..];
    }
    data.put_slice(rest);
    data.freeze()
}

/// Returns the message without the line end that standard streams need.
pub(crate) fn bare(frame: &Bytes) -> Bytes {
    let text = frame.strip_suffix(b"\n").unwrap_or(frame);
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    frame.slice(..text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_events() {
        for (frame, expected) in [
            ("{}", "id: 7\nevent: message\ndata: {}\n\n"),
            ("{}\n", "id: 7\nevent: message\ndata: {}\n\n"),
            ("{\n}\r\n", "id: 7\nevent: message\ndata: {\ndata: }\n\n"),
            ("{\r\n}", "id: 7\nevent: message\ndata: {\ndata: }\n\n"),
            ("{\r}", "id: 7\nevent: message\ndata: {\ndata: }\n\n"),
        ] {
            let frame = bare(&Bytes::from_static(frame.as_bytes()));
            assert_eq!(message(Some("7"), frame).concat(), expected.as_bytes());
        }
    }

    #[test]
    fn marks_have_no_data() {
        for (event, retry, expected) in [
            (Some("1"), Some(500), "id: 1\nretry: 500\ndata: \n\n"),
            (None, None, "data: \n\n"),
            (Some("1\ndata: x"), None, "data: \n\n"),
        ] {
            let retry = retry.map(Duration::from_millis);
            assert_eq!(mark(event, retry), expected.as_bytes());
        }
    }
}
