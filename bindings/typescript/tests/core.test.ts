// Tests of the library itself, without any agent.

import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mock, test } from "node:test";

import { ProgramNotFound, Spillgate, SpillgateError } from "../src/index.ts";
import { findProgram } from "../src/process.ts";
import { ABSENT, broken, gate, handleOf, home, NEEDLE, report, SMALL, sha256 } from "./scenario.ts";

/** A program that runs one line of shell. */
function program(name: string, line: string): string {
  const path = join(home, name);
  writeFileSync(path, `#!/bin/sh\n${line}\n`);
  chmodSync(path, 0o755);
  return path;
}

test("what fits is returned as it is", async () => {
  for (const content of ["", SMALL, "no line end", "a\r\nb\0c\x1b[31m", "\ud800 alone", Buffer.from([0xff, 0xfe, 0])]) {
    assert.equal(await gate().offload(content, { tool: "t" }), content);
  }
  assert.deepEqual(await gate().put(SMALL), {
    text: null,
    handle: null,
    reason: null,
    sha256: null,
    bytes: null,
    tokens: null,
    error: null,
  });
});

test("what is stored comes back byte for byte", async () => {
  const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, name: `row ${id}` }));
  const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, n) => n % 256));
  const spillgate = gate();
  for (const content of [report(), "ü\r\n".repeat(50_000), "x".repeat(1_000_000), bytes, JSON.stringify(rows)]) {
    const put = await spillgate.put(content, { tool: "t" });
    assert.ok(put.text !== null && put.text.length < 10_000);
    assert.equal(put.handle, handleOf(put.text));
    const raw = await spillgate.artifact(put.handle).raw();
    assert.equal(sha256(raw), sha256(content));
    assert.equal(put.sha256, sha256(content));
  }
});

test("a message names the tool and the look-up tools", async () => {
  const spillgate = gate();
  const put = await spillgate.put(report(), { tool: "read_log", arguments: { file: "ü.log" }, failed: true });
  assert.match(put.text ?? "", /^\[spillgate\] read_log failed with /);
  assert.ok(put.text?.includes(`spillgate_read(handle="${put.handle}"`));
  // Hostile arguments do not keep an output from being stored.
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  for (const call of ["a\0b", "x".repeat(200_000), circle, "\ud800", 1n]) {
    assert.notEqual((await spillgate.put(report(), { arguments: call })).handle, null);
  }
});

test("an artifact answers look-ups", async () => {
  const spillgate = gate();
  const artifact = spillgate.artifact((await spillgate.put(report())).handle ?? "");
  assert.equal((await artifact.read({ start: 10_501, lines: 1 })).text, `${NEEDLE}\n`);
  assert.deepEqual((await artifact.read({ tail: true, lines: 1 })).lines, [21_000, 21_000]);
  assert.equal((await artifact.read({ bytes: "0..4" })).text, "2026");
  const { matches } = await artifact.grep("error disk", { ignoreCase: true, before: 1 });
  assert.deepEqual(matches.map(({ line, text }) => ({ line, text })), [{ line: 10_501, text: NEEDLE }]);
  assert.equal((await artifact.grep("-- no", { maxMatches: 1 })).total, 0);
  assert.equal((await artifact.query('select(test("ERROR"))', { rawOutput: true })).text.trim(), NEEDLE);
  assert.ok((await artifact.search("Which disk is full?")).passages[0]?.text.includes(NEEDLE));
  assert.equal((await artifact.outline()).kind, "log");
});

test("errors say what is wrong and whose fault it is", async () => {
  const spillgate = gate();
  await assert.rejects(spillgate.artifact("a".repeat(14)).read(), (error: SpillgateError) => {
    assert.deepEqual([error.kind, error.fault], ["not_found", "caller"]);
    return error instanceof SpillgateError;
  });
  await assert.rejects(spillgate.artifact("a".repeat(14)).raw(), /never stored/);
  await assert.rejects(gate({ config: join(home, "nowhere.toml") }).put(SMALL), /nowhere\.toml/);
  assert.throws(() => new Spillgate({ onError: "ignore" as "warn" }), TypeError);
});

test("tools are those of the gateway", async () => {
  const store = join(home, "shared");
  const spillgate = gate({ store });
  const tools = new Map((await spillgate.tools()).map((tool) => [tool.name, tool]));
  assert.deepEqual([...tools.keys()], ["spillgate_read", "spillgate_grep", "spillgate_query", "spillgate_search"]);
  const grep = tools.get("spillgate_grep");
  assert.deepEqual(grep?.inputSchema["required"], ["handle", "pattern"]);
  const { handle } = await spillgate.put(report());
  assert.ok((await grep?.call({ handle, pattern: "ERROR" }))?.includes(NEEDLE));
  assert.match((await grep?.call({ pattern: "x" })) ?? "", /`handle`/);
  const other = await gate({ store }).put("ERROR elsewhere\n".repeat(20_000));
  const found = await tools.get("spillgate_search")?.call({ words: "Which disk is full?" });
  assert.ok(found?.includes(NEEDLE));
  assert.ok(!found?.includes(other.handle ?? "none"));
});

test("limits and excluded tools", async () => {
  const text = "word ".repeat(1500);
  assert.notEqual(await gate({ maxTokens: 50 }).offload(text), text);
  assert.notEqual(await gate({ maxBytes: 50, profile: "handle" }).offload(text), text);
  const spillgate = gate({ exclude: ["read_file"] });
  assert.equal(await spillgate.offload(report(), { tool: "read_file" }), report());
  const names = (await spillgate.tools()).map((tool) => tool.name);
  for (const name of [...names, "get_continuation", "tool_output"]) {
    assert.equal(await spillgate.offload(report(), { tool: `mcp__spillgate__${name}` }), report());
  }
  for (const tool of ["other", "spillgate_dump", "mcp__x__spillgate_read_file", "x_spillgate_read"]) {
    assert.notEqual(await spillgate.offload(report(), { tool }), report());
  }
});

test("errors of ours let the output pass", async () => {
  const blocked = join(home, "blocked");
  writeFileSync(blocked, "a file\n");
  const cases: [Spillgate, string][] = [
    [broken(), "cargo install"],
    [new Spillgate({ program: program("hangs", "exec sleep 9"), timeoutMs: 300 }), "longer than 300 ms"],
    [new Spillgate({ program: program("nonsense", "echo no") }), "ended with code 0"],
    [new Spillgate({ program: program("other", "echo '{}'") }), "another version"],
    [new Spillgate({ store: blocked }), "blocked"],
    [new Spillgate({ store: "a\0b" }), "cannot run"],
  ];
  for (const [spillgate, what] of cases) {
    const warn = mock.method(console, "warn", () => {});
    for (const _ of [1, 2]) assert.equal(await spillgate.offload(report()), report());
    assert.equal(warn.mock.callCount(), 1, what);
    assert.ok(String(warn.mock.calls[0]?.arguments[0]).includes(what), what);
    warn.mock.restore();
  }
  for (const line of ["exec sleep 9", "echo no", "echo '{}'", "echo '[1]'", "echo 7"]) {
    const warn = mock.method(console, "warn", () => {});
    assert.deepEqual(await new Spillgate({ program: program("lists", line), timeoutMs: 300 }).tools(), []);
    assert.equal(warn.mock.callCount(), 1, line);
    warn.mock.restore();
  }
  await assert.rejects(new Spillgate({ program: ABSENT, onError: "raise" }).offload(report()), ProgramNotFound);
});

test("secrets that must not be stored are not shown", async () => {
  const config = join(home, "refused.toml");
  writeFileSync(config, 'stored_secrets = "refused"\n');
  const key = "AKIA" + "Q7ZX3M5N2P4R6T7V";
  const shown = await gate({ config }).offload(`${report()}aws_access_key_id = ${key}\n`);
  assert.ok(shown.length < 10_000 && !shown.includes(key), shown);
});

test("the program is found", () => {
  const { PATH, SPILLGATE_BIN } = process.env;
  const found = program("spillgate", "echo no");
  try {
    delete process.env["SPILLGATE_BIN"];
    process.env["PATH"] = home;
    assert.equal(findProgram(), found);
    process.env["SPILLGATE_BIN"] = ABSENT;
    assert.throws(findProgram, /SPILLGATE_BIN is '.*no-such-program'.*cargo install/);
  } finally {
    process.env["PATH"] = PATH;
    if (SPILLGATE_BIN !== undefined) process.env["SPILLGATE_BIN"] = SPILLGATE_BIN;
  }
});
