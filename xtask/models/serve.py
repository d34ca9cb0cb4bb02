"""A real language model as an OpenAI-compatible server on 127.0.0.1: `serve.py MODEL NAME PORT [CONTEXT]`

Port 0 means any free port; the first line of standard output is `listening on 127.0.0.1:<port>`.
`/v1/...` is the model as it is, with calls read out of its text (forms.py); `/held/v1/...` constrains its
replies to the form that was asked for, and `/sure/v1/...` also to an answer. The server ends when its standard
input ends, so that its parent leaves nothing behind, however it ends. SPILLGATE_LLM_THREADS is the number of
threads, by default 1.
"""

import http.client
import itertools
import json
import os
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import xllamacpp

import forms

# Small: a text that exceeds it takes a while, because it is then read in parts.
CONTEXT = 2560
CALL_NUMBERS = itertools.count(1)
# A request waits for those before it; clients have shorter limits of their own.
UPSTREAM_SECONDS = 1200


def start(model, name, context):
    """Starts llama.cpp's own server on a free port; returns the port."""
    threads = int(os.environ.get("SPILLGATE_LLM_THREADS") or 1)
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {name}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = context
    params.n_parallel = 1
    params.use_jinja = True
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.offline = True
    params.ui = False
    server = xllamacpp.Server(params)
    # The server lives as long as this reference.
    Front.upstream = server
    return urllib.parse.urlsplit(server.listening_address).port


class Front(BaseHTTPRequestHandler):
    """The HTTP handler for clients."""

    protocol_version = "HTTP/1.1"
    upstream = None
    port = 0
    knows_tools = False

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.passed("GET", self.place()[0], None)

    def do_POST(self):
        path, door = self.place()
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if path != "/v1/chat/completions":
            return self.passed("POST", path, body)
        began = time.monotonic()
        try:
            asked = forms.without_calls(json.loads(body))
            request = forms.prepared(asked, self.knows_tools, door)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return self.answer(400, {"error": {"message": f"not a chat request: {error!r}", "type": "invalid_request_error"}})
        tools = asked.get("tools") or []
        if tools:
            self.called(path, request, tools, asked)
        else:
            self.passed("POST", path, json.dumps(request).encode())
        sort = "calls" if tools else "text"
        print(f"{door} {sort} {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)

    def place(self):
        """The path without our prefix, and the door that the prefix names."""
        for door in ("held", "sure"):
            if self.path.startswith(f"/{door}/"):
                return self.path.removeprefix(f"/{door}"), door
        return self.path, "free"

    def called(self, path, request, tools, asked):
        """Answers with a reply that may be a call."""
        connection, response = ask("POST", self.port, path, json.dumps(request).encode())
        reply = json.loads(response.read())
        connection.close()
        if response.status != 200:
            return self.answer(response.status, reply)
        reply = forms.with_calls(reply, tools, CALL_NUMBERS)
        if not asked.get("stream"):
            return self.answer(200, reply)
        self.head(200, "text/event-stream", None)
        with_usage = (asked.get("stream_options") or {}).get("include_usage")
        for event in forms.events(reply, with_usage):
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def passed(self, method, path, body):
        """Passes on the upstream's response as it arrives."""
        connection, response = ask(method, self.port, path, body)
        self.head(response.status, response.getheader("content-type"), response.getheader("content-length"))
        try:
            while block := response.read1():
                self.wfile.write(block)
        except OSError:
            # The client has disconnected; closing the upstream connection stops the model's work.
            self.close_connection = True
        finally:
            connection.close()

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.head(status, "application/json", len(body))
        self.wfile.write(body)

    def head(self, status, kind, length):
        self.send_response(status)
        self.send_header("content-type", kind or "application/json")
        if length is None:
            # The end of the connection ends it.
            self.close_connection = True
            self.send_header("connection", "close")
        else:
            self.send_header("content-length", str(length))
        self.end_headers()


def ask(method, port, path, body):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=UPSTREAM_SECONDS)
    connection.request(method, path, body, {"content-type": "application/json"})
    return connection, connection.getresponse()


def end_with_stdin():
    while sys.stdin.buffer.read(4096):
        pass
    # The model's threads do not end by themselves.
    os._exit(0)


def main():
    model, name, port, *rest = sys.argv[1:]
    threading.Thread(target=end_with_stdin, daemon=True).start()
    Front.port = start(model, name, int(rest[0]) if rest else CONTEXT)
    connection, response = ask("GET", Front.port, "/props", None)
    Front.knows_tools = "tools" in json.loads(response.read()).get("chat_template", "")
    connection.close()
    front = ThreadingHTTPServer(("127.0.0.1", int(port)), Front)
    print(f"listening on 127.0.0.1:{front.server_address[1]}", flush=True)
    front.serve_forever()


if __name__ == "__main__":
    main()
