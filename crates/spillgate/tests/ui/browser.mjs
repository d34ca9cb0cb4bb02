// Tests of the page in a real browser. `cargo xtask test-doors ui` installs what it needs and runs it.
//
// Environment, beside that of stage.mjs: PICTURES is a directory for screenshots (optional), LARGE the bytes of the large log
// (default 1 GiB), MANY the number of outputs (default 100,000), ONLY names of tests, FIGURES a file for what
// `benches/run.sh page` prints.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { SPILLGATE, at, end, errors, gateway, newest, open, put, quiet, require, run, serve, server_of, stored, traces } from "./stage.mjs";

const { PICTURES, FIGURES } = process.env;
const LARGE = Number(process.env.LARGE ?? 2 ** 30);
const MANY = Number(process.env.MANY ?? 100_000);
const ONLY = process.env.ONLY?.split(",");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

// Texts that the tests look for.
const HOSTILE = "<script>window.bad=1</script><img src=x onerror=window.bad=2><svg onload=window.bad=3>\u202e\u001b[31m";

function fill(store) {
  const handles = {};
  const log = (many, special) => Array.from({ length: many }, (_, at) =>
    `2026-11-26T10:${String(at % 60).padStart(2, "0")}:00 ${at % 97 === 0 ? `ERROR worker failed: connection refused to 10.0.0.${at % 255}` : at % 31 === 0 ? "WARN queue is long" : "INFO request done"} ${special} ${at}\n`).join("");
  handles.log = put(store, "server.log", log(4000, "first"), "--tool", "journalctl");
  const records = Array.from({ length: 3000 }, (_, id) => ({ id, name: `item ${id}`, price: (id * 7919) % 3000 / 10, tags: ["a", "b"], nested: { deep: [id] } }));
  handles.json = put(store, "items.json", JSON.stringify({ total: 3000, items: records }), "--tool", "list_items");
  handles.csv = put(store, "sales.csv", `id,city,price\n${records.map((one) => `${one.id},"City, ${one.id % 50}",${one.price}`).join("\n")}\n`, "--tool", "export");
  handles.code = put(store, "settings.rs", Array.from({ length: 900 }, (_, at) => `/// Doc ${at}.\npub fn function_${at}(x: u32) -> u32 { x + ${at} }\n`).join("\n"));
  handles.hostile = put(store, "hostile.html", `<html>${HOSTILE}\n`.repeat(900), "--tool", HOSTILE);
  const make = "for i in $(seq 1 2500); do echo \"compiling unit $i of the program\"; done; echo 'src/main.c:42: error: expected ; before }'; exit 2";
  try { run(["run", "--store", store, "-q", "--", "sh", "-c", make]); } catch (error) { assert.equal(error.status, 2); }
  run(["run", "--store", store, "-q", "--", "sh", "-c", "seq 1 9000; date +%N"]);
  run(["run", "--store", store, "-q", "--", "sh", "-c", "seq 1 9000; date +%N"]);
  handles.again = newest(store);
  const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
  handles.image = put(store, "pixel.png", Buffer.concat([png, Buffer.alloc(40_000, 7)]), "--tool", "screenshot");
  return handles;
}

// A line of the large log: mostly requests, sometimes an error with a stack trace.
function line_of(number) {
  const place = number % 10_000 - 5000;
  if (place === 0) return "ERROR";
  if (place > 0 && place < 4) return "TRACE";
  return "INFO";
}

// Writes a log of about LARGE bytes, and stores it. Returns what it has, and the rows that it has when it is folded.
function large(store) {
  const file = at("large.log");
  const to = fs.openSync(file, "w");
  let line = 0, bytes = 0, errors = 0, rows = 0, kind = "", same = 0;
  const ends = () => { rows += same >= (kind === "TRACE" ? 3 : 4) ? 1 : same; same = 0; };
  const forms = {
    INFO: (line) => `2026-11-26T10:00:00.000 INFO worker-${line % 16} request ${line} done in ${line % 77} ms, path /api/v1/items/${line % 1000}\n`,
    ERROR: (line) => `2026-11-26T10:00:00.000 ERROR worker-${line % 16} request ${line} failed\n`,
    TRACE: (line) => `    at step ${line % 10_000} of the worker\n`,
  };
  while (bytes < LARGE) {
    let block = "";
    while (block.length < 4 << 20) {
      const now = line_of(++line);
      if (now !== kind) { ends(); kind = now; }
      same++;
      errors += now === "ERROR";
      block += forms[now](line);
    }
    bytes += fs.writeSync(to, block);
  }
  ends();
  fs.writeSync(to, `2026-11-26T11:00:00.000 ERROR the last line ${++line}\n`);
  fs.closeSync(to);
  const handle = stored(store, file, "--tool", "kubectl logs");
  fs.rmSync(file);
  // The first look-up searches a very large text for secrets, which takes an unoptimized program minutes.
  run(["read", "--store", store, handle, "--lines", "1"]);
  return { handle, lines: line, errors: errors + 1, rows: rows + 1 };
}

// Copies the outputs of a store under new handles, with other times and calls.
function many(from, store) {
  const models = [];
  for (const place of fs.readdirSync(from).filter((name) => /^[a-z]$/.test(name)))
    for (const name of fs.readdirSync(path.join(from, place)).filter((name) => name.endsWith(".json"))) {
      const manifest = JSON.parse(fs.readFileSync(path.join(from, place, name)));
      delete manifest.checks;
      models.push({ stem: path.join(from, place, name.slice(0, -5)), manifest });
    }
  fs.mkdirSync(store, { mode: 0o700 });
  fs.copyFileSync(path.join(from, ".store"), path.join(store, ".store"));
  const letters = "abcdefghijklmnopqrstuvwxyz";
  for (let number = 0; number < MANY; number++) {
    const handle = Array.from({ length: 14 }, () => letters[Math.floor(Math.random() * 26)]).join("");
    const { stem, manifest } = models[number % models.length];
    const created = new Date(Date.now() - number * 30_000).toISOString().replace(/\.\d+Z/, "Z");
    const own = { ...manifest, handle, created, tool: `tool_${number % 40}`, server: ["github", "postgres", "files"][number % 3], arguments: JSON.stringify({ number }) };
    const place = path.join(store, handle[0]);
    fs.mkdirSync(place, { recursive: true, mode: 0o700 });
    for (const suffix of ["", ".raw", ".lines"]) if (fs.existsSync(stem + suffix)) fs.linkSync(stem + suffix, path.join(place, handle + suffix));
    fs.writeFileSync(path.join(place, `${handle}.json`), JSON.stringify(own), { mode: 0o600 });
  }
}

// The trace of an agent that has this many turns so far, each with a call; the last extraction found nothing.
function run_of(turns, isOver) {
  const op = (kind, name, at_ms, more = {}) => ({ kind, name, at_ms, took_ms: 900, ...more });
  const usage = { input: 9000, output: 70, cost: 0.0123 };
  const turn = (number) => op("turn", `turn ${number}`, number * 1000, { children: [
    op("llm", "model", number * 1000, { target: "mock/reader", usage, response_preview: `I call a tool. ${HOSTILE}` }),
    op("tool", number % 5 ? "grep_files" : "note", number * 1000 + 300, { server: "lab", took_ms: 400, ...(number % 5 ? { decided: { as: "stored", handle: handles.log, reason: "size_cap" }, tokens_shown: 90 } : { decided: { as: "failed" }, error: `no such file ${HOSTILE}` }) }),
  ] });
  const chunk = (number, total) => op("llm", `map ${number}/${total}`, 500 + number, { lines: [number * 1000 - 999, number * 1000], target: "mock/reader", usage, response_preview: "NO RELEVANT DATA FOUND\nOnly requests that were done." });
  const extraction = op("session", "tool_output", 400, {
    made: { strategy: "full-chunked" },
    extraction: { handle: handles.log, extract: "Which port does the server listen on?", mode: "auto", outcome: { status: "not_found", body: "NO RELEVANT DATA FOUND\n\nNearest: L98 ERROR worker failed", citations: [], unverified: [], coverage: { bytes_examined: 300000, bytes_total: 300000, chunks: 4, read_chunks: 4, failed_chunks: 0 } } },
    children: [op("session", "full-chunked", 410, { children: [1, 2, 3, 4].map((number) => chunk(number, 4)) })],
  });
  const first = turn(0);
  first.children.push(op("tool", "tool_output", 390, { decided: { as: "shown" }, tokens_shown: 60, children: [extraction] }));
  const inner = op("agent", "reviewer", 1400, { children: [op("turn", "turn 1", 1400, { children: [op("llm", "model", 1400, { usage })] })] });
  const second = turn(1);
  second.children.push(op("tool", "reviewer", 1390, { children: [inner] }));
  const rest = Array.from({ length: Math.max(0, turns - 2) }, (_, at) => turn(at + 2));
  return {
    version: 1, agent: "finder", task: `Find the port. ${HOSTILE}`, task_bytes: 14, started: new Date(Date.now() - turns * 1000).toISOString().replace(/\.\d+Z/, "Z"),
    ...(isOver ? { ending: { status: "success" }, report: { format: "text", content: "The log does not say it.", source: "tool" } } : {}),
    root: { ...op("agent", "finder", 0), took_ms: turns * 1000, ...(isOver ? {} : { unfinished: true }), children: [first, second, ...rest] },
  };
}

// Replaces a trace as an agent does.
function trace(name, content) {
  fs.mkdirSync(traces, { recursive: true });
  fs.writeFileSync(path.join(traces, `.${name}.part`), JSON.stringify(content));
  fs.renameSync(path.join(traces, `.${name}.part`), path.join(traces, name));
}

const LAB = { small: "fine", large: "a line of a large result\n".repeat(4000), wrong: "fine" };

// Starts a gateway in front of a server and those of `more`, and makes calls.
async function busy(name, more = "") {
  const of = await gateway(at(name), server_of("lab", LAB, 'env = { LAB_TOKEN = "kJ8sWq2LpZ0aYxVb" }\n') + more, `tester ${HOSTILE}`);
  for (let number = 3; number < 23; number++) await of.call(number % 10 === 0 ? "wrong" : number % 4 === 0 ? "large" : "small");
  return of;
}

// The first paint of the view that is open, in milliseconds, and what it weighs.
async function weighed(page) {
  await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length);
  return page.evaluate(() => ({
    paint: performance.getEntriesByName("first-contentful-paint")[0].startTime,
    kilobytes: Math.round(performance.getEntries().reduce((sum, one) => sum + (one.encodedBodySize ?? 0), 0) / 1024),
  }));
}
const picture = async (page, name) => { if (PICTURES) await page.screenshot({ path: path.join(PICTURES, `${name}.png`) }); };
const rowTexts = (page) => page.$$eval(".viewer .row .t", (rows) => rows.map((row) => row.textContent));
// Fails on findings that keep people out.
async function accessible(page, name) {
  // The policy of the page lets no other script in; the test adds this one as a debugger.
  const session = await page.context().newCDPSession(page);
  await session.send("Page.setBypassCSP", { enabled: true });
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const bad = violations.filter((one) => ["serious", "critical"].includes(one.impact));
  assert.deepEqual(bad.map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 160)} ${one.nodes[0].failureSummary}`), [], name);
}

const store = at("store");
const handles = fill(store);
trace("a-run.json", run_of(40, true));
trace("b-growing.json", run_of(3, false));
// A real extraction without a model finds nothing, and leaves a trace.
run(["extract", "--store", store, "--mode", "search", handles.log, "zebra crossing"], { program: SPILLGATE });
const alone = fs.readdirSync(traces).find((name) => name.includes("extraction"));
const served = await serve(store);
const paints = {};
// What the benchmark prints.
const figures = { views: {} };
const views = (origin) => ({
  list: `${origin}/ui/`,
  text: `${origin}/ui/a/${handles.log}`,
  tree: `${origin}/ui/a/${handles.json}`,
  table: `${origin}/ui/a/${handles.csv}`,
  records: `${origin}/ui/a/${handles.json}?tab=table&sort=3&down=1`,
  code: `${origin}/ui/a/${handles.code}`,
  hostile: `${origin}/ui/a/${handles.hostile}`,
  image: `${origin}/ui/a/${handles.image}`,
  bytes: `${origin}/ui/a/${handles.image}?tab=bytes`,
  find: `${origin}/ui/find?what=connection+refused`,
  meter: `${origin}/ui/meter`,
  folded: `${origin}/ui/a/${handles.log}?tab=text&lens=folded`,
  runs: `${origin}/ui/runs`,
  run: `${origin}/ui/runs/a-run.json`,
  within: `${origin}/ui/runs/a-run.json/5`,
  extraction: `${origin}/ui/runs/${alone}`,
  nogateway: `${origin}/ui/gateway`,
  difference: `${origin}/ui/a/${handles.again}?tab=difference`,
});

const tests = {
  async "each view shows its data, light and dark, and axe finds nothing serious"() {
    for (const colorScheme of ["light", "dark"]) {
      const page = await open(served, { colorScheme });
      for (const [name, address] of Object.entries(views(served.origin))) {
        await page.goto(address);
        await quiet(page);
        if (name === "find") await page.waitForSelector(".hit");
        await page.waitForTimeout(150);
        paints[name] = await weighed(page);
        assert.ok(paints[name].kilobytes <= 200, `${name} has ${paints[name].kilobytes} KB`);
        await picture(page, `${name}-${colorScheme}`);
        await accessible(page, `${name} ${colorScheme}`);
      }
      await page.context().close();
    }
  },

  async "no view scrolls sideways at 400 pixels, and 2,000 are used"() {
    for (const width of [400, 2000]) {
      const page = await open(served, { viewport: { width, height: 900 } });
      for (const [name, address] of Object.entries(views(served.origin))) {
        await page.goto(address);
        await quiet(page);
        if (name === "find") await page.waitForSelector(".hit");
        await page.waitForTimeout(100);
        await picture(page, `${name}-${width}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${name} is ${wide} pixels wider than ${width}`);
      }
      await page.context().close();
    }
  },

  async "hostile content is inert"() {
    const page = await open(served);
    for (const path of ["", `a/${handles.hostile}`, `a/${handles.hostile}?tab=bytes`, "find?what=window.bad", "runs", "runs/a-run.json", "runs/a-run.json/5"]) {
      await page.goto(`${served.origin}/ui/${path}`);
      await quiet(page);
      await page.waitForTimeout(300);
      assert.equal(await page.evaluate(() => window.bad), undefined, path);
      assert.ok(!(await page.content()).includes("\u202e"), path);
    }
    await page.goto(`${served.origin}/ui/a/${handles.hostile}`);
    await page.waitForFunction(() => document.querySelector(".viewer .row .t")?.textContent);
    assert.ok((await rowTexts(page)).join("").includes("<script>window.bad=1</script>"));
    await page.context().close();
  },

  async "a running agent is watched live"() {
    const page = await open(served);
    trace("b-growing.json", run_of(3, false));
    await page.goto(`${served.origin}/ui/runs`);
    await page.click("a.open:text-is('finder') >> nth=0");
    await page.waitForSelector("text=running");
    await page.evaluate(() => { window.same = true; });
    // What was opened stays open while the run goes on.
    await page.click(".steps summary >> nth=1");
    await page.waitForSelector(".steps details[open] .figures");
    for (const turns of [4, 6]) {
      trace("b-growing.json", run_of(turns, false));
      await page.waitForSelector(`.steps summary:has-text("turn ${turns - 1}")`, { timeout: 15_000 });
    }
    assert.ok(await page.$(".steps details[open] .figures"), "the opened operation is open");
    trace("b-growing.json", run_of(6, true));
    await page.waitForSelector(".badge.good:text-is('report')", { timeout: 15_000 });
    assert.equal(await page.evaluate(() => window.same), true, "the page was not loaded again");
    assert.equal(await page.$("#live[data-live]"), null);
    await page.context().close();
  },

  async "an extraction says why it found nothing, and leads to the lines that it read"() {
    const page = await open(served);
    await page.goto(`${served.origin}/ui/runs/a-run.json`);
    await page.waitForSelector(".notice:has-text('Nothing was found.')");
    await page.click(".notice a:text-is('An extraction')");
    await page.waitForSelector("text=A model read all 4 chunks");
    await page.click("td a:text-is('1,001–2,000')");
    await page.waitForFunction(() => document.querySelector(".row.at .n")?.textContent === "1001");
    await page.goto(`${served.origin}/ui/runs/${alone}`);
    await page.waitForSelector("text=Nothing was found.");
    assert.match(await page.textContent(".notice"), /needs no model, found no passage/);
    await page.context().close();
  },

  async "a huge trace is paged"() {
    const page = await open(served);
    trace("huge.json", run_of(20_000, true));
    const begun = Date.now();
    await page.goto(`${served.origin}/ui/runs/huge.json`);
    await page.waitForSelector("text=page 1 of");
    console.log(`  a trace of ${(fs.statSync(path.join(traces, "huge.json")).size / 2 ** 20).toFixed(0)} MiB after ${Date.now() - begun} ms; the server used at most ${served.memory().toFixed(0)} MB`);
    await page.click("text=Last");
    await page.waitForSelector(".steps summary:has-text('turn 19999')");
    await page.click(".steps summary:has-text('turn 19999')");
    await page.waitForSelector(".steps details[open] .figures");
    assert.ok(served.memory() < 400, `${served.memory()} MB`);
    fs.rmSync(path.join(traces, "huge.json"));
    await page.context().close();
  },

  async "similar lines fold, levels filter, and a row leads to its line"() {
    const page = await open(served);
    await page.goto(`${served.origin}/ui/a/${handles.log}`);
    await page.waitForSelector(".viewer .row .t");
    await page.selectOption("select[name=lens]", "folded");
    await page.waitForSelector(".more-lines");
    const label = await page.textContent(".viewer .row:has(.more-lines) .n >> nth=0");
    await page.selectOption("select[name=lens]", "errors");
    await page.waitForFunction(() => { const rows = [...document.querySelectorAll(".viewer .row")]; return rows.length > 9 && rows.every((row) => row.classList.contains("e")); });
    assert.match(await page.textContent(".found-line"), /^42 rows/);
    await page.click(".viewer .row >> nth=3");
    await page.waitForFunction(() => document.querySelector(".row.at .t")?.textContent.includes("ERROR"));
    assert.equal(await page.inputValue("select[name=lens]"), "");
    assert.ok(Number(label) > 0);
    await page.context().close();
  },

  async "a gateway shows its servers, clients, settings and log"() {
    const of = await busy("gateway-store", '[servers.broken]\ncommand = "/nowhere/broken"\n');
    for (const colorScheme of ["light", "dark"]) {
      const page = await open(of, { colorScheme });
      await page.goto(`${of.origin}/ui/gateway`);
      await page.waitForSelector("tr[data-key=lab] .badge.good");
      const text = await page.textContent("main");
      // Three tools, 20 calls, 2 of which failed.
      const cells = await page.$$eval("tr[data-key=lab] td", (cells) => cells.map((cell) => cell.textContent));
      assert.deepEqual(cells.slice(0, 5), ["up", "node", "3", "20", "2 (10.0%)"]);
      assert.match(text, /tester/);
      assert.match(text, /servers\.lab\.command/);
      assert.match(text, /broken/);
      for (const secret of ["hunter2", "kJ8sWq2L"]) assert.ok(!text.includes(secret), secret);
      assert.equal(await page.evaluate(() => window.bad), undefined);
      await picture(page, `gateway-${colorScheme}`);
      await accessible(page, `gateway ${colorScheme}`);
      paints.gateway = await weighed(page);
      assert.ok(paints.gateway.kilobytes <= 200, `${paints.gateway.kilobytes} KB`);
      await page.context().close();
    }
    for (const width of [400, 2000]) {
      const page = await open(of, { viewport: { width, height: 900 } });
      await page.goto(`${of.origin}/ui/gateway`);
      await picture(page, `gateway-${width}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `the gateway is ${wide} pixels wider than ${width}`);
      await page.context().close();
    }
    of.end();
  },

  async "nothing moves by itself"() {
    const of = await busy("still-store");
    for (const width of [400, 1280]) {
      for (const [at, all] of [[served, views(served.origin)], [of, { gateway: `${of.origin}/ui/gateway` }]]) {
        const page = await open(at, { viewport: { width, height: 900 } });
        for (const [name, address] of Object.entries(all)) {
          await page.goto(address);
          await quiet(page);
          if (name === "find") await page.waitForSelector(".hit");
          await page.waitForTimeout(400);
          const moved = await page.evaluate(() => window.shifts);
          const sum = moved.reduce((sum, one) => sum + one.value, 0);
          assert.ok(sum < 0.01, `${name} at ${width}: ${sum} ${JSON.stringify(moved)}`);
        }
        await page.context().close();
      }
    }
    of.end();
  },

  async "keys lead through runs, operations, folded logs and the gateway"() {
    const page = await open(served);
    const focused = () => page.evaluate(() => document.activeElement.textContent.trim());
    // The first stop of the Tab key skips the navigation.
    await page.keyboard.press("Tab");
    assert.equal(await focused(), "Skip to the content");
    await page.goto(`${served.origin}/ui/runs`);
    await page.waitForSelector(".runs a.open");
    const names = await page.$$eval(".runs a.open", (links) => links.map((link) => link.href));
    assert.ok(names.length >= 3, names.join());
    const link = () => page.evaluate(() => document.activeElement.href);
    await page.keyboard.press("j");
    assert.equal(await link(), names[0]);
    await page.keyboard.press("j");
    assert.equal(await link(), names[1]);
    await page.keyboard.press("k");
    assert.equal(await link(), names[0]);
    const ring = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.equal(ring, "solid", "the focus is seen");
    await page.keyboard.press("Enter");
    await page.waitForURL(names[0]);
    await page.goto(`${served.origin}/ui/runs/a-run.json`);
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    assert.match(await focused(), /turn 0/);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".steps details[open] .figures");
    await accessible(page, "an opened operation");
    await page.goto(`${served.origin}/ui/a/${handles.log}?lens=folded`);
    await page.waitForSelector(".more-lines");
    await page.keyboard.press("G");
    await page.waitForFunction(() => [...document.querySelectorAll(".viewer .row .n")].at(-1)?.textContent >= "3900");
    const before = await page.textContent(".viewer .row .n >> nth=0");
    await page.keyboard.press("k");
    await page.waitForFunction((before) => document.querySelector(".viewer .row .n")?.textContent !== before, before);
    await page.keyboard.press("g");
    await page.waitForFunction(() => document.querySelector(".viewer .row .n")?.textContent === "1");
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.name), "what");
    await page.keyboard.type("refused");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".found a.line");
    await accessible(page, "a look-up");
    await page.keyboard.press("Escape");
    await page.click("summary:has-text('Remove')");
    await accessible(page, "the question before a removal");
    await page.keyboard.press("?");
    await page.waitForSelector("dialog[open]");
    await accessible(page, "the keys");
    await page.keyboard.press("Escape");
    assert.equal(await page.$("dialog[open]"), null);
    await page.keyboard.press("u");
    await page.waitForURL(`${served.origin}/ui/`);
    await page.context().close();
    // All that can be scrolled in the gateway's view can be reached by Tab.
    const of = await busy("keys-store");
    const other = await open(of);
    await other.goto(`${of.origin}/ui/gateway`);
    await other.waitForSelector("tr[data-key=lab]");
    const reached = new Set();
    for (let step = 0; step < 30; step++) {
      await other.keyboard.press("Tab");
      reached.add(await other.evaluate(() => document.activeElement.getAttribute("aria-label")));
    }
    for (const label of ["Servers", "Settings in force"]) assert.ok(reached.has(label), `${label}: ${[...reached]}`);
    await other.context().close();
    of.end();
  },

  async "what is printed is on paper, and nothing else"() {
    const page = await open(served);
    for (const [name, address] of Object.entries(views(served.origin))) {
      await page.goto(address);
      await quiet(page);
      await page.emulateMedia({ media: "print" });
      for (const part of [".top", "footer", ".filters", ".buttons", ".look-up"])
        for (const element of await page.$$(part)) assert.ok(!(await element.isVisible()), `${part} of ${name}`);
      const paper = await page.pdf({ format: "A4" });
      const pages = paper.toString("latin1").match(/\/Type\s*\/Page\b/g)?.length ?? 0;
      assert.ok(pages >= 1 && pages <= 12, `${name} has ${pages} pages`);
      await page.emulateMedia({ media: null });
    }
    await page.context().close();
  },

  async "a gateway with one server says how many tools it has"() {
    const of = await busy("one-store");
    const page = await open(of);
    await page.goto(`${of.origin}/ui/gateway`);
    await page.waitForSelector("tr[data-key=lab] .badge.good");
    const cells = await page.$$eval("tr[data-key=lab] td", (cells) => cells.map((cell) => cell.textContent));
    assert.deepEqual(cells.slice(0, 5), ["up", "node", "3", "20", "2 (10.0%)"]);
    await page.context().close();
    of.end();
  },

  async "a long call shows its end"() {
    for (const width of [400, 800, 1280]) {
      const page = await open(served, { viewport: { width, height: 900 } });
      await page.goto(`${served.origin}/ui/?q=compiling`);
      const box = await page.$eval(".call .end", (end) => ({ text: end.textContent, right: end.getBoundingClientRect().right, edge: end.closest("td").getBoundingClientRect().right }));
      assert.match(box.text, /exit 2'?$/);
      assert.ok(box.right <= box.edge, `${width}: ${JSON.stringify(box)}`);
      await page.context().close();
    }
  },

  async "the first paint of each view"() {
    const of = await busy("paint-store");
    const rounds = FIGURES ? 9 : 1;
    for (const [at, all] of [[served, views(served.origin)], [of, { gateway: `${of.origin}/ui/gateway` }]]) {
      const page = await open(at);
      for (const [name, address] of Object.entries(all)) {
        const seen = [];
        for (let round = 0; round <= rounds; round++) {
          await page.goto(address);
          await quiet(page);
          if (round > 0) seen.push(await weighed(page));
        }
        const paint = seen.map((one) => one.paint).sort((one, other) => one - other)[rounds >> 1];
        figures.views[name] = { paint, kilobytes: Math.max(...seen.map((one) => one.kilobytes)) };
      }
      await page.context().close();
    }
    of.end();
  },

  async "the list updates itself, and keeps the focus"() {
    const page = await open(served);
    await page.keyboard.press("j");
    const focused = await page.evaluate(() => document.activeElement.closest("tr").dataset.key);
    const handle = put(store, "new.log", "a new line\n".repeat(5000), "--tool", "watched");
    await page.waitForSelector(`tr[data-key="${handle}"]`, { timeout: 15_000 });
    assert.equal(await page.evaluate(() => document.activeElement.closest("tr")?.dataset.key), focused);
    await page.fill("#filters input[type=search]", "watched");
    await page.waitForFunction(() => document.querySelectorAll("tr[data-key]").length === 1);
    assert.match(page.url(), /q=watched/);
    await page.context().close();
  },

  async "look-ups are those of the tools"() {
    const page = await open(served);
    await page.goto(`${served.origin}/ui/a/${handles.log}`);
    await page.fill(".look-up input[name=what]", "worker FAILED");
    await page.press(".look-up input[name=what]", "Enter");
    await page.waitForFunction(() => document.querySelector(".found").textContent.length > 5);
    const command = await page.textContent(".command");
    assert.equal(command, `spillgate grep ${handles.log} -i 'worker FAILED'`);
    const found = await page.textContent(".found");
    const told = run(["grep", "--store", store, "-i", "-m", "5", handles.log, "worker FAILED"], { program: SPILLGATE });
    for (const line of told.trim().split("\n")) assert.ok(found.includes(line), line);
    await page.click(".found a.line >> nth=3");
    // The row is marked before its text is there.
    await page.waitForFunction(() => document.querySelector(".row.at .t")?.textContent);
    assert.match(await page.textContent(".row.at .t"), /ERROR worker failed/);
    await page.goto(`${served.origin}/ui/a/${handles.json}`);
    await page.selectOption(".look-up select", "query");
    await page.fill(".look-up input[name=what]", ".items | length");
    await page.press(".look-up input[name=what]", "Enter");
    await page.waitForFunction(() => /3000/.test(document.querySelector(".found").textContent));
    // The second page of a long result begins at a byte of it. A filter is no option.
    await page.fill(".look-up input[name=what]", "-1 as $x | .");
    await page.press(".look-up input[name=what]", "Enter");
    await page.waitForFunction(() => /^next: /m.test(document.querySelector(".found").textContent));
    const first = await page.textContent(".found");
    assert.equal(await page.textContent(".command"), `spillgate query ${handles.json} -- '-1 as $x | .'`);
    const [, byte] = /^next: .*\bstart=0, byte=(\d+)/m.exec(first);
    await page.click(".more");
    await page.waitForFunction((first) => ![first, "…"].includes(document.querySelector(".found").textContent), first);
    assert.match(await page.textContent(".command"), new RegExp(` --byte ${byte} -- `));
    await page.context().close();
  },

  async "a tree opens, and a path of the shape asks jq"() {
    const page = await open(served);
    await page.goto(`${served.origin}/ui/a/${handles.json}`);
    await page.click(".tree summary >> nth=0");
    await page.waitForSelector(".tree details details");
    await page.click(".tree details details >> nth=0 >> summary");
    await page.waitForSelector(".tree .string");
    await quiet(page);
    await page.click("a.path[data-path='.items[].name'] >> nth=0");
    await page.waitForFunction(() => document.querySelector(".found").textContent.includes("item 7"));
    await page.context().close();
  },

  async "pins, removal with a question, differences, errors by key"() {
    const page = await open(served);
    await page.goto(`${served.origin}/ui/a/${handles.code}`);
    await page.click("text=Pin");
    await page.waitForSelector("text=Unpin");
    await page.click("summary:has-text('Remove')");
    await page.click("button.danger");
    assert.ok(page.url().includes(handles.code), "the box must be ticked first");
    await page.check("input[name=sure]");
    await page.click("button.danger");
    await page.waitForURL(`${served.origin}/ui/`);
    assert.equal(await page.$(`tr[data-key="${handles.code}"]`), null);
    handles.code = put(store, "settings2.rs", Array.from({ length: 900 }, (_, at) => `pub fn function_${at}() {}\n`).join("\n"));
    await page.goto(`${served.origin}/ui/?q=seq`);
    await page.click("tr[data-key] a.open >> nth=0");
    await page.click("text=Difference");
    await page.waitForSelector("text=1 line added");
    await page.goto(`${served.origin}/ui/?failed=1`);
    await page.click("tr[data-key] a.open >> nth=0");
    await page.waitForSelector(".viewer .row.e, .viewer .row");
    await page.keyboard.press("n");
    // The row is marked before its text is there.
    await page.waitForFunction(() => document.querySelector(".row.at .t")?.textContent);
    assert.match(await page.textContent(".row.at .t"), /expected ; before/);
    await page.keyboard.press("?");
    await page.waitForSelector("dialog[open]");
    await page.context().close();
  },

  async "a log of a gigabyte is read to its end, and memory is bounded"() {
    const own = at("large");
    const { handle, lines, errors: failures, rows } = large(own);
    const of = await serve(own);
    const page = await open(of);
    const begun = Date.now();
    await page.goto(`${of.origin}/ui/a/${handle}`);
    await page.waitForFunction(() => document.querySelector(".viewer .row .t")?.textContent.includes("request 1 done"));
    console.log(`  first lines of ${LARGE} bytes after ${Date.now() - begun} ms`);
    await quiet(page);
    const after = of.memory();
    await page.click(".viewer");
    const ended = Date.now();
    await page.keyboard.press("End");
    await page.waitForFunction((last) => [...document.querySelectorAll(".viewer .row")].at(-1)?.textContent.includes(`the last line ${last}`), lines);
    console.log(`  the last line after ${Date.now() - ended} ms`);
    await picture(page, "large-end");
    // The scroll bar, the wheel, and a line by its number.
    await page.$eval(".viewer", (box) => { box.scrollTop = box.scrollHeight / 2; });
    await page.waitForFunction((half) => Math.abs(Number(document.querySelector(".viewer .row .n")?.textContent) - half) < half / 50, lines / 2);
    const before = Number(await page.textContent(".viewer .row .n"));
    await page.hover(".viewer");
    await page.mouse.wheel(0, 200);
    await page.waitForFunction((before) => Number(document.querySelector(".viewer .row .n")?.textContent) === before + 10, before);
    await page.fill("input[name=line]", "123456");
    await page.press("input[name=line]", "Enter");
    await page.waitForFunction(() => document.querySelector(".row.at .t")?.textContent.includes("request 123456 done"));
    for (let step = 0; step < 40; step++) {
      await page.$eval(".viewer", (box, part) => { box.scrollTop = box.scrollHeight * part; }, step / 40);
      await page.waitForTimeout(60);
    }
    // Folded, or with its errors only, it is read to its end, too.
    const rowsOf = async (lens, want) => {
      const begun = Date.now();
      await page.selectOption("select[name=lens]", lens);
      await page.waitForFunction(() => /rows?$/.test(document.querySelector(".found-line").textContent), null, { timeout: 240_000 });
      console.log(`  ${lens} in ${Date.now() - begun} ms: ${await page.textContent(".found-line")}`);
      assert.equal(Number((await page.textContent(".found-line")).split(" ")[0].replaceAll(",", "")), want, lens);
      await page.$eval(".viewer", (box) => box.focus());
      await page.keyboard.press("Home");
      await page.keyboard.press("End");
      await page.waitForFunction((last) => [...document.querySelectorAll(".viewer .row")].at(-1)?.textContent.includes(`the last line ${last}`), lines);
    };
    await rowsOf("folded", rows);
    await page.waitForSelector(".more-lines");
    await picture(page, "large-folded");
    await rowsOf("errors", failures);
    assert.ok((await page.$$eval(".viewer .row", (rows) => rows.every((row) => row.classList.contains("e")))), "only errors");
    await page.selectOption("select[name=lens]", "");
    await page.waitForFunction(() => document.querySelectorAll(".viewer .row").length > 9);
    const jumped = Date.now();
    await page.$eval(".viewer", (box) => box.focus());
    await page.keyboard.press("p");
    await page.waitForFunction(() => /line/.test(document.querySelector(".found-line").textContent), null, { timeout: 60_000 });
    figures.log = { bytes: LARGE, before: after, most: of.memory() };
    console.log(`  an error was looked for in ${Date.now() - jumped} ms; the server used at most ${after.toFixed(0)} MB before and ${of.memory().toFixed(0)} MB after`);
    assert.ok(of.memory() < 400, `${of.memory()} MB`);
    // An unoptimized program does not make the shape of a gigabyte within the time limit of a look-up.
    const late = errors.findIndex((error) => error.includes("503"));
    if (late >= 0) errors.splice(late, 1);
    of.end();
    await page.context().close();
  },

  async "a hundred thousand outputs stay quick"() {
    const own = at("many");
    many(store, own);
    const of = await serve(own);
    const begun = Date.now();
    const page = await open(of);
    await page.waitForSelector("tr[data-key]");
    console.log(`  the first page of ${MANY} outputs after ${Date.now() - begun} ms`);
    await page.waitForFunction(() => !document.querySelector("#list").textContent.includes("still being read"), null, { timeout: 300_000 });
    console.log(`  all of them are known after ${Date.now() - begun} ms`);
    for (const query of ["", `page=${Math.floor(MANY / 200)}`, "q=tool_7&order=size", "order=tokens&server=github", `q=number%22%3A${MANY - 5}`]) {
      const asked = Date.now();
      await page.goto(`${of.origin}/ui/?${query}`);
      await page.waitForSelector("tr[data-key]");
      const took = Date.now() - asked;
      console.log(`  ${query || "newest first"}: ${took} ms`);
      assert.ok(took < 3000, `${query}: ${took} ms`);
    }
    await picture(page, "many");
    of.end();
    await page.context().close();
  },

  async "what a person looks for is found"() {
    const page = await open(served);
    // The biggest output of today.
    await page.selectOption("#filters select[name=since]", "1d");
    await page.waitForURL(/since=1d/);
    await page.selectOption("#filters select[name=order]", "size");
    await page.waitForURL(/order=size/);
    assert.match(await page.textContent("tr[data-key] >> nth=0"), /log|items|list_items|journalctl/);
    // Which tool costs most.
    await page.click("text=Meter");
    const told = JSON.parse(run(["stats", "--json", "--store", store], { program: SPILLGATE }));
    const read = (sums) => sums.tokens_shown + sums.tokens_retrieved + sums.tokens_schema;
    const costs = Object.values(told.tools).map(read).sort((one, other) => other - one);
    const rows = await page.$$eval("section:has(h2:text-is('By tool')) td.cost", (cells) => cells.map((cell) => Number(cell.textContent.replace(/\D/g, ""))));
    assert.deepEqual(rows, costs);
    const dearest = await page.textContent("section:has(h2:text-is('By tool')) p");
    const name = await page.textContent("section:has(h2:text-is('By tool')) tbody th >> nth=0");
    assert.ok(dearest.startsWith(`${name} costs most: ${costs[0].toLocaleString("en-US")} tokens`), dearest);
    const shown = (await page.textContent(".card.main strong")).replace(/\D/g, "");
    assert.equal(Number(shown), told.total.tokens_saved);
    // What was looked up again adds up.
    const again = await page.$$eval("section:has(h2:text-is('Looked up again')) tbody tr td:last-child", (cells) => cells.reduce((sum, cell) => sum + Number(cell.textContent.replace(/\D/g, "")), 0));
    assert.equal(again, told.total.tokens_retrieved);
    await page.context().close();
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  if (ONLY && !ONLY.some((part) => name.includes(part))) continue;
  const begun = Date.now();
  try {
    await test();
    assert.deepEqual(errors.splice(0), [], "the browser reports errors");
    console.log(`ok    ${name} (${Date.now() - begun} ms)`);
  } catch (error) {
    failed++;
    errors.length = 0;
    console.log(`FAIL  ${name}\n${error.stack ?? error}`);
  }
}
for (const [name, { paint, kilobytes }] of Object.entries(paints)) console.log(`  ${name}: first paint after ${Math.round(paint)} ms, ${kilobytes} KB with script and style`);
if (FIGURES) fs.writeFileSync(FIGURES, JSON.stringify(figures));
served.end();
await end();
process.exit(failed ? 1 : 0);
