//! Who is asked and called?

use futures_util::future::join_all;
use spillgate_llm::{ChatModel, NoDeltas, ToolCall, ToolReply};

use crate::calls::Calls;
use crate::host::{Observer, ToolHost};
use crate::step::{Effect, Event, Finished, Turns};

/// Runs the loop to its end. Dropping the future cancels it.
pub async fn run(
    turns: Turns,
    model: &dyn ChatModel,
    host: &dyn ToolHost,
    observer: &dyn Observer,
) -> Finished {
    let mut conversation = turns.begin(host.tools());
    let mut event = Event::Start;
    loop {
        event = match conversation.step(event) {
            Effect::Ask(request) => {
                let reply = model.chat(&request, &NoDeltas).await;
                observer.asked(&request, &reply);
                Event::Replied(reply)
            }
            Effect::Call(calls) => Event::Called(call(&calls, host, observer).await),
            Effect::Finish(finished) => return finished,
        };
    }
}

/// The calls of one reply, all at once.
async fn call(calls: &Calls, host: &dyn ToolHost, observer: &dyn Observer) -> Vec<ToolReply> {
    for (call, reply) in &calls.refused {
        observer.called(call, reply);
    }
    let made = calls.make.iter().map(|call: &ToolCall| async move {
        let reply = host.call(call).await;
        observer.called(call, &reply);
        reply
    });
    join_all(made).await
}

#[cfg(test)]
mod tests;
