// A server on the TypeScript SDK that speaks 2026-07-28 and nothing older.
//
// usage: node modern_server.mjs NODE_MODULES [--http]
// On stdin and stdout; with --http it says where it listens, and ends with stdin.

import { createServer as listener } from "node:http";
import { pathToFileURL } from "node:url";

const [modules, http] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/server/dist/${path}`).href);
const { Server, createMcpHandler, ProtocolError } = await load("index.mjs");
const { serveStdio } = await load("stdio.mjs");

const said = (text) => ({ content: [{ type: "text", text }] });
const form = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

const lines = (kb) => {
  const all = Array.from({ length: kb * 32 }, (_, n) => `${String(n).padStart(6, "0")} all is well, as it was`);
  return all.toSpliced(501, 1, "000501 NEEDLE-77b1 valve 17 stuck").join("\n");
};

const ask = ({ inputResponses, requestState }) => {
  if (requestState) return said(`done ${requestState} ${JSON.stringify(inputResponses)}`);
  const params = { mode: "form", message: "Who?", requestedSchema: form };
  return {
    resultType: "input_required",
    inputRequests: { who: { method: "elicitation/create", params }, where: { method: "roots/list" } },
    requestState: "first \u2028 \"round\"",
  };
};

const tools = {
  echo: ({ arguments: { message } }) => said(`Echo: ${message}`),
  journal: ({ arguments: { kb } }) => said(lines(kb)),
  ask,
  fail: () => ({ ...said("it failed"), isError: true }),
  break: () => {
    throw new ProtocolError(-32602, "it is broken");
  },
};

const factory = () => {
  const server = new Server({ name: "modern", version: "9" }, { capabilities: { tools: {}, prompts: {}, resources: {} } });
  server.setRequestHandler("tools/list", async () => ({
    tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: "object" } })),
  }));
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const round = { inputResponses: mcpReq.inputResponses, requestState: mcpReq.requestState() };
    return tools[params.name]({ arguments: {}, ...params, ...round });
  });
  server.setRequestHandler("prompts/list", async () => ({ prompts: [{ name: "greet" }] }));
  server.setRequestHandler("resources/list", async () => ({ resources: [{ uri: "r:1", name: "r" }] }));
  server.setRequestHandler("resources/read", async ({ params: { uri } }) => {
    if (uri !== "r:1") throw new ProtocolError(-32602, "Resource not found", { uri });
    return { contents: [{ uri, text: "hello" }] };
  });
  return server;
};

const serve = (handler) => async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const { method, url, headers } = request;
  const body = parts.length ? Buffer.concat(parts) : undefined;
  const answer = await handler.fetch(new Request(`http://${headers.host}${url}`, { method, headers, body }));
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  for await (const part of answer.body ?? []) response.write(part);
  response.end();
};

if (http) {
  const server = listener(serve(createMcpHandler(factory, { legacy: "reject" })));
  server.listen(0, "127.0.0.1", () => {
    process.stdout.write(`listening on http://127.0.0.1:${server.address().port}/mcp\n`);
  });
  process.stdin.on("end", () => process.exit(0)).resume();
} else {
  serveStdio(factory, { legacy: "reject" });
}
