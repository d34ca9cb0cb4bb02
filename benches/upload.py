"""The time to send a result to the HTTP API, beside a server that only takes the same bytes."""

import http.client
import os
import shutil
import sys
import time

from harness import Failed, interleave, median, seconds
from serving import Serving

# Bytes of the result, and the goal in seconds: what the hook takes for the same size.
SIZE, GOAL = 1_000_000, 0.1

# A server that reads a body and says how long it was.
ECHO = """
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def do_POST(self):
        said = str(len(self.rfile.read(int(self.headers["content-length"])))).encode()
        self.send_response(201)
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_port}/", flush=True)
server.serve_forever()
"""


def text(number):
    """A log that is not like another one: the store keeps equal contents once."""
    line = "2026-11-26T00:00:00Z worker-%d request %%06d served\n" % number
    return "".join(line % at for at in range(SIZE // len(line % 0) + 1))[:SIZE].encode()


class Sender:
    """One connection to a server, over which results are sent."""

    def __init__(self, server):
        self.connection, self.sent = http.client.HTTPConnection(server.authority, timeout=60), 0

    def __call__(self):
        self.sent += 1
        body = text(self.sent)
        began = time.perf_counter()
        self.connection.request("POST", "/v1/offload?tool=log", body, {"content-type": "text/plain"})
        response = self.connection.getresponse()
        said = response.read()
        took = time.perf_counter() - began
        if response.status != 201:
            raise Failed(f"status {response.status}: {said[:200]!r}")
        return took


def upload(env, report, rounds):
    store = os.path.join(env.scratch, "upload-store")
    ours = [env.binary, "--store", store, "serve", "--listen", "127.0.0.1:0"]
    theirs = [sys.executable, "-c", ECHO]
    with Serving(env, ours, "stderr") as served, Serving(env, theirs) as echo:
        measured = interleave({"spillgate": Sender(served), "http.server": Sender(echo)}, rounds)
    took = {name: median(times) for name, times in measured.items()}
    mine, other = took["spillgate"], took["http.server"]
    report.row(
        "serve: 1 MB, stored", seconds(mine), f"{seconds(other)} (Python's http.server, not stored)",
        other / mine, f"≤ {seconds(GOAL)}", mine <= GOAL,
    )
    shutil.rmtree(store, ignore_errors=True)
