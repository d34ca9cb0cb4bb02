"""Runs the requested benchmarks and writes the table. Started by `run.sh`, which builds what this needs."""

import argparse
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile

import bucket
import commands
import extract
import files
import guarded
import hook
import large
import outline
import page
import query
import relay
import search
import upload
from harness import Env, Report

SECTIONS = ("grep", "read", "query", "search", "outline", "extract", "capture", "memory", "guarded", "hook", "upload", "commands", "relay", "relay-http", "clients", "throughput", "peak", "start")
# Only if they are named: they need programs that `cargo xtask test-doors` installs.
BY_NAME = ("bucket", "page")


def arguments():
    parser = argparse.ArgumentParser(prog="benches/run.sh")
    parser.add_argument("--binary", required=True, help="the spillgate to measure")
    parser.add_argument("--old", default="", help="an older spillgate, which `commands` measures in turns with this one")
    parser.add_argument("--tools", required=True, help="folder of the compiled helpers")
    parser.add_argument("--cache", required=True, help="folder that keeps the generated logs")
    parser.add_argument("--results", required=True, help="Markdown file to write")
    parser.add_argument("--fastmcp", default="", help="a Python that has FastMCP")
    parser.add_argument("--quick", action="store_true", help="128 MB only and fewer rounds: under a minute")
    parser.add_argument("--only", default="", help="the same as a comma list")
    parser.add_argument("benches", nargs="*", help="all, unless some are named: " + ", ".join(SECTIONS))
    given = parser.parse_args()
    given.only = [*given.benches, *filter(None, given.only.split(","))] or list(SECTIONS)
    if unknown := set(given.only) - {*SECTIONS, *BY_NAME}:
        parser.error(f"there are {', '.join(SECTIONS + BY_NAME)}; not {', '.join(sorted(unknown))}")
    return given


def progress(text):
    print(text, file=sys.stderr, flush=True)


def first_line(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "?"


def load():
    """Runnable processes of the last minute: over 1 before a benchmark starts means that other programs ran."""
    return f"{os.getloadavg()[0]:.2f}"


def machine(env):
    """The context of the figures: they hold for this machine and this run only."""
    with open("/proc/cpuinfo") as lines:
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = [first_line(env.binary, "--version"), first_line("rg", "--version"), first_line("jq", "--version"), first_line("sed", "--version"), first_line("rustc", "--version")]
    if env.fastmcp_python:
        versions.append("FastMCP " + first_line(env.fastmcp_python, "-c", "import importlib.metadata as m; print(m.version('fastmcp'))"))
    return (f"{os.cpu_count()} CPUs ({model}), {memory:.0f} GiB, Linux {platform.release()}, load at the start {load()}"
            f"{', quick mode' if env.quick else ''}\n{'; '.join(versions)}")


def lookups(env, report, wanted):
    """`grep` and `read` share the stored logs."""
    store = os.path.join(env.scratch, "lookup-store")
    for megabytes, rounds in ((128, 5),) if env.quick else ((128, 15), (1024, 7)):
        stored = files.Stored(env, megabytes, store)
        if "grep" in wanted:
            files.grep(env, report, stored, rounds)
            for bench in (files.first_page, files.gateway_page):
                report.attempt(f"grep, {bench.__name__.replace('_', ' ')}", bench, env, report, stored, 3 if env.quick else 7)
        if "read" in wanted and (env.quick or megabytes == 1024):
            report.attempt("read", files.read_end, env, report, stored, 5 if env.quick else 7)
    shutil.rmtree(store, ignore_errors=True)


def searches(env, report):
    store = os.path.join(env.scratch, "search-store")
    for megabytes in (16, 128):
        report.attempt(f"search, {megabytes} MB", search.search, env, report, megabytes, 3 if env.quick else 7, store)
    shutil.rmtree(store, ignore_errors=True)


def sections(env, report, wanted):
    megabytes = 128 if env.quick else 1024
    if {"grep", "read"} & set(wanted):
        yield "grep, read", lambda: lookups(env, report, wanted)
    if "query" in wanted:
        yield "query", lambda: query.query(env, report, 3 if env.quick else 5)
    if "search" in wanted:
        yield "search", lambda: searches(env, report)
    if "capture" in wanted:
        yield "capture", lambda: files.capture(env, report, megabytes, 3)
    if "memory" in wanted:
        yield "memory", lambda: files.peak_memory(env, report, megabytes)
    if "outline" in wanted:
        yield "outline", lambda: outline.outline(env, report, 3 if env.quick else 7)
    if "extract" in wanted:
        yield "extract", lambda: extract.extract(env, report, 3 if env.quick else 7)
    if "guarded" in wanted:
        yield "guarded", lambda: guarded.guarded(env, report, 3 if env.quick else 7)
    if "hook" in wanted:
        yield "hook", lambda: hook.hook(env, report, 11 if env.quick else 31)
    if "upload" in wanted:
        yield "upload", lambda: upload.upload(env, report, 11 if env.quick else 31)
    if "bucket" in wanted:
        yield "bucket", lambda: bucket.bucket(env, report)
    if "commands" in wanted:
        yield "commands", lambda: commands.commands(env, report)
    if "page" in wanted:
        yield "page", lambda: page.page(env, report)
    if "relay" in wanted:
        yield "relay", lambda: relay.relay(env, report)
    if "relay-http" in wanted:
        yield "relay-http", lambda: relay.relay_http(env, report)
    if "clients" in wanted:
        yield "clients", lambda: relay.clients(env, report)
    if "throughput" in wanted:
        yield "throughput", lambda: large.throughput(env, report)
    if "peak" in wanted:
        yield "peak", lambda: large.peak_memory(env, report)
    if "start" in wanted:
        yield "start", lambda: relay.start(env, report)


def main():
    given = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the scratch folders are removed in this case, too
    scratch = tempfile.mkdtemp(prefix="scratch-", dir=given.cache)
    env = Env(given.binary, given.tools, given.cache, scratch, given.quick, given.fastmcp, given.old)
    report = Report(progress)
    head = machine(env)
    progress(head)
    try:
        for name, section in sections(env, report, given.only):
            progress(f"{name} … (load {load()})")
            report.attempt(name, section)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    met, missed, failed = report.tally()
    text = f"{head}\n\nRatio: how many times better spillgate is. Medians; rivals take turns in the same run.\n\n{report.markdown()}"
    text += f"\nGoals met: {met}, missed: {missed}; failed: {failed}. Load at the end {load()}.\n"
    with open(given.results, "w") as out:
        out.write(text)
    print(text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
