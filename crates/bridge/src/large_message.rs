//! Translates messages that are too large for memory.
//!
//! Only the stand-in of a large message is examined: a small copy in which placeholders replace the
//! large parts. An answer can be edited outside of its large value, and members can be inserted at
//! the beginning of that value. A notification is built from the stand-in, and its placeholders are
//! then replaced by the original parts.

use bytes::Bytes;
use spillgate_mcp::{ByteEdits, Envelope, RequestId, span_in};
use spillgate_transport::{Frame, Item, ServerEvent, Spooled};

use crate::Step;
use crate::json::put_id;
use crate::steps::Steps;

/// A large message, classified by its kind.
#[derive(Debug)]
pub(crate) enum LargeMessage {
    /// The answer to this request.
    Answer(RequestId, Spooled),
    /// A notification.
    Notice(Spooled),
    /// A message that cannot be bridged: a request, a batch, or one that cannot be parsed.
    Other(UnbridgedMessage),
}

/// A message that is not bridged, and the requests whose senders must be informed.
#[derive(Debug)]
pub(crate) struct UnbridgedMessage {
    pub(crate) bytes: u64,
    /// The requests that the message answers.
    pub(crate) answered: Vec<RequestId>,
    /// The ids, as JSON, of the requests in the message.
    pub(crate) asks: Vec<String>,
}

impl LargeMessage {
    /// Classifies a message. A message that cannot be parsed counts as the answer to `of`, the
    /// request on whose stream it arrived.
    pub(crate) fn of(spooled: Spooled, of: Option<&RequestId>) -> Self {
        let is_batch = spooled.stand_in().trim_ascii_start().starts_with(b"[");
        let all = spooled.messages();
        let answer = match &*all {
            [one] if !is_batch && one.is_response() => one.key(),
            [one] if !is_batch && one.method.is_some() && one.id.is_none() => {
                drop(all);
                return Self::Notice(spooled);
            }
            _ => None,
        };
        drop(all);
        match answer {
            Some(key) => Self::Answer(key, spooled),
            None => Self::Other(UnbridgedMessage::of(&spooled, of)),
        }
    }
}

impl UnbridgedMessage {
    pub(crate) fn of(spooled: &Spooled, of: Option<&RequestId>) -> Self {
        let all = spooled.messages();
        let (answers, others): (Vec<_>, Vec<_>) = all.iter().partition(|one| one.is_response());
        let mut answered: Vec<RequestId> = answers.iter().filter_map(|one| one.key()).collect();
        if all.is_empty() {
            answered.extend(of.cloned());
        }
        let ids = others.iter().filter_map(|one| one.id);
        Self {
            bytes: spooled.len(),
            answered,
            asks: ids.map(|id| id.get().to_owned()).collect(),
        }
    }
}

/// Returns an answer with the client's id, which is JSON. `added` returns the members to insert
/// before the first member of its result.
///
/// # Errors
///
/// Returns the length of the message in bytes if it cannot be changed in this way.
pub(crate) fn answer(
    spooled: Spooled,
    id: &str,
    added: impl Fn(&Envelope<'_>) -> Option<String>,
) -> Result<Frame, u64> {
    let (bytes, mut splice) = (spooled.len(), ByteEdits::default());
    let mut first = String::new();
    {
        let (stand_in, all) = (spooled.stand_in(), spooled.messages());
        let one = all.first().ok_or(bytes)?;
        put_id(&mut splice, stand_in, one, id);
        let members = added(one).ok_or(bytes)?;
        if let Some(result) = one.result.filter(|_| !members.is_empty()) {
            let span = span_in(stand_in, result.get());
            match span == spooled.value_span() {
                true => first = members,
                false => crate::json::put_first(&mut splice, stand_in, result, &members),
            }
        }
    }
    let edited = spooled.edited(splice).ok_or(bytes)?;
    let edited = match first.is_empty() {
        true => edited,
        false => edited.with_first(&first),
    };
    Ok(Frame::Spooled(Box::new(edited)))
}

/// Bridges a notification. `told` builds the clients' messages from the stand-in, in which
/// placeholders replace the large parts.
pub(crate) fn notice(
    spooled: Spooled,
    steps: &mut Steps,
    told: impl FnOnce(&Envelope<'_>, &Bytes, &mut Steps),
) {
    let before = steps.0.len();
    let Ok((stand_in, filling)) = spooled.into_filling() else {
        return; // the sender was already told that the store lost the message
    };
    if let [one] = &*spillgate_mcp::messages(&stand_in) {
        told(one, &stand_in, steps);
    }
    for step in &mut steps.0[before..] {
        let Step::ToClient {
            event: ServerEvent { item, .. },
            ..
        } = step
        else {
            continue;
        };
        if let Item::Message(Frame::Memory(made)) = item {
            *item = Item::Message(Frame::Pieces(filling.fill(made)));
        }
    }
}
