// The TypeScript SDK's clients, told what to do by clients.py over stdin and stdout.
//
// usage: node sdk.mjs v1|v2|v2-modern NODE_MODULES COMMAND…|URL
// v2-modern speaks 2026-07-28 and nothing else. Says the result of tools/list, then answers each line
// `[tool, arguments]` with the result of that call, or `{"do": name, "with": arguments}` with what the client's own
// method of that name gives; or `{"refused": why, "code"}` where the client, not the server, would not have it.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [generation, modules, command, ...args] = process.argv.slice(2);
const isFirst = generation === "v1";

const load = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/${path}`).href);
const one = (first, second) => load(isFirst ? `sdk/dist/esm/${first}.js` : `client/dist/${second}.mjs`);
const { Client } = await one("client/index", "index");
const { StdioClientTransport } = await one("client/stdio", "stdio");
const { StreamableHTTPClientTransport } = await one("client/streamableHttp", "index");

const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const attempt = async (work) => {
  try {
    return await work();
  } catch (error) {
    return { refused: String(error?.message ?? error), code: error?.code };
  }
};

// What a server may ask.
const answers = {
  "elicitation/create": ({ params }) =>
    params.mode === "url" ? { action: "accept" } : { action: "accept", content: { name: "Ada" } },
  "sampling/createMessage": () => ({ role: "assistant", content: { type: "text", text: "sampled" }, model: "m" }),
  "roots/list": () => ({ roots: [{ uri: "file:///x", name: "x" }] }),
};
const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const options = generation === "v2-modern" ? { versionNegotiation: { mode: { pin: "2026-07-28" } } } : {};
const client = new Client({ name: `typescript-${generation}`, version: "1" }, { capabilities, ...options });
const schemas = isFirst ? await load("sdk/dist/esm/types.js") : {};
const named = {
  "elicitation/create": schemas.ElicitRequestSchema,
  "sampling/createMessage": schemas.CreateMessageRequestSchema,
  "roots/list": schemas.ListRootsRequestSchema,
};
for (const [method, answer] of Object.entries(answers)) {
  client.setRequestHandler(isFirst ? named[method] : method, async (request) => answer(request));
}
const transport = command.startsWith("http:")
  ? new StreamableHTTPClientTransport(new URL(command))
  : new StdioClientTransport({ command, args, stderr: "inherit", env: process.env });

const opened = await attempt(() => client.connect(transport));
say(opened?.refused ? opened : await attempt(() => client.listTools()));
for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  const [name, given] = asked.do ? [] : asked;
  say(await attempt(() => (asked.do ? client[asked.do](asked.with) : client.callTool({ name, arguments: given }))));
}
await client.close();
