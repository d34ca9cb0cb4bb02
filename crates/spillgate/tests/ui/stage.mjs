// What the tests of the page and its pictures have in common: a home with stores, the program, gateways, and a browser.
//
// Environment: SPILLGATE is the program, STORER a program that fills the store (default: SPILLGATE), BROWSER a Chromium,
// MODULES the directory of playwright-core and axe-core.
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";

export const { SPILLGATE } = process.env;
const STORER = process.env.STORER ?? SPILLGATE;
// Playwright wants a path.
const BROWSER = execFileSync("sh", ["-c", 'command -v "$BROWSER"'], { encoding: "utf8" }).trim();
export const require = createRequire(path.join(process.env.MODULES, "x.js"));
const { chromium } = require("playwright-core");

const home = fs.mkdtempSync(path.join(os.tmpdir(), "spillgate-ui-"));
export const at = (name) => path.join(home, name);
export const environment = { PATH: process.env.PATH, HOME: home, SPILLGATE_CONFIG: at("spillgate.toml") };
export const traces = at("traces");
fs.writeFileSync(at("spillgate.toml"), `[ui]\ntraces = ${JSON.stringify(traces)}\n`);

export function run(args, options = {}) {
  return execFileSync(options.program ?? STORER, args, { env: environment, encoding: "utf8", maxBuffer: 1 << 28, input: "", ...options });
}

// Stores a text as the output of a tool, and returns its handle.
export function put(store, name, text, ...more) {
  fs.writeFileSync(at(name), text);
  return stored(store, at(name), ...more);
}

export function stored(store, file, ...more) {
  const told = JSON.parse(run(["put", "--json", "--store", store, ...more, file]));
  return told.handle;
}

// Returns the handle of the newest output.
export function newest(store) {
  return /"handle":\s*"([a-z]+)"/.exec(run(["ls", "--store", store, "--json", "--limit", "1"]))[1];
}

// Returns a server that answers each of these tools with a text, or with an error if its name is `wrong`.
const server = (texts) => `
const texts = ${JSON.stringify(texts)};
process.stdin.setEncoding("utf8");
let rest = "";
process.stdin.on("data", (data) => {
  const lines = (rest + data).split("\\n");
  rest = lines.pop();
  for (const line of lines) answer(JSON.parse(line));
});
function answer({ id, method, params }) {
  if (id === undefined) return;
  const tools = Object.keys(texts).map((name) => ({ name, description: "a tool", inputSchema: { type: "object" } }));
  const results = {
    initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "lab", version: "1" } },
    "tools/list": { tools },
    "tools/call": { content: [{ type: "text", text: texts[params?.name] }], isError: params?.name === "wrong" },
  };
  const known = results[method];
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(known ? { result: known } : { error: { code: -32601, message: "no" } }) }));
}
`;

// Writes a server with these texts of tools, and returns its table in a configuration file.
export function server_of(name, texts, more = "") {
  const file = at(`${name}.mjs`);
  fs.writeFileSync(file, server(texts));
  return `[servers.${name}]\ncommand = "node"\nargs = [${JSON.stringify(file)}, "--password", "hunter2hunter2"]\n${more}`;
}

// Starts a gateway over HTTP in front of the servers of a configuration. A client named `name` comes in and lists the tools.
// Returns the link, how to send requests and call tools, and how to end it.
export async function gateway(store, servers, name) {
  const config = `${store}.toml`;
  fs.writeFileSync(config, `[ui]\nenabled = true\n[http]\nlisten = "127.0.0.1:0"\n${servers}`);
  const child = spawn(SPILLGATE, ["mcp", "--http", "127.0.0.1:0", "--store", store], { env: { ...environment, SPILLGATE_CONFIG: config }, stdio: ["ignore", "ignore", "pipe"] });
  process.on("exit", () => child.kill("SIGKILL"));
  let told = "";
  const link = await new Promise((done, fail) => {
    child.stderr.on("data", (data) => {
      told += data;
      const found = /the page is at (\S+)/.exec(told);
      if (found) done(found[1]);
    });
    child.on("exit", () => fail(new Error(told)));
  });
  const { origin } = new URL(link);
  let session, id = 0;
  const send = async (method, params, more = { id: ++id }) => {
    const headers = { "Content-Type": "application/json", Accept: "application/json, text/event-stream", ...(session ? { "Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-06-18" } : {}) };
    const answer = await fetch(`${origin}/mcp`, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", method, params, ...more }) });
    session ??= answer.headers.get("Mcp-Session-Id");
    return answer.text();
  };
  await send("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name, version: "1" } });
  await send("notifications/initialized", {}, {});
  const listed = await send("tools/list", {});
  // With several servers, some names have that of their server before them.
  const call = (tool, args = {}) => send("tools/call", { name: new RegExp(`"name":"((?:[^"]*_)?${tool})"`).exec(listed)?.[1] ?? tool, arguments: args });
  return { link, origin, call, end: () => child.kill("SIGTERM") };
}

// Starts `spillgate ui`, and returns the link and how to end it.
export async function serve(store) {
  const child = spawn(SPILLGATE, ["ui", "--json", "--port", "0", "--store", store], { env: environment, stdio: ["ignore", "pipe", "ignore"] });
  const link = await new Promise((done) => child.stdout.once("data", (data) => done(JSON.parse(data).link)));
  const memory = () => Number(/VmHWM:\s+(\d+)/.exec(fs.readFileSync(`/proc/${child.pid}/status`, "utf8"))[1]) / 1024;
  // A test that fails leaves no server behind.
  process.on("exit", () => child.kill("SIGKILL"));
  return { link, origin: new URL(link).origin, memory, end: () => child.kill("SIGTERM") };
}

const browser = await chromium.launch({ executablePath: BROWSER, args: ["--no-sandbox"] });

// What browsers reported as an error, and requests to other servers.
export const errors = [];

// Adds up how far things move by themselves, as browsers measure it.
function shifts() {
  window.shifts = [];
  new PerformanceObserver((list) => {
    for (const one of list.getEntries()) {
      const what = one.sources.map(({ node }) => `${node?.nodeName}.${node?.className ?? node?.textContent.slice(0, 30)}`);
      if (!one.hadRecentInput) window.shifts.push({ value: one.value, what });
    }
  }).observe({ type: "layout-shift", buffered: true });
}

// Opens the page in a window of its own.
export async function open(served, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  await page.addInitScript(shifts);
  page.on("pageerror", (error) => errors.push(`${page.url()}: ${error}`));
  page.on("console", (message) => { if (message.type() === "error") errors.push(`${page.url()}: ${message.text()}`); });
  page.on("request", (request) => { if (new URL(request.url()).origin !== served.origin) errors.push(`a request to ${request.url()}`); });
  await page.goto(served.link);
  await page.waitForURL(`${served.origin}/ui/`);
  return page;
}

// Waits until the parts of the page that take a moment are there.
export const quiet = (page) => page.waitForFunction(() => [...document.querySelectorAll("[data-load]")].every((part) => part.textContent.trim() !== "…"), null, { timeout: 120_000 });

// Ends the browser and removes the home.
export async function end() {
  await browser.close();
  fs.rmSync(home, { recursive: true, force: true });
}
