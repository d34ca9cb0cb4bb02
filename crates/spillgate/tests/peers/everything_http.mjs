// server-everything over Streamable HTTP with sessions, on a free port of loopback: its own way of serving HTTP
// listens on all interfaces.
//
// usage: node everything_http.mjs NODE_MODULES LOG
// Says its address, then serves until stdin ends; each frame that it is sent is a line of LOG.

import { appendFileSync } from "node:fs";
import { createServer as listener } from "node:http";
import { randomUUID } from "node:crypto";
import { pathToFileURL } from "node:url";

const [modules, log] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/${path}`).href);
const { createServer } = await load("server-everything/dist/server/index.js");
const { StreamableHTTPServerTransport } = await load("sdk/dist/esm/server/streamableHttp.js");

const sessions = new Map();

const body = async (request) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString("utf8");
};

const open = async () => {
  const { server, cleanup } = createServer();
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => sessions.set(id, transport),
    onsessionclosed: (id) => cleanup(id),
  });
  await server.connect(transport);
  return transport;
};

const server = listener(async (request, response) => {
  const text = await body(request);
  if (text) appendFileSync(log, `${JSON.stringify(["client", text])}\n`);
  const id = request.headers["mcp-session-id"];
  const transport = id ? sessions.get(id) : await open();
  if (!transport) return response.writeHead(404).end();
  await transport.handleRequest(request, response, text ? JSON.parse(text) : undefined);
});
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`listening on http://127.0.0.1:${server.address().port}/mcp\n`);
});
process.stdin.on("end", () => process.exit(0)).resume();
