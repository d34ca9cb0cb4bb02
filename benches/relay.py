"""Benches 4 and 5: what a gateway between an MCP client and a stdio server costs, per call and at the start.

The same client (`rtt`) talks to the same server (`echo_server`) directly, through `floor_relay` (two threads that only
move bytes), through `spillgate mcp` and through FastMCP's proxy, in rounds that take turns. "Added" is the
difference to the direct round trip of the same round.

A round trip of a few microseconds is mostly the scheduler's choice of core: on one core a wake-up is cheap, across the
cores of a virtual machine it may cost twenty times as much, and left alone the scheduler picks one or the other from
start to start. So small calls are measured in three placements: all processes on one core (what the relay's own work
costs), the client on one core and everything else on another (a client that is busy itself), and free to move (what
chance gives). The floor relay shows how much of each figure no relay could avoid.
"""

import json
import os
import shutil

from harness import MB, Failed, interleave, median, output, seconds, times

HERE = os.path.dirname(os.path.abspath(__file__))
HUGE = "1000000000"  # a limit that nothing reaches: the gateway only relays
RSS_LIMIT = 15 * MB
START_LIMIT = 0.020
ADDED_LIMIT = 50e-6


def variants(env, store):
    echo = [env.tool("echo_server")]
    found = {
        "direct": echo,
        "floor relay": [env.tool("floor_relay"), *echo],
        "spillgate": [env.binary, "mcp", "--store", store, "--", *echo],
    }
    if env.fastmcp_python:
        found["FastMCP proxy"] = [env.fastmcp_python, os.path.join(HERE, "fastmcp_proxy.py"), *echo]
    return found


def relay(env, report):
    if not env.fastmcp_python:
        report.note("FastMCP is not installed (`cargo xtask peers`, or SPILLGATE_BENCH_FASTMCP=a Python that has it): no rival for the relay.")
    store = os.path.join(env.scratch, "relay-store")
    for where, client_cores, prefix in placements(report):
        all_cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, client_cores)  # children inherit it
        try:
            report.attempt(f"relay of a 200-byte result, {where}", small, env, report, store, where, prefix)
        finally:
            os.sched_setaffinity(0, all_cores)
    report.attempt("relay of a 1 MB result", big, env, report, store)
    shutil.rmtree(store, ignore_errors=True)


def placements(report):
    """Name, the client's cores, and the command prefix that puts the rest where it belongs."""
    cores = sorted(os.sched_getaffinity(0))
    yield "one core", {cores[0]}, []
    if len(cores) > 1 and shutil.which("taskset"):
        yield "two cores", {cores[0]}, ["taskset", "-c", str(cores[1])]
        yield "free to move", set(cores), []
    else:
        report.note("Relay across two cores left out: one CPU only, or no `taskset`.")


def small(env, report, store, where, prefix):
    """Many short series of the quick ones; FastMCP, which takes seconds to start, gets few and the same length."""
    series = {name: call_series(env, "small", 300, 1000, prefix + command) for name, command in variants(env, store).items()}
    rival = {name: series.pop(name) for name in ("FastMCP proxy",) if name in series}
    t = interleave(series, (10 if env.quick else 40) if where == "free to move" else (4 if env.quick else 20), warm_up=False)
    t |= interleave(rival, 1 if env.quick else 4, warm_up=False)
    results = summarize(report, t, f"Round trip of a small reply, {where}")
    ours, rival = results["spillgate"], results.get("FastMCP proxy")
    direct, floor = results["direct"], results["floor relay"]
    report.row(f"relay of a 200-byte result adds, p50, {where}", seconds(ours["added"]),
               (f"FastMCP {seconds(rival['added'])}, " if rival else "") + f"floor {seconds(floor['added'])}",
               rival["added"] / ours["added"] if rival and ours["added"] > 0 else "", "≤ 50 µs", ours["added"] <= ADDED_LIMIT,
               "so does the floor" if floor["added"] > ADDED_LIMIT else "")
    report.row(f"round trip through the relay, p99, {where}", seconds(ours["p99"]),
               (f"FastMCP {seconds(rival['p99'])}, " if rival else "") + f"direct {seconds(direct['p99'])}", rival["p99"] / ours["p99"] if rival else "")


def big(env, report, store):
    """1 MB of text: offloaded (stored, synced and replaced by a preview), and passed on whole under a raised limit."""
    commands = variants(env, store)
    whole = [env.binary, "mcp", "--store", store, "--max-tokens", HUGE, "--max-bytes", HUGE, "--", env.tool("echo_server")]
    series = {name: call_series(env, "big", 3, 30 if env.quick else 100, command) for name, command in commands.items()}
    series["spillgate, offload off"] = call_series(env, "big", 3, 30 if env.quick else 100, whole)
    t = interleave(series, 1 if env.quick else 4, warm_up=False)
    replies = {name: results[0]["reply_bytes"] for name, results in t.items()}
    if replies["spillgate"] > 10_000:
        raise Failed(f"the 1 MB result came through in {replies['spillgate']} bytes: not offloaded")
    if replies["spillgate, offload off"] != replies["direct"]:
        raise Failed(f"with offload off the reply has {replies['spillgate, offload off']} bytes, directly {replies['direct']}")
    p50 = {name: result["p50"] for name, result in summarize(report, t, "Round trip of a 1 MB result").items()}
    rival = p50.get("FastMCP proxy")
    for name, what in (("spillgate", "stored and previewed"), ("spillgate, offload off", "passed on whole")):
        report.row(f"1 MB result {what}, p50", seconds(p50[name]), f"FastMCP {seconds(rival)}, direct {seconds(p50['direct'])}" if rival else f"direct {seconds(p50['direct'])}",
                   rival / p50[name] if rival else "")


def call_series(env, tool, warmup, count, command, arguments="{}"):
    """A function that runs one series of calls and returns what `rtt` measured."""
    return lambda: json.loads(output(env, [env.tool("rtt"), "calls", tool, arguments, str(warmup), str(count), *command]))


def summarize(report, t, title):
    """Variant → p50, p99 and what it adds to p50, in seconds: medians over the rounds. Added is the median difference
    to the direct series of the same round, because the machine's mood changes between rounds; where the rounds do not
    pair up (FastMCP), to the median of all direct ones. Leaves the detail table."""
    results, rows = {}, []
    direct = [one["p50_ns"] / 1e9 for one in t["direct"]]
    for variant, rounds in t.items():
        own = [one["p50_ns"] / 1e9 for one in rounds]
        paired = direct if len(direct) == len(own) else [median(direct)] * len(own)
        result = {"p50": median(own), "p99": median([one["p99_ns"] for one in rounds]) / 1e9, "added": median([a - b for a, b in zip(own, paired)])}
        results[variant] = result
        added = "" if variant == "direct" else f"{'+' if result['added'] >= 0 else ''}{seconds(result['added'])}"
        rows.append((variant, seconds(result["p50"]), seconds(result["p99"]), added, f"{seconds(min(own))} – {seconds(max(own))}", str(len(rounds)),
                     f"{rounds[0]['reply_bytes']:,}"))
    report.detail(title, ("variant", "p50", "p99", "added p50", "p50 of the rounds, least – most", "rounds", "reply bytes"), rows)
    return results


def start(env, report):
    """From the spawn of the gateway (which spawns the server) to its first answer, less the same without the gateway;
    and what the gateway's own process holds in memory one second later."""
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
