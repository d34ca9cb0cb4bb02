// Takes the pictures of the page in docs/ui.md. `cargo xtask screens --page` runs it.
//
// Environment, beside that of stage.mjs: PICTURES is the directory of the pictures. What they show is made by the program:
// commands and calls of tools with large results, look-ups, and a run of an agent whose model follows a script.
import { execFile } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { promisify } from "node:util";
import { SPILLGATE, at, end, environment, errors, gateway, newest, open, put, quiet, run, serve, server_of } from "./stage.mjs";

const { PICTURES } = process.env;
const store = at("store");
const numbers = (many) => Array.from({ length: many }, (_, at) => at);

// What servers and commands return.
const CITIES = ["Oslo", "Riga", "Porto", "Graz", "Lyon"];
const issues = numbers(420).map((at) => ({
  number: 4200 - at, state: at % 3 ? "open" : "closed", comments: (at * 7) % 23,
  title: ["Login fails behind a proxy", "Export of orders is slow", "Wrong total with two vouchers", "Search ignores umlauts"][at % 4],
  labels: [["bug", "login"], ["performance"], ["bug", "billing"], ["search"]][at % 4], author: { login: ["ada", "grace", "linus", "edsger"][at % 4], id: 1000 + at % 4 },
}));
const orders = numbers(2600).map((at) => `${90_000 + at},${CITIES[(at * 7) % 5]},${(((at * 7919) % 9000) / 10 + 9).toFixed(2)},${["paid", "shipped", "returned"][at % 3]}`);
const clock = (at) => `2026-11-26T${String(8 + Math.floor(at / 3600)).padStart(2, "0")}:${String(Math.floor(at / 60) % 60).padStart(2, "0")}:${String(at % 60).padStart(2, "0")}.${String((at * 37) % 1000).padStart(3, "0")}Z`;
const journal = numbers(5200).map((at) => {
  if (at % 650 === 400) return `${clock(at)} ERROR payment: connection refused to 10.0.4.17:5432, order ${90_000 + at}\n    at connect (/srv/shop/db.js:81:11)\n    at pay (/srv/shop/payment.js:240:7)\n    at handle (/srv/shop/server.js:33:3)`;
  if (at % 130 === 60) return `${clock(at)} WARN  queue: ${at % 90 + 200} orders wait`;
  return `${clock(at)} INFO  web: GET /orders/${90_000 + (at * 31) % 2600} 200 in ${at % 43 + 3} ms`;
}).join("\n");
const BUILD = `#!/bin/sh
seq 1 900 | awk '{ printf "   Compiling part-%03d v1.4.%d\\n", $1, $1 % 7 }'
echo "warning: unused variable: \\\`limit\\\`"
echo "  --> src/shop/cart.rs:41:9"
seq 901 1400 | awk '{ printf "   Compiling part-%03d v1.4.%d\\n", $1, $1 % 7 }'
echo "error[E0308]: mismatched types"
echo "  --> src/shop/price.rs:112:17"
echo "    |"
echo "112 |     let total: u64 = price * 1.25;"
echo "    |                      ^^^^^^^^^^^^ expected u64, found f64"
echo "error: could not compile shop (lib) due to 1 previous error; 1 warning emitted"
exit 101
`;

// A model that follows scripts: an agent that looks into a log and asks for the cause, and answers with citations.
const STEPS = [
  { read_journal: { unit: "shop" }, list_deploys: {} },
  { tool_output: { handle: "HANDLE", extract: "Which address do failed payments connect to? Quote a line.", mode: "full-chunked" } },
  { tool_output: { handle: "HANDLE", extract: "Which user changed the address of the database?", mode: "search" }, list_deploys: {} },
  { agent__final_report: { report_content: "Payments fail because the database at 10.0.4.17:5432 refuses connections. The log does not say who changed the address." } },
];
const model = http.createServer((request, response) => {
  let body = "";
  request.on("data", (data) => { body += data; });
  request.on("end", () => {
    const { messages } = JSON.parse(body);
    const turn = messages.filter((one) => one.role === "assistant").length;
    const nonce = /<ai-agent-([0-9a-f]+)-FINAL/.exec(body)?.[1];
    const isAgent = JSON.stringify(messages[0]).includes("You keep a shop running");
    const line = journal.split("\n").findIndex((one) => one.includes("ERROR")) + 1;
    const answer = `Failed payments connect to "10.0.4.17:5432" (L${line}): "connection refused to 10.0.4.17:5432, order 90400" (L${line}). The port before was 5433.`;
    const handle = body.match(/session-[0-9a-f-]{36}\/[0-9a-f-]{36}/g)?.at(-1);
    const calls = Object.entries(STEPS[turn] ?? {}).map(([name, args], at) => ({ id: `call-${turn}-${at}`, type: "function", function: { name, arguments: JSON.stringify(args).replace("HANDLE", handle) } }));
    const message = isAgent ? { role: "assistant", content: null, tool_calls: calls } : { role: "assistant", content: `<ai-agent-${nonce}-FINAL format="text">${answer}</ai-agent-${nonce}-FINAL>` };
    const tokens = Math.round(body.length / 4);
    // A model takes a moment.
    setTimeout(() => {
      response.setHeader("Content-Type", "application/json");
      response.end(JSON.stringify({ id: "reply", object: "chat.completion", model: "reader", choices: [{ index: 0, message, finish_reason: "stop" }], usage: { prompt_tokens: tokens, completion_tokens: 60, total_tokens: tokens + 60 } }));
    }, 300 + 200 * turn);
  });
});
await new Promise((done) => model.listen(0, "127.0.0.1", done));

const SHOP = { read_journal: journal, list_deploys: "2026-11-25 17:40 shop 3.2.0\n2026-11-26 08:05 shop 3.2.1" };
server_of("shop", SHOP);
const providers = `[providers.mock]\nkind = "openai"\nbase_url = "http://127.0.0.1:${model.address().port}/v1"\nkey_env = "MOCK_KEY"\nstream = false
[models."mock/reader"]\nwindow = 128000\nmax_output = 4096\nprices = { input = 2.5, output = 10.0, cached_input = 0.5 }\n`;
fs.appendFileSync(at("spillgate.toml"), providers);
fs.writeFileSync(at(".ai-agent.json"), JSON.stringify({ mcpServers: { shop: { command: "node", args: [at("shop.mjs")] } } }));
fs.writeFileSync(at("shop.ai"), "---\nmodels: mock/reader\ntools: [shop]\n---\nYou keep a shop running, and find out why something fails.\n");
fs.writeFileSync(at("build.sh"), BUILD, { mode: 0o755 });
fs.writeFileSync(at("journal.log"), journal);
const inHome = { cwd: at(""), stdio: ["pipe", "pipe", "ignore"], env: { ...environment, MOCK_KEY: "sk-mock-0123456789abcdef" } };
// The model answers in this process, so it must not wait for the program.
const started = (...args) => promisify(execFile)(SPILLGATE, args, { ...inHome, maxBuffer: 1 << 28 });

// Stores what the pictures show. Returns handles and a gateway that runs.
async function fill() {
  const handles = {};
  const servers = server_of("tracker", { search_issues: JSON.stringify({ total_count: 420, items: issues }), get_issue: JSON.stringify(issues[0]), wrong: "no such issue" })
    + server_of("postgres", { query: `id,city,total,state\n${orders.join("\n")}\n`, list_tables: "orders, customers, vouchers" })
    + server_of("mail", { search_mail: "nothing new" });
  const of = await gateway(store, servers, "claude-code");
  for (const at of numbers(9)) await of.call("get_issue", { number: 4200 - at });
  await of.call("wrong", { number: 1 });
  await of.call("search_issues", { query: "is:open label:bug" });
  handles.tree = newest(store);
  await of.call("list_tables");
  await of.call("query", { sql: "select id, city, total, state from orders where day = '2026-11-26'" });
  handles.table = newest(store);
  put(store, "readings.ndjson", numbers(3000).map((at) => JSON.stringify({ sensor: `hall-${at % 12}`, degrees: 18 + (at * 13) % 90 / 10 })).join("\n"), "--tool", "read_sensors");
  // The build fails with 101, and a search that finds nothing with 1.
  const known = (args) => { try { run(args, inHome); } catch (error) { if (![1, 101].includes(error.status)) throw error; } };
  const command = (...words) => known(["run", "--store", store, "-q", "--", ...words]);
  command("sh", "-c", "grep -v health journal.log | sort | uniq");
  command("cat", "journal.log");
  handles.log = newest(store);
  command("./build.sh");
  handles.build = newest(store);
  for (const look of [["grep", handles.build, "error"], ["grep", handles.log, "payment: .* refused"], ["query", handles.tree, ".items[] | select(.comments > 20) | .title"], ["search", handles.log, "which address is refused"], ["grep", handles.log, "OutOfMemory"], ["read", handles.log, "--start", "400"]])
    known([look[0], "--store", store, ...look.slice(1)]);
  run(["pin", "--store", store, handles.log], inHome);
  await started("agent", "--quiet", "shop.ai", "Payments fail since 8 o'clock. Find out why.");
  await started("extract", "--store", store, "--model", "mock/reader", "--mode", "full-chunked", handles.log, "Which address do failed payments connect to?");
  await started("extract", "--store", store, "--mode", "search", handles.log, "zebra crossing permits");
  return { handles, of };
}

const { handles, of } = await fill();
const served = await serve(store);
const traces = fs.readdirSync(at("traces"));
const run_of = (part) => traces.find((name) => name.includes(part));

// Writes a picture as WebP, which is a quarter as large as PNG here.
async function take(page, name) {
  await quiet(page);
  await page.waitForTimeout(400);
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: 60 });
  fs.writeFileSync(path.join(PICTURES, `ui-${name}.webp`), Buffer.from(data, "base64"));
}

async function pictures(scheme, all) {
  for (const [name, [from, address, then]] of Object.entries(all)) {
    const page = await open(from, { colorScheme: scheme, viewport: { width: 1200, height: 720 } });
    await page.goto(from.origin + address);
    await quiet(page);
    await then?.(page);
    await take(page, name);
    await page.context().close();
  }
}

const extraction = async (page) => {
  await page.click(".runs tr:has-text('Which address') a.open >> nth=0");
  await page.waitForSelector("h2:text-is('Citations')");
};
await pictures("light", {
  list: [served, "/ui/"],
  output: [served, `/ui/a/${handles.build}`, async (page) => { await page.keyboard.press("n"); await page.waitForSelector(".row.at .t"); }],
  folded: [served, `/ui/a/${handles.log}?lens=folded`, (page) => page.waitForSelector(".more-lines")],
  table: [served, `/ui/a/${handles.table}?tab=table&sort=3&down=1`],
  tree: [served, `/ui/a/${handles.tree}`, async (page) => { await page.click(".tree summary >> nth=0"); await page.waitForSelector(".tree details details"); await page.click(".tree details details >> nth=0 >> summary"); await page.waitForSelector(".tree .string"); }],
  find: [served, "/ui/find?what=refused", (page) => page.waitForSelector(".hit")],
  runs: [served, "/ui/runs"],
  run: [served, `/ui/runs/${run_of("shop")}`],
  extraction: [served, "/ui/runs", extraction],
  meter: [served, "/ui/meter?days=14"],
  gateway: [of, "/ui/gateway", (page) => page.waitForSelector("tr[data-key=tracker]")],
});
await pictures("dark", { "list-dark": [served, "/ui/"], "output-dark": [served, `/ui/a/${handles.log}`, async (page) => { await page.keyboard.press("n"); await page.waitForSelector(".row.at .t"); }] });
if (errors.length) throw new Error(errors.join("\n"));
served.end();
of.end();
model.close();
await end();
