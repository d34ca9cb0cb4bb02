"""A stand-in for the gateway with known faults, to show that the comparison finds them.

proxy.py WAY --url URL, where WAY is
  straight  passes HTTP on unchanged
  crooked   loses every progress notification
  crossed   gives every twentieth client the reply of the previous one
"""

import http.client
import http.server
import os
import sys
import threading
import urllib.parse

WAY, URL = sys.argv[1], urllib.parse.urlsplit(sys.argv[-1])
HOP = {"connection", "transfer-encoding", "content-length", "keep-alive"}


LOCK, BEFORE, COUNT = threading.Lock(), b"", 0


def crossed(body):
    global BEFORE, COUNT
    with LOCK:
        COUNT += 1
        given, BEFORE = (BEFORE if COUNT % 20 == 0 and COUNT > 100 else body), body
    return given


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def relay(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        upstream = http.client.HTTPConnection(URL.hostname, URL.port)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP}
        # A foreign host stays; ours becomes the server's.
        if headers.get("Host", "").split(":")[-1] == str(self.server.server_port):
            headers["Host"] = URL.netloc
        upstream.request(self.command, URL.path, body or None, headers)
        self.answer(upstream.getresponse())
        upstream.close()
        self.close_connection = True

    def answer(self, response):
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in HOP:
                self.send_header(name, value)
        self.send_header("connection", "close")
        self.end_headers()
        if WAY == "crossed":
            self.wfile.write(crossed(response.read()))
            return
        while line := response.readline():
            if WAY == "crooked" and b"notifications/progress" in line:
                continue
            self.wfile.write(line)
            self.wfile.flush()

    do_GET = do_POST = do_DELETE = do_OPTIONS = relay


def end_with_stdin():
    sys.stdin.buffer.read()
    os._exit(0)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
server.daemon_threads = True
threading.Thread(target=end_with_stdin, daemon=True).start()
print(f"listening on http://127.0.0.1:{server.server_port}{URL.path}", flush=True)
server.serve_forever()
