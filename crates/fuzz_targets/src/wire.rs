//! Fuzz targets for data from the network: frames, the frame reader, events, headers, the bridge.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::value::RawValue;
use spillgate_bridge::{
    Bridge, Caller, ClientFrame, Config, DeclaredCapabilities, Limits, Step, TokenGenerator,
};
use spillgate_mcp::{ByteEdits, RequestId, messages, span_in};
use spillgate_store::MemoryStore;
use spillgate_transport::{
    EventDecoder, EventPiece, EventTags, Filled, Frame, FrameReader, Item, Message, ParamHeaders,
    ServerEvent, Skeleton, one_line, request_headers,
};

use crate::{BLOCKS, block_on, first_line};

/// Parses a frame. Its parts must be at the positions that their spans state, an edit must change
/// nothing else, and the frame must stay the same message when it is written as one line.
pub fn frames(bytes: &[u8]) {
    let envelopes = messages(bytes);
    let mut splice = ByteEdits::default();
    for envelope in &envelopes {
        for part in [envelope.id, envelope.params, envelope.result] {
            let Some(part) = part else { continue };
            assert_eq!(&bytes[span_in(bytes, part.get())], part.get().as_bytes());
        }
        if let (Some(id), Some(key)) = (envelope.id, envelope.key()) {
            let again = RawValue::from_string(key.as_json().to_owned()).unwrap();
            assert_eq!(
                RequestId::of(&again),
                Some(key),
                "a key is its own spelling"
            );
            splice.replace(span_in(bytes, id.get()), "7");
        }
    }
    let edited = splice.apply(bytes);
    assert_eq!(messages(&edited).len(), envelopes.len());
    for (before, after) in envelopes.iter().zip(messages(&edited)) {
        let is_keyed = before.key().is_some();
        assert_eq!(
            after.key(),
            is_keyed.then(|| RequestId::number(7)).or(before.key())
        );
        assert_eq!(after.method, before.method);
    }
    let frame = Frame::Memory(Bytes::copy_from_slice(bytes));
    assert_eq!(frame.is_message(), !envelopes.is_empty());
    let _ = (frame.is_answer(), frame.broken_answer(), frame.is_blank());
    let line = one_line(Bytes::copy_from_slice(bytes));
    assert_eq!(memchr::memchr(b'\n', &line), Some(line.len() - 1));
    // A line break in a string is invalid JSON, so a frame may become valid when it is written as
    // one line.
    assert!(envelopes.is_empty() || messages(&line).len() == envelopes.len());
}

/// Reads a frame with the frame reader. A message of any size must be reproduced unchanged, and be
/// classified like the same message in memory.
pub fn intake(bytes: &[u8]) {
    let in_memory = messages(bytes);
    for (spool_at, block) in [(0, 1), (16, 7), (64, usize::MAX)] {
        let frame_reader = FrameReader::new(Arc::new(MemoryStore::default())).spooling_at(spool_at);
        let frame = block_on(async {
            let mut taking = frame_reader.begin();
            for part in bytes.chunks(block.min(bytes.len()).max(1)) {
                taking.feed(part).await.unwrap();
            }
            taking.finish().await
        });
        assert_eq!(frame.len(), bytes.len() as u64);
        let is_opaque = matches!(&frame, Frame::Spooled(spooled) if spooled.is_opaque());
        assert!(is_opaque || in_memory.is_empty() || frame.is_message());
        if let Frame::Spooled(spooled) = &frame
            && spooled.is_sound()
        {
            let span = spooled.value_span();
            let skeleton = &spooled.stand_in()[span];
            assert_eq!(skeleton, spooled.skeleton().json());
        }
        assert_eq!(
            block_on(written(frame)),
            bytes,
            "what is passed on is what came"
        );
    }
    let source = bytes.to_vec();
    if let Ok(Some(skeleton)) = Skeleton::of(&source, 0..bytes.len() as u64) {
        let filled: Vec<u8> = skeleton
            .fill(skeleton.json())
            .into_iter()
            .flat_map(|part| match part {
                Filled::Bytes(range) => skeleton.json()[range].to_vec(),
                Filled::Raw(range) => bytes[place(range.start)..place(range.end)].to_vec(),
            })
            .collect();
        assert_eq!(filled, bytes, "a skeleton is filled with what was left out");
    }
}

fn place(at: u64) -> usize {
    usize::try_from(at).unwrap()
}

async fn written(frame: Frame) -> Vec<u8> {
    let mut pieces = frame.into_pieces().unwrap();
    let mut written = Vec::new();
    while let Some(block) = pieces.next().await.unwrap() {
        written.extend_from_slice(&block);
    }
    written
}

/// Parses server-sent events. The events must be the same for every block size.
pub fn sse(bytes: &[u8]) {
    let all = BLOCKS.map(|block| events(bytes, block));
    assert!(all.iter().all(|events| *events == all[0]), "{all:?}");
}

fn events(bytes: &[u8], block: usize) -> Vec<(Vec<u8>, Option<EventTags>)> {
    let (mut decoder, mut events) = (EventDecoder::default(), Vec::new());
    let mut data = Vec::new();
    for mut block in bytes.chunks(block.min(bytes.len()).max(1)) {
        while let Some(piece) = decoder.next(&mut block) {
            match piece {
                EventPiece::Data(more) => data.extend_from_slice(more),
                EventPiece::End(tags) => events.push((std::mem::take(&mut data), Some(tags))),
            }
        }
    }
    events.push((data, None));
    events
}

/// Makes the headers of a request. The first line is an answer to `tools/list`, the rest is the
/// request. Headers must be plain ASCII, whatever the body contains.
pub fn headers(bytes: &[u8]) {
    let (listed, frame) = first_line(bytes);
    let known = ParamHeaders::default();
    known.learn(listed);
    let message = Message {
        frame: Bytes::copy_from_slice(frame),
        id: None,
        method: None,
        name: None,
        headers: Vec::new(),
    };
    for negotiated in [None, Some("2025-11-25"), Some("2026-07-28")] {
        for (name, value) in &request_headers(&message, negotiated, &known) {
            let is_plain = value
                .as_bytes()
                .iter()
                .all(|byte| (0x20..=0x7e).contains(byte));
            assert!(is_plain, "{name}: {value:?}");
        }
    }
}

/// Runs a bridge in either direction. Lines that begin with `C` come from the client, all others
/// from the server. No input may make the bridge panic.
pub fn bridge(bytes: &[u8]) {
    for is_legacy in [false, true] {
        let mut bridge = match is_legacy {
            true => Bridge::legacy_client_modern_server(config()),
            false => Bridge::modern_client_legacy_server(config()),
        };
        let mut now = Instant::now();
        for line in bytes.split(|&byte| byte == b'\n') {
            now += Duration::from_secs(40);
            let Some((who, frame)) = line.split_first() else {
                said(&bridge.tick(now));
                continue;
            };
            let frame = Bytes::copy_from_slice(frame);
            let from = Caller(u64::from(*who == b'c'));
            said(&match who {
                b'C' | b'c' => bridge.from_client(ClientFrame {
                    from,
                    frame: &frame,
                    headers: &[],
                    now,
                }),
                b'L' => bridge.client_disconnected(from),
                _ => bridge.from_server(ServerEvent::message(frame), now),
            });
            let _ = bridge.deadline();
        }
    }
}

fn said(steps: &[Step]) {
    for step in steps {
        let frame = match step {
            Step::ToServer(message) => &message.frame,
            Step::ToClient {
                event:
                    ServerEvent {
                        item: Item::Message(Frame::Memory(frame)),
                        ..
                    },
                ..
            } => frame,
            _ => continue,
        };
        // Frames that the bridge does not understand pass unchanged, so they need not be JSON.
        let _ = serde_json::from_slice::<&RawValue>(frame);
    }
}

fn config() -> Config {
    let mut count = 0;
    Config {
        server: "files".to_owned(),
        ourselves: ("spillgate".to_owned(), "0".to_owned()),
        declare: DeclaredCapabilities::FirstRequest,
        streams: false,
        tokens: TokenGenerator::new(move || {
            count += 1;
            format!("state-{count}")
        }),
        limits: Limits::default(),
    }
}
