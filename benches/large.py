"""Benchmarks of large results through the gateway: the time for 16 MB, and the memory for 1 GB.

`rtt` requests the 16 MB as it does small results (see `relay`). A client in this file requests the 1 GB and keeps
nothing of it: the peak is that of the gateway alone, as the kernel records it (`VmHWM`). What arrives and what is
stored is compared with the server's bytes by SHA-256.
"""

import contextlib
import hashlib
import http.client
import json
import os
import shutil
import subprocess
import time

from harness import MB, TIMEOUT_S, Failed, interleave, output, seconds, status_kb
from relay import RIVAL, UNLIMITED, call_series, check_sizes, sites, site_series, summarize, variants, without_rival
from serving import Serving, gateway

MEGABYTES = 16
PEAK_LIMIT = 128 * MB
BLOCK = 1 << 20
INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize",
              "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
OFFLOAD_OFF = "spillgate, offload off"


def throughput(env, report):
    """16 MB that pass under a raised limit, and 16 MB that are offloaded."""
    without_rival(env, report)
    store = os.path.join(env.scratch, "throughput-store")
    commands = variants(env, store)
    commands[OFFLOAD_OFF] = [env.binary, "mcp", "--store", store, *UNLIMITED, "--", env.tool("echo_server")]
    large = json.dumps({"mb": MEGABYTES})
    series = {name: call_series(env, "big", 1, 5, command, large) for name, command in commands.items()}
    report.attempt("16 MB over stdio", rates, env, report, series, "stdio")
    with sites(env, store) as found, gateway(env, ["--store", store, *UNLIMITED, "--url", found["direct"]]) as whole:
        found[OFFLOAD_OFF] = whole.url
        series = {name: site_series(env, "big", 1, 5, url, large) for name, url in found.items()}
        report.attempt("16 MB over HTTP", rates, env, report, series, "HTTP")
    shutil.rmtree(store, ignore_errors=True)


def rates(env, report, series, how):
    t = interleave(series, 1 if env.quick else 5, warm_up=False)
    check_sizes(t)
    bytes_ = t["direct"][0]["reply_bytes"]
    p50 = {name: result["p50"] for name, result in summarize(report, t, f"Round trip of a {MEGABYTES} MB result over {how}").items()}
    rival = p50.get(RIVAL)

    def rate(took):
        return f"{bytes_ / took / MB:,.0f} MB/s"

    for name, what in ((OFFLOAD_OFF, "passed on whole"), ("spillgate", "stored and previewed")):
        others = [f"FastMCP {rate(rival)}"] if rival else []
        others += [f"floor {rate(p50['floor relay'])}", f"direct {rate(p50['direct'])}"]
        report.row(f"{MEGABYTES} MB result over {how}, {what}", f"{rate(p50[name])} ({seconds(p50[name])})", ", ".join(others), rival / p50[name] if rival else "")


def peak_memory(env, report):
    """1 GB from each kind of server into the store, and on to a client."""
    megabytes = 128 if env.quick else 1000
    result, frame = hashes(env, megabytes)
    size = "1 GB" if megabytes == 1000 else f"{megabytes} MB"
    for what, server, client in (
        ("from a stdio server, stored", [], to_store),
        ("from an HTTP server (JSON), stored", ["--http"], to_store),
        ("from an HTTP server (events), stored", ["--http", "--sse"], to_store),
        ("from a stdio server to an HTTP client", [], to_client),
        ("from an HTTP server (JSON) to an HTTP client", ["--http"], to_client),
        ("from an HTTP server (events) to an HTTP client", ["--http", "--sse"], to_client),
    ):
        store = os.path.join(env.scratch, "large-store")
        want = result if client is to_store else frame
        report.attempt(f"peak memory, {size} {what}", one_peak, env, report, f"{size} {what}", server, client, megabytes, want, store)
        shutil.rmtree(store, ignore_errors=True)


def hashes(env, megabytes):
    """SHA-256 of the server's result, and of the message that contains it."""
    result, frame = hashlib.sha256(), hashlib.sha256(b'{"jsonrpc":"2.0","id":1,"result":')
    with subprocess.Popen([env.tool("echo_server"), "--print", str(megabytes)], stdout=subprocess.PIPE) as printing:
        while block := printing.stdout.read(BLOCK):
            result.update(block)
            frame.update(block)
    frame.update(b"}")
    return result.hexdigest(), frame.hexdigest()


def one_peak(env, report, what, server, client, megabytes, want, store):
    """Sends one result through the gateway; it must come out unchanged."""
    echo = env.tool("echo_server")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "big", "arguments": {"mb": megabytes}}}
    with contextlib.ExitStack() as open_:
        way = ["--url", open_.enter_context(Serving(env, [echo, *server])).url] if server else ["--", echo]
        came, peak, took = client(env, way, call, store)
    if came != want:
        raise Failed(f"wrong: SHA-256 {came}, the server's bytes have {want}")
    report.row(f"peak memory, {what}", f"{peak / MB:.1f} MB", f"(in {seconds(took)}, {megabytes * 1.01 / took:,.0f} MB/s; SHA-256 as sent)", "",
               "≤ 128 MB", 0 < peak <= PEAK_LIMIT)


def to_store(env, way, call, store):
    """A client on standard streams, for which the result is offloaded: SHA-256 of what is stored, peak, seconds."""
    command = [env.binary, "mcp", "--store", store, *way]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env.variables) as gateway_:
        try:
            say(gateway_, INITIALIZE)
            gateway_.stdout.readline()
            say(gateway_, INITIALIZED)
            begin = time.perf_counter()
            say(gateway_, call)
            reply = gateway_.stdout.readline(BLOCK)
            took = time.perf_counter() - begin
            peak = status_kb(gateway_.pid, "VmHWM") * 1024
            gateway_.stdin.close()
            gateway_.wait(30)
        finally:
            if gateway_.poll() is None:
                gateway_.kill()
    if len(reply) > 10_000:
        raise Failed(f"the result came through in {len(reply)} bytes or more: not offloaded")
    stored = json.loads(output(env, [env.binary, "ls", "--json", "--store", store]))
    raw, hashed = subprocess.PIPE, hashlib.sha256()
    with subprocess.Popen([env.binary, "cat", "--raw", "--store", store, stored["handle"]], stdout=raw, env=env.variables) as printing:
        while block := printing.stdout.read(BLOCK):
            hashed.update(block)
    return hashed.hexdigest(), peak, took


def say(process, message):
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


def to_client(env, way, call, store):
    """A client over HTTP, which gets the result whole: SHA-256 of the received message, peak, seconds."""
    with gateway(env, ["--store", store, *UNLIMITED, *way]) as served:
        host, _, port = served.authority.partition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=TIMEOUT_S)
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        for message in (INITIALIZE, INITIALIZED):
            answer = post(connection, headers, message)
            answer.read()
            if session := answer.headers.get("mcp-session-id"):
                headers |= {"mcp-session-id": session, "mcp-protocol-version": "2025-11-25"}
        begin = time.perf_counter()
        answer = post(connection, headers, call)
        came = hashed_message(answer)
        took = time.perf_counter() - begin
        connection.close()
        return came, served.peak_bytes, took


def post(connection, headers, message):
    connection.request("POST", "/mcp", json.dumps(message), headers)
    answer = connection.getresponse()
    if answer.status >= 300:
        raise Failed(f"HTTP {answer.status}: {answer.read(300)}")
    return answer


def hashed_message(answer):
    """SHA-256 of a response that is one message, or one event with one line of data."""
    is_event = answer.headers["content-type"].startswith("text/event-stream")
    hashed, held = hashlib.sha256(), b""
    is_within = not is_event
    while block := answer.read(BLOCK):
        held += block
        if not is_within:
            at = held.find(b"data: ")
            is_within, held = (True, held[at + 6:]) if at >= 0 else (False, held)
        if is_within:
            hashed.update(held[:-8])  # the end of a line may follow
            held = held[-8:]
    hashed.update(held.rstrip(b"\r\n"))
    return hashed.hexdigest()
