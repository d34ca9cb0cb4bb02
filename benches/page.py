"""The first paint and the weight of each view of the page in a browser, and the server's memory while a large log is viewed.

Needs `cargo xtask test-doors ui` to have run once. SPILLGATE_BENCH_WITHOUT_UI is a program without the feature `ui`, built
otherwise as the one that is measured; with it, the size of the feature is a row."""

import json
import os
import shutil

from harness import MB, Failed, run

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BROWSERS = ("chromium", "chromium-headless-shell", "google-chrome", "headless_shell")
GOAL_MS, GOAL_KB, GOAL_SIZE, GOAL_MEMORY = 100, 200, 1_500_000, 100


def page(env, report):
    node = shutil.which("node", path=f"{ROOT}/.peers/bin:{env.variables['PATH']}")
    modules = os.path.join(ROOT, ".doors/ui/node_modules")
    browser = next(filter(shutil.which, BROWSERS), None)
    if not (node and os.path.exists(modules) and browser):
        raise Failed("a browser or Playwright is missing: see benches/page.py")
    told = os.path.join(env.scratch, "page.json")
    before = dict(env.variables)
    size = 128 * 2**20 if env.quick else 2**30
    own = {"SPILLGATE": env.binary, "MODULES": modules, "BROWSER": browser, "FIGURES": told, "LARGE": str(size), "ONLY": "first paint,gigabyte"}
    try:
        env.variables.update(own)
        run(env, [node, os.path.join(ROOT, "crates/spillgate/tests/ui/browser.mjs")], stdout=os.path.join(env.scratch, "stdout"))
    finally:
        env.variables.clear()
        env.variables.update(before)
    with open(told) as file:
        figures = json.load(file)
    for name, view in figures["views"].items():
        report.row(f"page: first paint of {name}", f"{view['paint']:.0f} ms", "", "", f"≤ {GOAL_MS} ms", view["paint"] <= GOAL_MS)
    heaviest = max(figures["views"], key=lambda name: figures["views"][name]["kilobytes"])
    kilobytes = figures["views"][heaviest]["kilobytes"]
    report.row(f"page: the heaviest view, {heaviest}", f"{kilobytes} KB", "", "", f"≤ {GOAL_KB} KB", kilobytes <= GOAL_KB)
    most = figures["log"]["most"]
    report.row(f"page: memory while a log of {size // MB} MB is viewed", f"{most:.0f} MiB", "", "", f"≤ {GOAL_MEMORY} MiB", most <= GOAL_MEMORY)
    if without := os.environ.get("SPILLGATE_BENCH_WITHOUT_UI"):
        larger = os.path.getsize(env.binary) - os.path.getsize(without)
        report.row("page: size of the feature `ui`", f"{larger / MB:.2f} MB", "", "", f"≤ {GOAL_SIZE / MB} MB", larger <= GOAL_SIZE)
