//! Runs a conversation loop: asks the model and calls the tools.

use futures_util::future::join_all;
use spillgate_llm::{ChatModel, NoDeltas, ToolCall, ToolReply};

use crate::calls::Calls;
use crate::conversation::Turns;
use crate::host::{Observer, ToolHost};
use crate::tool_loop::{Effect, Event, LoopOutcome};

/// Runs the loop to its end. Dropping the future cancels it.
pub async fn run(
    turns: Turns,
    model: &dyn ChatModel,
    host: &dyn ToolHost,
    observer: &dyn Observer,
) -> LoopOutcome {
    let mut tool_loop = turns.begin(host.tools());
    let mut event = Event::Start;
    loop {
        event = match tool_loop.step(event) {
            Effect::Ask(request) => {
                let reply = model.chat(&request, &NoDeltas).await;
                observer.asked(&request, &reply);
                Event::Replied(reply)
            }
            Effect::Call(calls) => Event::Called(call(&calls, host, observer).await),
            Effect::Finish(outcome) => return outcome,
        };
    }
}

/// Makes the calls of one reply, all at the same time, and returns their replies.
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
