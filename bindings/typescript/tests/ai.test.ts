// Tests with the AI SDK.

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { createOpenAI } from "@ai-sdk/openai";
import {
  convertToModelMessages,
  generateText,
  isStepCount,
  jsonSchema,
  streamText,
  type Tool,
  type ToolSet,
  tool,
  type UIMessage,
} from "ai";

import { withSpillgate } from "../src/ai.ts";
import { broken, gate, HANDLE, handleOf, model, NEEDLE, report, SMALL, sha256 } from "./scenario.ts";

const none = jsonSchema<Record<string, never>>({ type: "object", properties: {}, additionalProperties: false });

const IMAGE = "iVBORw0KGgo=";

/** A tool without arguments. */
function returning(execute: () => unknown): Tool {
  return { description: "A tool.", inputSchema: none, execute } as Tool;
}

const TOOLS = { report: returning(async () => report()), small: returning(() => SMALL) };

const SCRIPT: [string, object][] = [
  ["report", {}],
  ["spillgate_grep", { handle: HANDLE, pattern: "ERROR disk" }],
  ["small", {}],
];

/** Runs an agent with the scripted model; returns its result and what the model was sent. */
async function run(tools: ToolSet, script: [string, object][]) {
  const scripted = await model(script);
  const openai = createOpenAI({ baseURL: `${scripted.url}/v1`, apiKey: "none" });
  const result = await generateText({
    model: openai.responses("gpt-5.9"),
    tools,
    prompt: "Is a disk full?",
    stopWhen: isStepCount(9),
    providerOptions: { openai: { store: false } },
  });
  return { result, seen: await scripted.end() };
}

/** The outputs of tools in a request, or in the last one. */
function outputs(requests: any[], index = -1): any[] {
  const input = requests.at(index)?.input ?? [];
  return input.filter((item: any) => item.type === "function_call_output").map((item: any) => item.output);
}

test("the model gets a preview and looks into the rest; the program keeps all", async () => {
  const spillgate = gate();
  const tools = await withSpillgate(TOOLS, spillgate);
  const { result, seen } = await run(tools, SCRIPT);
  assert.equal(result.text, "done as told");
  assert.deepEqual(seen.refused, []);
  const [preview, found, small] = outputs(seen.requests);
  assert.match(preview, /^\[spillgate\] report returned /);
  assert.ok(preview.length < 10_000 && preview.includes("spillgate_grep"));
  assert.ok(!JSON.stringify(seen.requests.slice(0, 2)).includes(NEEDLE));
  assert.ok(found.includes(NEEDLE));
  assert.equal(small, SMALL);
  assert.equal(sha256(await spillgate.artifact(handleOf(preview)).raw()), sha256(report()));
  const kept = result.steps.flatMap((step) => step.toolResults).find((one) => one.toolName === "report");
  assert.equal(kept?.output, report());
  // What was sent once is sent again as it was, so that the provider's cache of the prompt holds.
  for (const [index, request] of seen.requests.slice(1).entries()) {
    const before = seen.requests[index].input;
    assert.deepEqual(request.input.slice(0, before.length), before);
  }
  const offered = seen.requests[0].tools.map((one: any) => one.name);
  assert.deepEqual(offered.slice(2), ["spillgate_read", "spillgate_grep", "spillgate_query", "spillgate_search"]);
});

test("objects, parts and errors", async () => {
  const spillgate = gate();
  const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, name: `row ${id}` }));
  const failing = new Error(report());
  const tools = {
    rows: returning(() => ({ rows })),
    few: returning(() => ({ rows: rows.slice(0, 3) })),
    nothing: returning(() => undefined),
    parts: tool({
      description: "Parts.",
      inputSchema: none,
      execute: () => ({ text: report() }),
      toModelOutput: ({ output }) => ({
        type: "content",
        value: [
          { type: "text", text: output.text },
          { type: "file", data: { type: "data", data: IMAGE }, mediaType: "image/png" },
          { type: "text", text: "and a text" },
        ],
      }),
    }),
    failing: returning(async () => {
      throw failing;
    }),
    short: returning(() => {
      throw new Error("no such file");
    }),
  };
  const script = Object.keys(tools).map((name): [string, object] => [name, {}]);
  const { result, seen } = await run(await withSpillgate(tools, spillgate), script);
  const [stored, few, nothing, parts, error, short] = outputs(seen.requests);
  assert.equal(sha256(await spillgate.artifact(handleOf(stored)).raw()), sha256(JSON.stringify({ rows })));
  assert.deepEqual(JSON.parse(few), { rows: rows.slice(0, 3) });
  assert.equal(nothing, "null");
  assert.equal(parts.length, 2);
  assert.equal(sha256(await spillgate.artifact(handleOf(parts[0].text)).raw()), sha256(`${report()}\nand a text`));
  assert.ok(JSON.stringify(parts[1]).includes(IMAGE));
  // The AI SDK wraps errors like this.
  assert.match(JSON.parse(error).error, /^Error: \[spillgate\] failing failed with /);
  assert.deepEqual(JSON.parse(short), { error: "Error: no such file" });
  const errors = result.steps.flatMap((step) => step.content).filter((part) => part.type === "tool-error");
  assert.equal((errors[0]?.error as Error).cause, failing);
});

test("a call is shown the same preview again", async () => {
  const { report: tool } = await withSpillgate({ report: returning(() => report()) }, gate());
  const message = (id: string, output: string): UIMessage => ({
    id: "m",
    role: "assistant",
    parts: [{ type: "tool-report", toolCallId: id, state: "output-available", input: {}, output }],
  });
  const shown = async (id: string, output: string) =>
    JSON.stringify(await convertToModelMessages([message(id, output)], { tools: { report: tool } }));
  const first = await shown("call-1", report());
  assert.ok(first.includes("stored whole as"));
  assert.equal(await shown("call-1", report()), first);
  assert.notEqual(await shown("call-2", report()), first);
  // The output of a call may still grow.
  assert.match(await shown("call-1", `${report()}more`), /21,?00[12] lines/);
  assert.ok((await shown("call-1", "short")).includes('"value":"short"'));
});

test("streams of preliminary outputs stay streams", async () => {
  const scripted = await model([["growing", {}]]);
  const growing = tool({
    description: "Grows.",
    inputSchema: none,
    async *execute() {
      yield "a beginning";
      yield report();
    },
  });
  const openai = createOpenAI({ baseURL: `${scripted.url}/v1`, apiKey: "none" });
  const result = streamText({
    model: openai.responses("gpt-5.9"),
    tools: await withSpillgate({ growing }, gate()),
    prompt: "Is a disk full?",
    stopWhen: isStepCount(3),
  });
  const results = [];
  for await (const part of result.fullStream) if (part.type === "tool-result") results.push(part.output);
  assert.deepEqual(results, ["a beginning", report(), report()]);
  const seen = await scripted.end();
  assert.match(outputs(seen.requests)[0], /^\[spillgate\] growing returned /);
});

test("an agent works without the program", async () => {
  const warn = mock.method(console, "warn", () => {});
  const { seen } = await run(await withSpillgate(TOOLS, broken()), [["report", {}], ["report", {}]]);
  assert.equal(warn.mock.callCount(), 1);
  assert.match(String(warn.mock.calls[0]?.arguments[0]), /cargo install/);
  warn.mock.restore();
  assert.deepEqual(outputs(seen.requests), [report(), report()]);
});
