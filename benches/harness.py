"""The parts that all benchmarks share: running and timing commands, interleaving rivals, the table.

Commands are started with `posix_spawn` (no copy of this process, about half a millisecond) and timed from before the
spawn to after the reaping, as a shell's user waits for them. Rivals take turns inside each round, in reversed order
every second round, after one round that is discarded: other load on the machine affects all alike, and caches are warm
for all. Figures are medians, because the noise of a shared machine is one-sided.
"""

import os
import select
import signal
import statistics
import time

MB = 1_000_000
GB = 1_000_000_000
TIMEOUT_S = 300  # a command that takes longer counts as hung


class Failed(Exception):
    """A command under test failed; its row says so and the other rows continue."""


class Env:
    """Paths, and the bare environment of every command: no user configuration, no UTF-8 cost for the rivals (`LC_ALL=C`
    is the faster setting for sed, tail and head), no network beyond this machine."""

    def __init__(self, binary, tools, cache, scratch, quick, fastmcp_python, old=""):
        self.binary, self.old, self.tools, self.cache, self.scratch = binary, old, tools, cache, scratch
        self.quick, self.fastmcp_python = quick, fastmcp_python
        dead = "http://127.0.0.1:9"
        self.variables = {
            "PATH": os.environ["PATH"], "HOME": scratch, "LC_ALL": "C",
            "http_proxy": dead, "https_proxy": dead, "no_proxy": "127.0.0.1,localhost",
            "FASTMCP_LOG_LEVEL": "ERROR", "FASTMCP_CHECK_FOR_UPDATES": "off",
        }

    def tool(self, name):
        return os.path.join(self.tools, name)


class Ended:
    """A finished command: wall seconds, exit code, peak memory of its own process in bytes (if it was watched)."""

    def __init__(self, seconds, code, peak_bytes):
        self.seconds, self.code, self.peak_bytes = seconds, code, peak_bytes


def start(env, command, stdin=None, stdout=None):
    """Spawns a command: stdin and stdout are a path, a descriptor or /dev/null, stderr a scratch file. Returns the pid."""
    actions = [(os.POSIX_SPAWN_OPEN, 2, os.path.join(env.scratch, "stderr"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)]
    for target, wanted, flags in ((0, stdin, os.O_RDONLY), (1, stdout, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)):
        if isinstance(wanted, int):
            actions.append((os.POSIX_SPAWN_DUP2, wanted, target))
        else:
            actions.append((os.POSIX_SPAWN_OPEN, target, wanted or os.devnull, flags, 0o600))
    return os.posix_spawnp(command[0], command, env.variables, file_actions=actions)


def run(env, command, stdin=None, stdout=None, ok=(0,)):
    begin = time.perf_counter()
    pid = start(env, command, stdin, stdout)
    watch = os.pidfd_open(pid)
    try:
        if not select.select([watch], [], [], TIMEOUT_S)[0]:
            end(pid)
    finally:
        os.close(watch)
    _, status = os.waitpid(pid, 0)
    return checked(env, command, Ended(time.perf_counter() - begin, os.waitstatus_to_exitcode(status), None), ok)


def run_watched(env, command, stdin=None, stdout=None):
    """Runs a command as `run` does, and reads its peak memory every few milliseconds until its end.

    It uses `VmHWM`, because `ru_maxrss` includes the spawning process's memory."""
    begin, peak = time.perf_counter(), 0
    pid = start(env, command, stdin, stdout)
    while True:
        peak = max(peak, status_kb(pid, "VmHWM") * 1024)
        reaped, status = os.waitpid(pid, os.WNOHANG)
        if reaped:
            return checked(env, command, Ended(time.perf_counter() - begin, os.waitstatus_to_exitcode(status), peak), (0,))
        if time.perf_counter() - begin > TIMEOUT_S:
            end(pid)
        time.sleep(0.002)


def end(pid):
    """Ends a process that was started here; its own children end when their pipes close."""
    os.kill(pid, signal.SIGKILL)


def status_kb(pid, field):
    """A memory field of /proc/PID/status in KB; 0 if the process has already released its memory."""
    with open(f"/proc/{pid}/status") as lines:
        return next((int(line.split()[1]) for line in lines if line.startswith(field + ":")), 0)


def checked(env, command, ended, ok):
    if ended.code in ok:
        return ended
    with open(os.path.join(env.scratch, "stderr"), errors="replace") as stderr:
        said = stderr.read(300).strip().replace(env.scratch, "…")
    raise Failed(f"`{os.path.basename(command[0])} {' '.join(command[1:2])}` ended with {ended.code}: {said}")


def output(env, command, stdin=None, ok=(0,)):
    """The command's stdout as bytes."""
    path = os.path.join(env.scratch, "stdout")
    run(env, command, stdin, path, ok)
    with open(path, "rb") as file:
        return file.read()


def interleave(variants, rounds, warm_up=True):
    """Calls each of `variants` (name → function that returns a measurement) once per round; name → measurements."""
    results = {name: [] for name in variants}
    for number in range(0 if warm_up else 1, rounds + 1):
        names = list(variants)
        for name in names if number % 2 else reversed(names):
            measurement = variants[name]()
            if number > 0:  # round 0 is the warm-up
                results[name].append(measurement)
    return results


median = statistics.median


def overlap(ours, theirs):
    """Whether the middle halves of two series overlap: then the difference of their medians is noise."""
    low_ours, *_, high_ours = statistics.quantiles(ours, n=4) if len(ours) > 1 else ours * 2
    low_theirs, *_, high_theirs = statistics.quantiles(theirs, n=4) if len(theirs) > 1 else theirs * 2
    return low_ours <= high_theirs and low_theirs <= high_ours


def seconds(value):
    """A duration in the most readable unit."""
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if abs(value) * factor >= 1:
            return f"{value * factor:,.{0 if abs(value) * factor >= 100 else 1 if abs(value) * factor >= 10 else 2}f} {unit}"
    return f"{value * 1e9:.0f} ns"


class Report:
    """The table of figures and goals, and below it notes on them. Printed on stderr as it grows."""

    HEAD = ("operation", "spillgate", "rival", "ratio", "goal", "met?")

    def __init__(self, progress):
        self.rows, self.notes, self.details, self.progress = [], [], [], progress

    def row(self, operation, ours, rival, ratio, goal="", met=None, excuse=""):
        """`met`: None without a goal. `excuse`: this run's explanation of a missed goal."""
        verdict = "" if met is None else "yes" if met else f"missed ({excuse})" if excuse else "missed"
        cells = (operation, ours, rival, ratio if isinstance(ratio, str) else times(ratio), goal, verdict)
        self.rows.append(cells)
        self.progress("  " + " | ".join(cell for cell in cells if cell))

    def failed(self, operation, why):
        self.rows.append((operation, "failed", "", "", "", f"no: {why}".replace("\n", " ")))
        self.progress(f"  {operation}: FAILED: {why}")

    def attempt(self, operation, bench, *arguments):
        """Runs a benchmark; if it fails, its row says so and the others continue."""
        try:
            bench(*arguments)
        except Failed as why:
            self.failed(operation, why)

    def note(self, text):
        self.notes.append(text)

    def detail(self, title, head, rows):
        self.details.append((title, head, rows))

    def markdown(self):
        parts = [table(self.HEAD, self.rows)]
        parts += [f"{title}\n\n{table(head, rows)}" for title, head, rows in self.details]
        parts += ["\n".join(f"- {note}" for note in self.notes)]
        return "\n\n".join(parts) + "\n"

    def tally(self):
        verdicts = [row[5] for row in self.rows]
        return verdicts.count("yes"), sum(v.startswith("missed") for v in verdicts), sum(v.startswith("no:") for v in verdicts)


def times(ratio):
    return f"{ratio:,.0f}×" if ratio >= 100 else f"{ratio:.1f}×" if ratio >= 10 else f"{ratio:.2f}×"


def table(head, rows):
    rows = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in [head, *rows]]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)
