"""Benchmarks 4 and 5: the cost of a gateway between an MCP client and its server, per call and at the start.

The same client (`rtt`) talks to the same server (`echo_server`) directly, through `floor_relay` (two threads that only
move bytes), through `spillgate mcp` and through FastMCP's proxy, in rounds that take turns: over standard streams
(`relay`), and over Streamable HTTP on either side of the gateway (`relay-http`). "Added" is the difference to the direct
round trip of the same round.

The time of a round trip of a few microseconds depends mostly on the scheduler's choice of cores: on one core a wake-up
is cheap, across the cores of a virtual machine it may cost twenty times as much, and by itself the scheduler picks one
or the other in each run. So small calls are measured in three placements: all processes on one core (the relay's own
work), the client on one core and everything else on another (a client that is busy itself), and free to move (the
scheduler's choice). The floor relay shows how much of each figure no relay could avoid.
"""

import contextlib
import json
import os
import shutil

from harness import MB, Failed, interleave, median, output, seconds, times
from serving import Rival, Serving, gateway

HERE = os.path.dirname(os.path.abspath(__file__))
HUGE = "10000000000"  # a limit that no result reaches, so that the gateway only relays
UNLIMITED = ["--max-tokens", HUGE, "--max-bytes", HUGE]
RSS_LIMIT = 15 * MB
START_LIMIT = 0.020
ADDED_LIMIT = 50e-6
ADDED_P99_LIMIT = 1e-3
OFFLOADED_LIMIT = 4e-3
RIVAL = "FastMCP proxy"
RIVAL_CLIENTS = 64  # with 256 it closes connections


def variants(env, store):
    echo = [env.tool("echo_server")]
    found = {
        "direct": echo,
        "floor relay": [env.tool("floor_relay"), *echo],
        "spillgate": [env.binary, "mcp", "--store", store, "--", *echo],
    }
    if env.fastmcp_python:
        found[RIVAL] = [env.fastmcp_python, os.path.join(HERE, "fastmcp_proxy.py"), *echo]
    return found


@contextlib.contextmanager
def sites(env, store, prefix=(), arguments=()):
    """Name → URL: the server, and each relay in front of it, over HTTP."""
    with contextlib.ExitStack() as open_:
        echo = open_.enter_context(Serving(env, [*prefix, env.tool("echo_server"), "--http"]))
        floor = open_.enter_context(Serving(env, [*prefix, env.tool("floor_relay"), "--tcp", echo.authority]))
        ours = open_.enter_context(gateway(env, ["--store", store, *arguments, "--url", echo.url], prefix))
        found = {"direct": echo.url, "floor relay": floor.url, "spillgate": ours.url}
        if env.fastmcp_python:
            found[RIVAL] = open_.enter_context(Rival(env, echo.url, prefix)).url
        yield found


def without_rival(env, report):
    if not env.fastmcp_python:
        report.note("FastMCP is not installed (`cargo xtask peers`, or SPILLGATE_BENCH_FASTMCP=a Python that has it): no rival for the relay.")


def relay(env, report):
    without_rival(env, report)
    store = os.path.join(env.scratch, "relay-store")

    def series(prefix):
        return {name: call_series(env, "small", *calls(env), prefix + command) for name, command in variants(env, store).items()}

    for where, client_cores, prefix in placements(report):
        with on_cores(client_cores):
            report.attempt(f"relay of a 1 KB result, {where}", small, env, report, series(prefix), "stdio", where)
    report.attempt("relay of a 1 MB result", big, env, report, store)
    shutil.rmtree(store, ignore_errors=True)


def relay_http(env, report):
    without_rival(env, report)
    store = os.path.join(env.scratch, "relay-http-store")
    for where, client_cores, prefix in placements(report):
        with on_cores(client_cores), sites(env, store, prefix) as found:
            series = {name: site_series(env, "small", *calls(env, name == RIVAL), url) for name, url in found.items()}
            report.attempt(f"relay of a 1 KB result, HTTP, {where}", small, env, report, series, "HTTP", where)
    shutil.rmtree(store, ignore_errors=True)


def clients(env, report):
    """Many clients at once, each with a session and one call of 1 KB in flight: calls a second, and the tail."""
    without_rival(env, report)
    store, config = (os.path.join(env.scratch, name) for name in ("clients-store", "clients.toml"))
    with open(config, "w", encoding="utf-8") as file:
        file.write("[http]\nmax_sessions = 4000\n")
    with sites(env, store, arguments=["--config", config]) as found:
        for count in (64,) if env.quick else (1, 8, 64, 256):
            ms = 1000 if env.quick else 3000
            series = {name: clients_series(env, count, ms, url) for name, url in found.items() if name != RIVAL or count <= RIVAL_CLIENTS}
            t = interleave(series, 2 if env.quick else 5, warm_up=False)
            rows, figures = [], {}
            for name, rounds in t.items():
                rate, p50, p99 = (median([one[key] for one in rounds]) for key in ("per_second", "p50_ns", "p99_ns"))
                figures[name] = (rate, p99 / 1e9)
                rates = [one["per_second"] for one in rounds]
                rows.append((name, f"{rate:,.0f}", f"{min(rates):,.0f} – {max(rates):,.0f}", seconds(p50 / 1e9), seconds(p99 / 1e9), str(len(rounds))))
            who = "1 client" if count == 1 else f"{count} clients"
            report.detail(f"{who} over HTTP, calls with a result of 1 KB", ("variant", "calls a second", "of the rounds", "p50", "p99", "rounds"), rows)
            (ours, ours99), (floor, floor99) = figures["spillgate"], figures["floor relay"]
            rival, rival99 = figures.get(RIVAL, (0, 0))
            report.row(f"{who} over HTTP: calls of 1 KB a second, p99", f"{ours:,.0f}, {seconds(ours99)}",
                       (f"FastMCP {rival:,.0f}, {seconds(rival99)}; " if rival else "") + f"floor {floor:,.0f}, {seconds(floor99)}",
                       ours / rival if rival else "")
    shutil.rmtree(store, ignore_errors=True)


def clients_series(env, count, ms, url):
    """A function that runs many clients for a time and returns what `rtt` measured."""
    return lambda: json.loads(output(env, [env.tool("rtt"), "clients", "small", "{}", str(count), str(ms), url]))


def calls(env, is_slow=False):
    """Calls of a series: for warm-up, and counted. FastMCP over HTTP takes tens of milliseconds for each."""
    if is_slow:
        return (5, 30) if env.quick else (20, 200)
    return (50, 200) if env.quick else (300, 1000)


@contextlib.contextmanager
def on_cores(cores):
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)  # children inherit it
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def placements(report):
    """Name, the client's cores, and the command prefix that places the other processes."""
    cores = sorted(os.sched_getaffinity(0))
    yield "one core", {cores[0]}, []
    if len(cores) > 1 and shutil.which("taskset"):
        yield "two cores", {cores[0]}, ["taskset", "-c", str(cores[1])]
        yield "free to move", set(cores), []
    else:
        report.note("Relay across two cores left out: one CPU only, or no `taskset`.")


def small(env, report, series, how, where):
    """Runs many short series of the fast variants, and few of FastMCP, which takes seconds to start."""
    rival = {RIVAL: series.pop(RIVAL)} if RIVAL in series else {}
    t = interleave(series, (10 if env.quick else 40) if where == "free to move" else (4 if env.quick else 20), warm_up=False)
    t |= interleave(rival, 1 if env.quick else 4, warm_up=False)
    results = summarize(report, t, f"Round trip of a 1 KB result over {how}, {where}")
    ours, floor, rival = results["spillgate"], results["floor relay"], results.get(RIVAL)
    for figure, key, goal, limit in (("p50", "added", "≤ 50 µs", ADDED_LIMIT), ("p99", "added99", "≤ 1 ms", ADDED_P99_LIMIT)):
        report.row(f"relay of a 1 KB result over {how} adds, {figure}, {where}", seconds(ours[key]),
                   (f"FastMCP {seconds(rival[key])}, " if rival else "") + f"floor {seconds(floor[key])}",
                   rival[key] / ours[key] if rival and ours[key] > 0 else "", goal, ours[key] <= limit,
                   "so does the floor" if floor[key] > limit else "")


def big(env, report, store):
    """1 MB of text: offloaded (stored, synced and replaced by a preview), and passed on whole under a raised limit."""
    commands = variants(env, store)
    commands["spillgate, offload off"] = [env.binary, "mcp", "--store", store, *UNLIMITED, "--", env.tool("echo_server")]
    t = interleave({name: call_series(env, "big", 3, 30 if env.quick else 100, command) for name, command in commands.items()},
                   1 if env.quick else 4, warm_up=False)
    check_sizes(t)
    p50 = {name: result["p50"] for name, result in summarize(report, t, "Round trip of a 1 MB result").items()}
    rival = p50.get(RIVAL)
    for name, what in (("spillgate", "stored and previewed"), ("spillgate, offload off", "passed on whole")):
        goal = ("≤ 4 ms", p50[name] <= OFFLOADED_LIMIT) if name == "spillgate" else ()
        report.row(f"1 MB result {what}, p50", seconds(p50[name]), f"FastMCP {seconds(rival)}, direct {seconds(p50['direct'])}" if rival else f"direct {seconds(p50['direct'])}",
                   rival / p50[name] if rival else "", *goal)


def check_sizes(t):
    """Checks that results were offloaded or passed whole as intended; otherwise the speed means nothing."""
    replies = {name: results[0]["reply_bytes"] for name, results in t.items()}
    if replies["spillgate"] > 10_000:
        raise Failed(f"a large result came through in {replies['spillgate']} bytes: not offloaded")
    if replies["spillgate, offload off"] != replies["direct"]:
        raise Failed(f"with offload off the reply has {replies['spillgate, offload off']} bytes, directly {replies['direct']}")


def call_series(env, tool, warmup, count, command, arguments="{}"):
    """A function that runs one series of calls and returns what `rtt` measured."""
    return lambda: json.loads(output(env, [env.tool("rtt"), "calls", tool, arguments, str(warmup), str(count), *command]))


def site_series(env, tool, warmup, count, url, arguments="{}"):
    """A function that runs one series of calls over HTTP and returns what `rtt` measured."""
    return lambda: json.loads(output(env, [env.tool("rtt"), "http", tool, arguments, str(warmup), str(count), url]))


def summarize(report, t, title):
    """Variant → p50, p99 and what it adds to either, in seconds: medians over the rounds. Added is the median difference
    to the direct series of the same round, because the machine's load changes between rounds; if rounds do not pair up
    (FastMCP), to the median of all direct series. Also adds the detail table."""
    results, rows = {}, []
    for variant, rounds in t.items():
        result = {}
        for key, added in (("p50", "added"), ("p99", "added99")):
            own, direct = ([one[f"{key}_ns"] / 1e9 for one in series] for series in (rounds, t["direct"]))
            paired = direct if len(direct) == len(own) else [median(direct)] * len(own)
            result |= {key: median(own), added: median([a - b for a, b in zip(own, paired)])}
        results[variant] = result
        signed = ["" if variant == "direct" else f"{'+' if result[key] >= 0 else ''}{seconds(result[key])}" for key in ("added", "added99")]
        own = [one["p50_ns"] / 1e9 for one in rounds]
        rows.append((variant, seconds(result["p50"]), seconds(result["p99"]), *signed, f"{seconds(min(own))} – {seconds(max(own))}", str(len(rounds)),
                     f"{rounds[0]['reply_bytes']:,}"))
    report.detail(title, ("variant", "p50", "p99", "added p50", "added p99", "p50 of the rounds, least – most", "rounds", "reply bytes"), rows)
    return results

def start(env, report):
    """The time from the spawn of the gateway (which spawns the server) to its first answer, minus the same without the
    gateway; and the memory of the gateway's own process one second later."""
    store = os.path.join(env.scratch, "start-store")
    commands = variants(env, store)

    def first_answer(idle_ms, command):
        return lambda: json.loads(output(env, [env.tool("rtt"), "start", str(idle_ms), *command]))

    t = interleave({name: first_answer(0, command) for name, command in commands.items() if name != "FastMCP proxy"}, 7 if env.quick else 21)
    idle = first_answer(1000, commands["spillgate"])()
    took = {name: median([result["start_ns"] for result in results]) / 1e9 for name, results in t.items()}
    rival_start, rival_memory = "", ""
    if "FastMCP proxy" in commands:
        runs = [first_answer(1000, commands["FastMCP proxy"])() for _ in range(1 if env.quick else 3)]
        took["FastMCP proxy"] = median([result["start_ns"] for result in runs]) / 1e9
        rival_start = f"FastMCP {seconds(took['FastMCP proxy'] - took['direct'])}"
        rival_rss = median([result["rss_kb"] for result in runs])
        rival_memory = f"FastMCP {rival_rss * 1024 / MB:.0f} MB"
    added = took["spillgate"] - took["direct"]
    report.row("start to first answer, added", seconds(added), rival_start, times((took["FastMCP proxy"] - took["direct"]) / added) if rival_start and added > 0 else "",
               "≤ 20 ms", added <= START_LIMIT)
    report.row("idle memory of the gateway", f"{idle['rss_kb'] * 1024 / MB:.1f} MB", rival_memory, times(rival_rss / idle["rss_kb"]) if rival_memory else "",
               "≤ 15 MB", idle["rss_kb"] * 1024 <= RSS_LIMIT)
    report.note(f"Start to first answer in full: direct {seconds(took['direct'])}, floor relay {seconds(took['floor relay'])}, spillgate {seconds(took['spillgate'])}.")
    shutil.rmtree(store, ignore_errors=True)
