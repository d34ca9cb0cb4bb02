//! Agents that call agents.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_agent::{
    Allowance, BadInput, Ending, FINAL_REPORT, Finished, Host, Launch, NotLaunched, Part,
    RunLimits, Scope, Share, SubAgent, Until,
};
use spillgate_llm::{Reply, Scripted};

use crate::endings::hanging;
use crate::stage::{Row, calls, done, give, scripted, tree};
use crate::tools::lines;

/// A launcher of agents that plays one of these rows for each call, the last row first.
#[derive(Default)]
struct Rows(Mutex<Vec<Row>>);

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Rows")
    }
}

impl Launch for Rows {
    fn launch<'a>(
        &'a self,
        task: String,
        scope: &'a Scope,
    ) -> BoxFuture<'a, Result<Finished, NotLaunched>> {
        async move {
            let row = self.0.lock().unwrap().pop();
            let Some(row) = row else {
                return Err(NotLaunched(format!("nobody can do {task:?}")));
            };
            let model = scripted(row.says.clone(), Arc::default());
            let mut stage = row.stage(&model, Some(scope));
            stage.settings.task = task;
            Ok(stage.run(&model, row.until.clone()).await.0)
        }
        .boxed()
    }
}

/// Returns a row whose model calls the agent `sub`. Each run of `sub` plays one of the rows
/// `within`.
fn calling(within: Vec<Row>, arguments: Value) -> Row {
    let sub = Rows(Mutex::new(within));
    let sub = SubAgent::new("sub", "does a part", None, Arc::new(sub)).unwrap();
    Row {
        hosts: vec![Arc::new(sub)],
        ..Row::new(vec![calls(&[("sub", arguments)]), done()])
    }
}

fn reports(bytes: usize) -> Reply {
    calls(&[(FINAL_REPORT, json!({"report_content": lines(bytes)}))])
}

#[tokio::test]
async fn a_report_that_fits_is_shown_and_all_of_it_is_in_the_callers_account() {
    let within = Row::new(vec![calls(&[give(5000)]), reports(60)]);
    let row = calling(vec![within], json!({"prompt": "Do a part."}));
    let (told, trace) = row.played().await;
    let account = &trace.accounting;
    let part = |part| account.of_part(part).calls;
    assert_eq!((part(Part::Own), part(Part::SubAgents)), (2, 2));
    assert_eq!(account.agents["test"].tools[0].stored, 1);
    assert_eq!(account.total.calls, 4);
    assert_snapshot!(format!("{told}\n---\n{}", tree(&trace.root)), @r#"
    user: Find out.
    model: sub {"prompt":"Do a part."}
    tool: line 1 of what the tool gives ⏎ line 2 of what the tool gives
    Success: done
    ---
    Agent test
      Turn turn 1
        Llm model, 2 messages, gave 29 bytes
        Tool sub, of sub, gave 59 bytes, Shown, 15 tokens shown
          Agent test
            Turn turn 1
              Llm model, 2 messages, gave 21 bytes
              Tool give, of test, gave 5000 bytes, Stored (size_cap), 73 tokens shown
            Turn turn 2
              Llm model, 4 messages, gave 105 bytes
      Turn turn 2
        Llm model, 4 messages, gave 47 bytes
    "#);
}

#[tokio::test]
async fn a_report_that_is_too_large_is_stored() {
    let row = calling(
        vec![Row::new(vec![reports(3000)])],
        json!({"prompt": "Do a part."}),
    );
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: sub {"prompt":"Do a part."}
    tool: Tool output is too large (3000 bytes, 98 lines, 750 tokens). ⏎ Call tool_output(handle = "HANDLE-0", extract = "what to extract"). ⏎ Provide precise and detailed instructions in `extract` about what you are looking for.
    Success: done
    "#);
}

#[tokio::test]
async fn an_agent_without_a_report_or_a_start_is_an_error() {
    let silent = || Row {
        max_turns: 1,
        ..Row::new(vec![Scripted::says("It is hard.")])
    };
    let failed = calling(vec![silent()], json!({"prompt": "Do a part."}));
    let absent = calling(Vec::new(), json!({"prompt": "Do a part."}));
    let wrong = calling(vec![silent()], json!({"task": "Do a part."}));
    let told = [failed.told().await, absent.told().await, wrong.told().await];
    assert_snapshot!(told.join("\n---\n"), @r#"
    user: Find out.
    model: sub {"prompt":"Do a part."}
    tool!: The agent 'sub' failed. No final report: the turns were used up, the last reply had no report ("Your reply has neither a call nor a report."). The model's last words: ⏎  ⏎ It is hard.
    Success: done
    ---
    user: Find out.
    model: sub {"prompt":"Do a part."}
    tool!: The agent 'sub' could not be started: nobody can do "Do a part.".
    Success: done
    ---
    user: Find out.
    model: sub {"task":"Do a part."}
    tool!: `prompt` must be a text that says what to do.
    Success: done
    "#);
}

#[tokio::test]
async fn an_agents_input_may_have_a_schema() {
    let schema = json!({
        "type": "object",
        "required": ["file"],
        "properties": {"file": {"type": "string"}},
    });
    let rows = Rows(Mutex::new(vec![Row::new(vec![reports(20)])]));
    let sub = SubAgent::new("sub", "", Some(schema), Arc::new(rows)).unwrap();
    let row = Row {
        hosts: vec![Arc::new(sub)],
        ..Row::new(vec![
            calls(&[("sub", json!({"file": 1}))]),
            calls(&[("sub", json!({"file": "a.txt"}))]),
            done(),
        ])
    };
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: sub {"file":1}
    tool!: The input is not of its schema: 1 is not of type "string" at '/file'.
    model: sub {"file":"a.txt"}
    tool: line 1 of what the t
    Success: done
    "#);
    let broken = Some(json!({"type": "nothing"}));
    let error: BadInput = SubAgent::new("sub", "", broken, Arc::new(Rows::default())).unwrap_err();
    assert_eq!(error.agent, "sub");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_takes_too_long_is_told_of_and_its_caller_goes_on() {
    let slow = Row {
        until: Until {
            timeout: Some(Duration::from_secs(60)),
            ..Until::default()
        },
        ..Row::new(vec![calls(&[("hang", json!({}))])])
    };
    let row = calling(vec![slow], json!({"prompt": "Do a part."}));
    let (told, trace) = row.played().await;
    assert_snapshot!(format!("{told}\n---\n{}", tree(&trace.root)), @r#"
    user: Find out.
    model: sub {"prompt":"Do a part."}
    tool!: The agent 'sub' took too long. No final report: the session took too long.
    Success: done
    ---
    Agent test
      Turn turn 1
        Llm model, 2 messages, gave 29 bytes
        Tool sub, of sub, gave 74 bytes, Failed, 19 tokens shown, error: The agent 'sub' took too long. No final report: the session 
          Agent test, error: it took too long
            Turn turn 1, unfinished
              Llm model, 2 messages, gave 9 bytes
              Tool hang, of test, unfinished
      Turn turn 2
        Llm model, 4 messages, gave 47 bytes
    "#);
}

#[tokio::test]
async fn an_agent_that_is_cut_off_with_its_caller_is_in_the_trace_up_to_there() {
    let mut within = hanging();
    let cancelled = within.until.cancelled.take();
    let mut row = calling(vec![within], json!({"prompt": "Do a part."}));
    row.until.cancelled = cancelled;
    let (told, trace) = row.played().await;
    assert_eq!(trace.accounting.of_part(Part::SubAgents).calls, 2);
    assert_snapshot!(format!("{told}\n---\n{}", tree(&trace.root)), @r#"
    user: Find out.
    model: sub {"prompt":"Do a part."}
    Cancelled: No final report: the session was cancelled.
    ---
    Agent test, error: it was cancelled
      Turn turn 1, unfinished
        Llm model, 2 messages, gave 29 bytes
        Tool sub, of sub, unfinished
          Agent test, unfinished
            Turn turn 1
              Llm model, 2 messages, gave 19 bytes
              Tool give, of test, gave 20 bytes, Shown, 5 tokens shown
            Turn turn 2, unfinished
              Llm model, 4 messages, gave 9 bytes
              Tool hang, of test, unfinished
    "#);
}

/// Runs an agent that only calls agents, three at the same time, for each call.
#[derive(Debug, Clone)]
struct Swarm {
    allowance: Arc<Allowance>,
    /// Whether the agents give their report when they are asked for it; otherwise they never do.
    reports: bool,
}

impl Swarm {
    fn new(limits: RunLimits, reports: bool) -> Self {
        Self {
            allowance: Allowance::new(limits),
            reports,
        }
    }

    fn row(&self, is_first: bool) -> Row {
        let sub = SubAgent::new("again", "", None, Arc::new(self.clone())).unwrap();
        Row {
            hosts: vec![Arc::new(sub) as Arc<dyn Host>],
            until: Until {
                share: Some(Share {
                    allowance: Arc::clone(&self.allowance),
                    is_first,
                }),
                ..Until::default()
            },
            window: 100_000,
            max_turns: 100,
            ..Row::new(Vec::new())
        }
    }

    fn model(&self) -> Scripted {
        let reports = self.reports;
        Scripted::new(move |seen| {
            let is_final = seen.request.tools.len() == 1;
            let again = || ("again", json!({"prompt": "Do it."}));
            Ok(match is_final && reports {
                true => done(),
                false => calls(&[again(), again(), again()]),
            })
        })
    }

    /// Returns how the first agent ends, and the number of requests of all agents.
    async fn ended(&self) -> (Finished, u64) {
        let (row, model) = (self.row(true), self.model());
        let stage = row.stage(&model, None);
        let journal = stage.journal.clone();
        let (finished, _) = stage.run(&model, row.until.clone()).await;
        (finished, journal.accounting().total.calls)
    }
}

impl Launch for Swarm {
    fn launch<'a>(
        &'a self,
        _: String,
        scope: &'a Scope,
    ) -> BoxFuture<'a, Result<Finished, NotLaunched>> {
        async move {
            let (row, model) = (self.row(false), self.model());
            let stage = row.stage(&model, Some(scope));
            Ok(stage.run(&model, row.until.clone()).await.0)
        }
        .boxed()
    }
}

#[tokio::test]
async fn agents_that_only_call_agents_end_at_the_limit_of_the_run() {
    let limits = |requests| RunLimits {
        requests: Some(requests),
        ..RunLimits::default()
    };
    for requests in [1, 2, 40] {
        let (finished, asked) = Swarm::new(limits(requests), false).ended().await;
        assert_eq!(asked, requests);
        let Ending::UsedUp(why) = &finished.ending else {
            panic!("{:?}", finished.ending);
        };
        let reached = format!("the run's limit of {requests} model requests was reached");
        assert!(why.starts_with(&reached), "{why}");
        assert!(finished.report.content.contains(&reached));
        // The last request is reserved for the first agent's report.
        let (finished, asked) = Swarm::new(limits(requests), true).ended().await;
        assert_eq!((finished.ending, asked), (Ending::Success, requests));
    }
}

/// An agent that calls itself.
#[derive(Debug, Clone, Default)]
struct Circle(Arc<AtomicUsize>);

impl Circle {
    fn row(&self) -> Row {
        let sub = SubAgent::new("again", "", None, Arc::new(self.clone())).unwrap();
        let again = json!({"prompt": "Do it."});
        Row {
            hosts: vec![Arc::new(sub) as Arc<dyn Host>],
            ..Row::new(vec![calls(&[("again", again)]), done()])
        }
    }
}

impl Launch for Circle {
    fn launch<'a>(
        &'a self,
        _: String,
        scope: &'a Scope,
    ) -> BoxFuture<'a, Result<Finished, NotLaunched>> {
        async move {
            self.0.fetch_add(1, Ordering::Relaxed);
            let row = self.row();
            let model = scripted(row.says.clone(), Arc::default());
            let stage = row.stage(&model, Some(scope));
            Ok(stage.run(&model, row.until.clone()).await.0)
        }
        .boxed()
    }
}

#[tokio::test]
async fn a_circle_of_agents_comes_to_an_end() {
    let circle = Circle::default();
    let (_, trace) = circle.row().played().await;
    assert_eq!(circle.0.load(Ordering::Relaxed), 3);
    assert_snapshot!(tree(&trace.root), @"
    Agent test
      Turn turn 1
        Llm model, 2 messages, gave 27 bytes
        Tool again, of again, gave 4 bytes, Shown, 1 tokens shown
          Agent test
            Turn turn 1
              Llm model, 2 messages, gave 27 bytes
              Tool again, of again, gave 4 bytes, Shown, 1 tokens shown
                Agent test
                  Turn turn 1
                    Llm model, 2 messages, gave 27 bytes
                    Tool again, of again, gave 4 bytes, Shown, 1 tokens shown
                      Agent test
                        Turn turn 1
                          Llm model, 2 messages, gave 27 bytes
                          Tool again, of again, gave 93 bytes, Failed, 24 tokens shown, error: The agent 'again' was not started: there are 3 agents above 
                        Turn turn 2
                          Llm model, 4 messages, gave 47 bytes
                  Turn turn 2
                    Llm model, 4 messages, gave 47 bytes
            Turn turn 2
              Llm model, 4 messages, gave 47 bytes
      Turn turn 2
        Llm model, 4 messages, gave 47 bytes
    ");
}
