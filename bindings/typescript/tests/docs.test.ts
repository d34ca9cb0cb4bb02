// Runs the examples of docs/libraries.md as they stand, with the scripted model. The package must be
// built: the examples import it by its name.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { gate, HANDLE, handleOf, home, model, NEEDLE, report, sha256 } from "./scenario.ts";

const page = readFileSync(new URL("../../../docs/libraries.md", import.meta.url), "utf8");
const examples = [...page.matchAll(/```ts\n(.*?)```/gs)].map((found) => found[1] ?? "");

writeFileSync(join(home, "server.log"), report());

/** Runs the example that contains a word; returns what it prints. */
async function run(word: string, url = "http://127.0.0.1:9"): Promise<string> {
  const [example, ...others] = examples.filter((block) => block.includes(word));
  assert.ok(example && others.length === 0, word);
  // Node finds the package by its name from files in the package.
  const file = fileURLToPath(new URL(`example-${process.pid}.ts`, import.meta.url));
  writeFileSync(file, example);
  const env = {
    ...process.env,
    SPILLGATE_STORE: join(home, "store"),
    OPENAI_API_KEY: "none",
    OPENAI_BASE_URL: `${url}/v1`,
  };
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], { cwd: home, env });
    assert.equal(stderr, "");
    return stdout;
  } finally {
    rmSync(file);
  }
}

test("the library alone", async () => {
  const printed = await run("artifact(put.handle)");
  assert.match(printed, /^\[spillgate\] read_log returned /);
  assert.ok(printed.includes(NEEDLE));
});

for (const [name, word] of [["an own loop", "/responses"], ["the AI SDK", "generateText"]] as const) {
  test(name, async () => {
    const scripted = await model([
      ["read_log", { path: "server.log" }],
      ["spillgate_grep", { handle: HANDLE, pattern: "ERROR" }],
    ]);
    const printed = await run(word, scripted.url);
    const { requests } = await scripted.end();
    assert.ok(printed.includes("done as told"), printed);
    const outputs = requests.at(-1).input.filter((item: any) => item.type === "function_call_output");
    const [preview, line] = outputs.map((item: any) => item.output);
    assert.match(preview, /^\[spillgate\] read_log returned /);
    assert.ok(line.includes(NEEDLE));
    const raw = await gate({ store: join(home, "store") }).artifact(handleOf(preview)).raw();
    assert.equal(sha256(raw), sha256(report()));
  });
}
