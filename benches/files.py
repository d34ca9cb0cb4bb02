"""Benchmarks 1 to 3: look-ups in a stored log, and storing one. They compare commands with commands, except for the
first page of a `grep`, which a library or a gateway answers without a process start.

Each result is checked before it is timed: `grep` counts what `rg -c` counts, `read` prints the lines that `sed` prints,
a stored artifact has the SHA-256 of its source. A wrong answer gets no figure.
"""

import json
import os
import shutil
import subprocess

import corpus
from harness import GB, MB, Failed, interleave, median, output, overlap, run, run_watched, seconds, start, times
from relay import call_series

COMMON = "status=200"
PATTERNS = (  # what it is, regex, extra option
    ("rare literal", "E4217", None),
    ("common literal", COMMON, None),
    ("regex", r"timeout after [12]\d{3}ms on shard-(0[1-9]|1[0-9])\b", None),
    ("case-insensitive", "connection reset by peer", "-i"),
    ("no match", "zqx-not-here", None),
)
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE_MATCHES = 50  # the default of grep, here and in the example `first_page`
LINES = 40
PEAK_LIMIT = 64 * MB


class Stored:
    """A log on disk and its artifact in a store."""

    def __init__(self, env, megabytes, store):
        self.name = f"{megabytes} MB" if megabytes < 1024 else f"{megabytes >> 10} GB"
        self.path = corpus.ensure(env.cache, megabytes)
        self.bytes = os.path.getsize(self.path)
        self.store = store
        self.handle = json.loads(output(env, [env.binary, "put", "--json", "--store", store], stdin=self.path))["handle"]
        if not self.handle:
            raise Failed(f"`put` of {self.name} gave no handle")
        self.stored_path = os.path.join(store, self.handle[0], self.handle)

    def line_count(self):
        with open(self.path, "rb") as file:
            return sum(block.count(b"\n") for block in iter(lambda: file.read(4 << 20), b""))


def grep(env, report, stored, rounds):
    """The first page and the count of all matches, against a full count and against printing every match.

    The fastest of rg's three is the rival: a full count is the least that "how many are there" can cost, and rg
    prints nothing for it. All read from the page cache, where the log and its stored copy may be in folios of different
    sizes, which can cost half as much again; so rg counts both in the log and in the same file that spillgate reads."""
    for what, pattern, option in PATTERNS:
        operation = f"grep {what}, {stored.name}"
        report.attempt(operation, one_grep, env, report, stored, rounds, operation, pattern, [option] if option else [])


def one_grep(env, report, stored, rounds, operation, pattern, options):
    ours = [env.binary, "grep", stored.handle, pattern, *options, "--store", stored.store]
    rg = ["rg", "--no-config", *options]
    count, lines = [*rg, "-c", pattern, stored.path], [*rg, "-n", pattern, stored.path]
    expected = int(output(env, count, ok=(0, 1)) or 0)
    found = json.loads(output(env, [*ours, "--json"]))["total"]
    if found != expected:
        raise Failed(f"wrong: {found} matches, rg counts {expected}")
    t = interleave({name: (lambda command=command: run(env, command, ok=(0, 1)).seconds) for name, command in
                    {"ours": ours, "-c": count, "-n": lines, "copy": [*count[:-1], stored.stored_path]}.items()}, rounds)
    best = min(("-c", "-n", "copy"), key=lambda name: median(t[name]))
    ratio = median(t[best]) / median(t["ours"])
    rival = f"rg -c {seconds(median(t['-c']))} (stored copy {seconds(median(t['copy']))}), rg -n {seconds(median(t['-n']))}"
    report.row(f"{operation} ({expected:,} hits)", seconds(median(t["ours"])), rival, ratio, "≥ 1× rg", ratio >= 1,
               "within noise" if overlap(t["ours"], t[best]) else "")


def first_page(env, report, stored, rounds):
    """What a model waits for: the first page of a frequent pattern. In process, from opening the artifact to the page,
    without a count of all matches. The rival has to be spawned, because that is how it is used."""
    example = ["cargo", "run", "--release", "--locked", "--quiet", "-p", "spillgate-lookup", "--example", "first_page", "--"]
    ended = subprocess.run([*example, "--store", stored.store, stored.handle, COMMON], cwd=ROOT, capture_output=True, text=True)
    if ended.returncode:
        raise Failed(f"`first_page` ended with {ended.returncode}: {ended.stderr[-300:].strip()}")
    result = json.loads(ended.stdout)
    if result["matches"] != PAGE_MATCHES:
        raise Failed(f"a page of {result['matches']} matches; {PAGE_MATCHES} were asked for")
    ours, rival = result["median_us"] / 1e6, median([run(env, rg_page(stored)).seconds for _ in range(rounds)])
    report.row(f"grep, first page in process, {stored.name}", seconds(ours), f"rg -m 50 {seconds(rival)}", rival / ours, "≤ 3 ms", ours <= 0.003)


def gateway_page(env, report, stored, rounds):
    """The same page from a running gateway: with the round trip over the pipes, and with the count of all matches,
    which the gateway's tool always returns."""
    gateway = [env.binary, "mcp", "--store", stored.store, "--", env.tool("echo_server")]
    question = json.dumps({"handle": stored.handle, "pattern": COMMON})
    series = call_series(env, "spillgate_grep", 3, 20, gateway, question)
    count = ["rg", "--no-config", "-c", COMMON, stored.path]
    t = interleave({"ours": series, "rg": lambda: run(env, count).seconds}, rounds)
    if t["ours"][0]["reply_bytes"] < 1000:
        raise Failed(f"a page of {t['ours'][0]['reply_bytes']} bytes is none")
    ours, rival = median([one["p50_ns"] for one in t["ours"]]) / 1e9, median(t["rg"])
    report.row(f"grep, first page and count from a running gateway, {stored.name}", seconds(ours), f"rg -c {seconds(rival)}", rival / ours)


def rg_page(stored):
    return ["rg", "--no-config", "-n", "-m", str(PAGE_MATCHES), COMMON, stored.path]


def read_end(env, report, stored, rounds):
    """The last 40 lines, requested by number as a model does after a `grep`. `tail -n 40` is also shown: it is what a
    shell has for the very end of a file, and it helps for no other line."""
    last = stored.line_count()
    first = last - LINES + 1
    ours = [env.binary, "read", stored.handle, "--start", str(first), "--lines", str(LINES), "--store", stored.store]
    sed = ["sed", "-n", f"{first},{last}p;{last}q", stored.path]
    tail_head = ["sh", "-c", f'tail -n +{first} "$1" | head -n {LINES}', "sh", stored.path]
    wanted = output(env, sed).decode().splitlines()
    page = json.loads(output(env, [*ours, "--json"]))
    missing = sum(line not in page["text"] for line in wanted)
    if missing or page["lines"] != [first, last]:
        raise Failed(f"wrong: lines {page['lines']} for {[first, last]}, {missing} of {LINES} not in the page")
    commands = {"ours": ours, "sed": sed, "tail | head": tail_head, "tail -n 40": ["tail", "-n", str(LINES), stored.path]}
    t = interleave({name: (lambda command=command: run(env, command).seconds) for name, command in commands.items()}, rounds)
    ratio = median(t["sed"]) / median(t["ours"])
    judged = stored.bytes > GB
    rival = f"sed -n {seconds(median(t['sed']))}, tail | head {seconds(median(t['tail | head']))}"
    report.row(f"read {LINES} lines at the end of {stored.name}", seconds(median(t["ours"])), rival, ratio,
               "≥ 100× sed" if judged else "(judged at 1 GB)", ratio >= 100 if judged else None)
    spawn = median([run(env, ["true"]).seconds for _ in range(15)])
    report.note(f"Spawning and reaping `true` takes {seconds(spawn)} here, `spillgate --version` {seconds(version_time(env))}: the floor of every "
                f"command above. `tail -n {LINES}`, which seeks from the end: {seconds(median(t['tail -n 40']))}.")


def version_time(env):
    return median([run(env, [env.binary, "--version"]).seconds for _ in range(15)])


def places(env, report, needed):
    """Name → scratch folder: the ordinary disk, and memory if there is enough (disks differ, memory does not)."""
    found = {"disk": os.path.join(env.scratch, "capture")}
    shm = "/dev/shm"
    if os.path.isdir(shm) and shutil.disk_usage(shm).free > 2 * needed and available_bytes() > 3 * needed:
        found["tmpfs"] = os.path.join(shm, f"spillgate-bench-{os.getpid()}")
    else:
        report.note("Capture to tmpfs left out: no /dev/shm, or too little free memory.")
    return found


def available_bytes():
    with open("/proc/meminfo") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))


def capture(env, report, megabytes, rounds):
    """Storing a log, with its hash, from a file on stdin and from a command's pipe.

    The rival is `cat > file && sync file`, which makes the same promise (on disk when it returns) without a hash, an
    index or a view; plain `cat > file` and the hash alone (`openssl` uses the processor's SHA instructions, `sha256sum`
    often does not) show what each half costs by itself."""
    source = corpus.ensure(env.cache, megabytes)
    size, digest = os.path.getsize(source), output(env, ["sha256sum", source]).split()[0].decode()
    for place, folder in places(env, report, size).items():
        try:
            t = interleave(capture_variants(env, source, digest, folder), rounds)
        except Failed as why:
            report.failed(f"capture to {place}", why)
            continue
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        rate = {name: size / median(values) / GB for name, values in t.items()}
        rival = ", ".join(f"{name} {rate[name]:.2f}" for name in rate if name not in ("put", "run")) + " GB/s"
        excuse = "so does cat + sync" if rate["cat + sync"] < 1 else ""
        for name, what in (("put", "put < FILE"), ("run", "run -- cat FILE")):
            report.row(f"capture to {place}: {what}, {size / GB:.2f} GB", f"{rate[name]:.2f} GB/s", rival, f"{times(rate[name] / rate['cat + sync'])} cat + sync",
                       "≥ 1 GB/s", rate[name] >= 1, excuse)


def capture_variants(env, source, digest, folder):
    target = os.path.join(folder, "copy")

    def timed(command, stdin=None, check=False):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        os.sync()  # no run pays for the writes of the previous one
        answer = os.path.join(env.scratch, "stdout")
        took = run(env, command, stdin, answer).seconds
        if check:
            with open(answer) as file:
                stored = json.load(file)["sha256"]
            if stored != digest:
                raise Failed(f"wrong: stored SHA-256 {stored}, the source has {digest}")
        return took

    variants = {
        "put": lambda: timed([env.binary, "put", "--json", "--store", folder], stdin=source, check=True),
        "run": lambda: timed([env.binary, "run", "--json", "--store", folder, "--", "cat", source], check=True),
        "cat": lambda: timed(["sh", "-c", 'cat "$1" > "$2"', "sh", source, target]),
        "cat + sync": lambda: timed(["sh", "-c", 'cat "$1" > "$2" && sync "$2"', "sh", source, target]),
        "sha256sum": lambda: timed(["sha256sum", source]),
    }
    if shutil.which("openssl"):
        variants["openssl sha256"] = lambda: timed(["openssl", "dgst", "-sha256", source])
    return variants


def peak_memory(env, report, megabytes):
    """Peak resident memory of the capturing process while 2 GB come in: as a log, and as one endless line (the case
    that breaks a line buffer). The producer is another process and not counted."""
    log = corpus.ensure(env.cache, min(megabytes, 1024))
    twice = f'cat "$1" "$1" | head -c {2 * megabytes}M' if megabytes <= 1024 else 'cat "$1" "$1"'
    one_line = f"head -c {2 * megabytes}M /dev/zero | tr '\\0' x"
    size = f"{2 * megabytes / 1024:g} GB"
    for what, script in (("log lines", twice), ("one line", one_line)):
        producer = ["sh", "-c", script, "sh", log]
        for door in ("put", "run"):
            operation = f"peak memory, {door}, {size} of {what}"
            store = os.path.join(env.scratch, "peak")
            try:
                ended = captured_peak(env, door, producer, store)
            except Failed as why:
                report.failed(operation, why)
                continue
            finally:
                shutil.rmtree(store, ignore_errors=True)
            report.row(operation, f"{ended.peak_bytes / MB:.1f} MB", "", "", "< 64 MB", 0 < ended.peak_bytes < PEAK_LIMIT)


def captured_peak(env, door, producer, store):
    answer = os.path.join(env.scratch, "stdout")
    if door == "run":
        return run_watched(env, [env.binary, "run", "--json", "--store", store, "--", *producer], stdout=answer)
    reader, writer = os.pipe()
    try:
        feeding = start(env, producer, stdout=writer)
        os.close(writer)
        writer = None
        return run_watched(env, [env.binary, "put", "--json", "--store", store], stdin=reader, stdout=answer)
    finally:
        os.close(reader)
        if writer is not None:
            os.close(writer)
        os.waitpid(feeding, 0)  # without a reader, a broken pipe ends it
