// `spillgate wrap opencode --hooks` wrote this plugin; `spillgate unwrap opencode` removes it.
// It gives the result of each tool to `spillgate hook opencode`, which stores a result that is too
// large and answers with a preview. Whatever fails here, the result stays as it is.
import { spawn } from "node:child_process"

const COMMAND = ["spillgate"]
const TIME_LIMIT = 60_000 // milliseconds

function ask(event) {
  return new Promise((done) => {
    const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"] })
    const end = (answer) => {
      clearTimeout(timer)
      child.kill("SIGKILL")
      done(answer)
    }
    const timer = setTimeout(() => end(""), TIME_LIMIT)
    let answer = ""
    child.on("error", () => end(""))
    child.stdin.on("error", () => {})
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (part) => (answer += part))
    child.on("close", () => end(answer))
    child.stdin.end(JSON.stringify(event))
  })
}

export const Spillgate = async () => ({
  "tool.execute.after": async (input, output) => {
    try {
      const answer = await ask({
        hook_event_name: "tool.execute.after",
        session_id: input.sessionID,
        tool_name: input.tool,
        tool_use_id: input.callID,
        tool_input: input.args,
        tool_response: output,
      })
      if (answer) Object.assign(output, JSON.parse(answer))
    } catch {}
  },
})
