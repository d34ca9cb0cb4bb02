"""A proxy before a server of S3's protocol, which fails as it is told; and what the program does then.

The proxy passes requests on as they are, with the name of the host that they were signed for, so the server checks their signatures.
"""

import hashlib
import http.client
import http.server
import json
import os
import threading
import time

from seaweedfs import Machine, check, lines

# The program gives up early, so that the tests do not take long.
SETTINGS = '[objects]\nconnect_timeout = "2s"\nrequest_timeout = "2s"\nretry_time = "3s"\n'

# Each failure: its name, what the proxy does, whether a request that is sent again succeeds, and what a person is told otherwise.
FAULTS = [
    ("slow", "slow", True, None),
    ("no answer", "hang", True, "did not answer in time"),
    ("cut before it is carried out", "cut before", True, "the connection broke"),
    ("cut after it is carried out", "cut after", True, "the connection broke"),
    ("500", (500, "InternalError"), True, "failed by itself"),
    ("503", (503, "SlowDown"), True, "overloaded"),
    ("expired credentials", (400, "ExpiredToken"), False, "credentials have expired"),
    ("a wrong clock", (403, "RequestTimeTooSkewed"), False, "clock of this machine is wrong"),
]


class Proxy:
    def __init__(self, port):
        self.choose, self.count, self.lock = None, 0, threading.Lock()
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def pass_on(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                fault = proxy.fault(self.command, self.path.split("?")[0])
                self.close_connection = True
                if fault == "cut before":
                    return
                if fault == "hang":
                    time.sleep(3)
                    return
                if isinstance(fault, tuple):
                    status, code = fault
                    self.answer(status, [], f"<Error><Code>{code}</Code><Message>a message</Message></Error>".encode())
                    return
                if fault == "slow":
                    time.sleep(0.5)
                server = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                try:
                    server.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                    for name, value in self.headers.items():
                        server.putheader(name, value)
                    server.endheaders(body)
                    got = server.getresponse()
                    data = got.read()
                    if fault != "cut after":
                        self.answer(got.status, got.getheaders(), data)
                except OSError:
                    pass  # the client or the server is gone: the connection ends
                finally:
                    server.close()

            def answer(self, status, headers, data):
                self.send_response_only(status)
                for name, value in headers:
                    if name.lower() not in ("connection", "content-length", "transfer-encoding"):
                        self.send_header(name, value)
                size = dict((name.lower(), value) for name, value in headers).get("content-length", len(data))
                self.send_header("content-length", size if self.command == "HEAD" else len(data))
                self.send_header("connection", "close")
                self.end_headers()
                self.wfile.write(data)

            do_DELETE = do_GET = do_HEAD = do_POST = do_PUT = pass_on

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def fault(self, method, path):
        with self.lock:
            return self.choose(method, path) if self.choose else None

    def fails(self, fault, method, name, times):
        """From now on, this many requests for an object of this name fail."""
        left = [times]

        def choose(asked, path):
            if asked != method or path.rsplit("/", 1)[-1] != name or left[0] == 0:
                return None
            left[0] -= 1
            return fault
        self.choose = choose

    def works(self):
        self.choose = None


def with_faults(program, directory, address, environment, port):
    """What fails on the way to the server at `port` gets no handle, is told, and leaves nothing half there."""
    proxy = Proxy(port)
    broken = Machine(program, directory, address, {**environment, "AWS_ENDPOINT_URL": proxy.address})
    settings = os.path.join(broken.environment["HOME"], ".config/spillgate")
    os.makedirs(settings)
    with open(os.path.join(settings, "spillgate.toml"), "w") as file:
        file.write(SETTINGS)
    text, stored, refused, count = lines(3000), [], 0, 0

    def put(fault, name, times, succeeds, told):
        nonlocal refused, count
        count += 1
        proxy.fails(fault, "PUT", name, times)
        given = text + str(count).encode()
        done = broken.run("--json", "put", given=given, code=None)
        proxy.works()
        case = f"{fault} at {name}, {times} times"
        handle = json.loads(done.stdout)["handle"]
        if done.returncode == 0:
            stored.append((handle, given))
            # What was carried out is found by reading it back.
            if not succeeds and fault != "cut after":
                raise SystemExit(f"wrong: {case} was stored")
        else:
            refused += 1
            said = json.loads(done.stdout)["error"]["message"]
            if succeeds or told not in said or handle is not None:
                raise SystemExit(f"wrong: {case}: {handle} {said}")

    for what, fault, passes, told in FAULTS:
        for name in ("index", "body", "manifest.json"):
            put(fault, name, 1, passes, told)
            put(fault, name, 1000, told is None, told)
    whole = Machine(program, directory, address, environment)
    listed = {json.loads(line)["handle"] for line in whole.run("--json", "ls", "-n", "1000").stdout.splitlines()}
    check(listed == {handle for handle, _ in stored}, f"of {count} outputs {len(stored)} are stored and {refused} told to be lost; just these are listed")
    for handle, given in stored:
        got = whole.run("cat", handle, "--raw").stdout
        if hashlib.sha256(got).digest() != hashlib.sha256(given).digest():
            raise SystemExit(f"wrong: {handle} has other bytes")
    check(True, f"the {len(stored)} have the bytes that were stored")
    handle, given = stored[0]
    for what, fault, passes, told in FAULTS:
        for name in ("manifest.json", "body"):
            broken.forget()
            proxy.fails(fault, "GET", name, 1000)
            done = broken.run("cat", handle, "--raw", code=None)
            proxy.works()
            said = done.stderr.decode()
            is_right = done.stdout == given if told is None else done.returncode != 0 and told in said
            if not is_right:
                raise SystemExit(f"wrong: reading with {what} at {name}: {done.returncode} {len(done.stdout)} bytes {said}")
    check(True, f"{2 * len(FAULTS)} reads that failed say why")
    broken.forget()
    check(broken.run("cat", handle, "--raw").stdout == given, "afterwards all is well")
