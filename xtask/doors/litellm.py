"""LiteLLM's proxy, configured with nothing but the address of `spillgate serve` and of a scripted model.

Usage: litellm.py DIRECTORY SPILLGATE

DIRECTORY is the virtual environment with the proxy. Two conversations, one in the form of OpenAI and one in that
of Anthropic, have a large result of a tool. The test checks what the model is sent: the preview in place of
the result, the whole of what the model asks for, and the same bytes before each new message.
"""

import http.server
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

KEY = "sk-scripted"
MASTER = "sk-" + os.urandom(32).hex()
LOG = "".join(
    f"2026-11-21T10:{n // 60 % 60:02}:{n % 60:02}Z "
    + ("ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7\n" if n == 700 else f"INFO worker-{n % 7} processed batch id={n * 7919 % 100003} ok\n")
    for n in range(1500)
)


class Model(http.server.BaseHTTPRequestHandler):
    """A model that says what its script says, and keeps what it was sent."""

    protocol_version = "HTTP/1.1"
    asked = []
    script = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        Model.asked.append((self.path, body))
        step = Model.script.pop(0) if Model.script else "Done."
        answer = (anthropic if self.path.endswith("/messages") else openai)(step, body)
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def hash_in(body):
    return re.search(r"hash=([a-f0-9]{24})", json.dumps(body)).group(1)


def arguments(step, body):
    return {name: hash_in(body) if value == "HASH" else value for name, value in step.items()}


def openai(step, body):
    message = {"role": "assistant", "content": step}
    if isinstance(step, dict):
        call = {"name": "headroom_retrieve", "arguments": json.dumps(arguments(step, body))}
        message = {"role": "assistant", "content": None, "tool_calls": [{"id": "call_r", "type": "function", "function": call}]}
    reason = "tool_calls" if isinstance(step, dict) else "stop"
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def anthropic(step, body):
    content = {"type": "text", "text": step}
    if isinstance(step, dict):
        content = {"type": "tool_use", "id": "toolu_r", "name": "headroom_retrieve", "input": arguments(step, body)}
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": [content],
        "stop_reason": "tool_use" if isinstance(step, dict) else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def post(url, body, headers):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{url}: {error.code} {error.read().decode()[:2000]}") from error


def started(spillgate, at, token):
    """Starts `spillgate serve` and returns the process and its address."""
    serving = subprocess.Popen(
        [spillgate, "serve", "--listen", "0", "--store", str(at / "store"), "--token-file", str(token)],
        stderr=subprocess.PIPE, text=True, env={**os.environ, "HOME": str(at)},
    )
    for line in serving.stderr:
        found = re.search(r"listening on (http://\S+)/v1", line)
        if found:
            threading.Thread(target=lambda: [None for _ in serving.stderr], daemon=True).start()
            return serving, found.group(1)
    raise SystemExit("spillgate serve did not start")


def proxied(directory, at, api, model):
    """Starts LiteLLM's proxy and returns the process and its address."""
    config = at / "litellm.yaml"
    config.write_text(json.dumps({
        "model_list": [
            {"model_name": "gpt", "litellm_params": {"model": "openai/scripted", "api_base": f"{model}/v1", "api_key": KEY}},
            {"model_name": "claude", "litellm_params": {"model": "anthropic/scripted", "api_base": model, "api_key": KEY}},
        ],
        "guardrails": [{
            "guardrail_name": "spillgate",
            "litellm_params": {"guardrail": "headroom", "mode": "pre_call", "api_base": api, "api_key": "secret-token", "default_on": True},
        }],
    }))
    port = free_port()
    environment = {**os.environ, "HOME": str(at), "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MASTER_KEY": MASTER, "NO_PROXY": "*"}
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        environment.pop(name, None)
    log = open(at / "litellm.log", "w")
    proxy = subprocess.Popen(
        [str(directory / "bin" / "litellm"), "--config", str(config), "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"],
        stdout=log, stderr=log, env=environment,
    )
    address = f"http://127.0.0.1:{port}"
    for _ in range(600):
        if proxy.poll() is not None:
            break
        try:
            urllib.request.urlopen(f"{address}/health/liveliness", timeout=5).close()
            return proxy, address
        except OSError:
            time.sleep(0.5)
    raise SystemExit("the proxy did not start:\n" + (at / "litellm.log").read_text()[-3000:])


def check(is_so, what):
    if not is_so:
        raise SystemExit(f"failed: {what}\n{json.dumps(Model.asked, indent=1)[:6000]}")


def conversations():
    """The two conversations: path of the proxy, model, messages before the last question, and the path to the result."""
    call = {"id": "call_1", "type": "function", "function": {"name": "logs", "arguments": "{}"}}
    yield "/v1/chat/completions", "gpt", [
        {"role": "system", "content": "You are brief."},
        {"role": "user", "content": "Read the log."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": LOG},
        {"role": "assistant", "content": "I have read it."},
    ]
    yield "/v1/messages", "claude", [
        {"role": "user", "content": "Read the log."},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "logs", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": LOG}]}]},
        {"role": "assistant", "content": [{"type": "text", "text": "I have read it."}]},
    ]


def main():
    directory, spillgate = pathlib.Path(sys.argv[1]).absolute(), str(pathlib.Path(sys.argv[2]).absolute())
    model_server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model_server.serve_forever, daemon=True).start()
    model = f"http://127.0.0.1:{model_server.server_port}"
    with tempfile.TemporaryDirectory() as base:
        at = pathlib.Path(base)
        token = at / "tokens"
        token.write_text("secret-token\n")
        token.chmod(0o600)
        serving, api = started(spillgate, at, token)
        proxy = None
        try:
            proxy, address = proxied(directory, at, api, model)
            for path, name, messages in conversations():
                talk(address + path, name, messages)
        finally:
            for process in (proxy, serving):
                if process:
                    process.terminate()
                    process.wait(30)
    print("ok: LiteLLM's proxy sends previews, reads results, and keeps what it sent")


def talk(url, name, messages):
    headers = {"authorization": f"Bearer {MASTER}", "anthropic-version": "2023-06-01"}
    ask = lambda messages: post(url, {"model": name, "max_tokens": 100, "messages": messages}, headers)
    # First turn: the model is sent the preview, asks for a part of the result, and gets it.
    Model.asked, Model.script = [], [{"hash": "HASH", "query": "grep: ERROR"}, "The disk quota was exceeded."]
    first = messages + [{"role": "user", "content": "Why did it fail?"}]
    answer = json.dumps(ask(first))
    check("The disk quota was exceeded." in answer, f"{name}: the answer is the model's last one, not {answer}")
    check(len(Model.asked) == 2, f"{name}: the model is asked twice")
    sent = [body for _, body in Model.asked]
    text = json.dumps(sent[0]["messages"])
    check("[spillgate] " in text and "worker-6 processed batch" not in text.replace("(line", ""), f"{name}: the model is sent the preview")
    check(LOG not in text and len(text) < 5000, f"{name}: the model is not sent the result")
    check("headroom_retrieve" in json.dumps(sent[0]["tools"]), f"{name}: the model has the tool")
    retrieved = json.dumps(sent[1]["messages"][len(sent[0]["messages"]):])
    check("[1 of 1 matching lines" in retrieved and "E4217" in retrieved, f"{name}: the model is sent what it asked for")
    # Second turn: everything that was sent before is sent again in the same form.
    Model.asked, Model.script = [], ["Delete old files."]
    second = first + [{"role": "assistant", "content": "The disk quota was exceeded."}, {"role": "user", "content": "What now?"}]
    ask(second)
    check(len(Model.asked) == 1, f"{name}: the model is asked once")
    again = Model.asked[0][1]["messages"]
    count = len(sent[0]["messages"])
    check(len(again) == count + 2, f"{name}: the conversation has two messages more")
    before, after = (json.dumps(part) for part in (sent[0]["messages"], again[:count]))
    check(before == after, f"{name}: the prefix is the same, byte for byte")
    print(f"{name}: {len(LOG)} bytes became {len(before)} bytes of messages")


main()
