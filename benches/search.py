"""Benchmark 6: ranked search in a stored log, which has no index, against building an index and querying it.

The rivals get one document a line and the question's words joined by OR, which is how they are asked a question. Their
time is that of index and query: a stored result is searched a few times at most, mostly once. Their time for a query
alone, with an existing index, is shown, too. Each must find what was planted; otherwise it gets no figure.
"""

import importlib.util
import json
import os
import re
import sqlite3
import subprocess
import time

from files import ROOT, Stored
from harness import Failed, seconds

PLANTED = "E4217"
QUESTIONS = (  # what it is, question
    ("rare word", "Which reconciliation was aborted with code E4217?"),
    ("words here and there", "Which upstream reset the connection while reading the response header?"),
    ("common words", "timeout on shard-07, retry of the billing queue"),
    ("no match", "zqx-not-here"),
)
STOP = {"which", "was", "with", "the", "while", "on", "of"}
GOAL_128 = 0.3
GOAL_RATIO = 25


def search(env, report, megabytes, rounds, store):
    stored = Stored(env, megabytes, store)
    fts5, tantivy = Fts5(stored), None
    if importlib.util.find_spec("tantivy"):
        tantivy = Tantivy(stored)
    else:
        report.note("tantivy left out: the Python that runs the benches has no package `tantivy`.")
    for what, question in QUESTIONS:
        operation = f"search {what}, {stored.name}"
        report.attempt(operation, one_search, report, stored, rounds, operation, question, fts5, tantivy)


def one_search(report, stored, rounds, operation, question, fts5, tantivy):
    ours = ranked(stored, question, rounds)
    if PLANTED in question and not ours["passages"]:
        raise Failed("the planted line was not found")
    first, median = ours["first_us"] / 1e6, ours["median_us"] / 1e6
    rivals, ratio = [], ""
    for rival in filter(None, (fts5, tantivy)):
        query = rival.query(question)
        rivals.append(f"{rival.name} index {seconds(rival.index_time)} + query {seconds(query)}")
        if rival is fts5:
            ratio = (rival.index_time + query) / median
    goals = [f"≥ {GOAL_RATIO}× FTS5"] if ratio else []
    met = ratio >= GOAL_RATIO if ratio else True
    if stored.bytes > 100 << 20:
        goals.append(f"first ≤ {GOAL_128} s")
        met = met and first <= GOAL_128
    report.row(operation, f"{seconds(median)} (first {seconds(first)})", ", ".join(rivals), ratio, ", ".join(goals), met)


def ranked(stored, question, rounds):
    """In process, from opening the artifact to the page."""
    example = ["cargo", "run", "--release", "--locked", "--quiet", "-p", "spillgate-search", "--example", "ranked", "--"]
    ended = subprocess.run([*example, "--store", stored.store, stored.handle, question, str(rounds)], cwd=ROOT, capture_output=True, text=True)
    if ended.returncode:
        raise Failed(f"`ranked` ended with {ended.returncode}: {ended.stderr[-300:].strip()}")
    return json.loads(ended.stdout)


def words(question):
    return [word for word in re.findall(r"[A-Za-z0-9]+", question) if word.lower() not in STOP]


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        yield from file


class Fts5:
    """SQLite's full-text index in memory, without its text: the cheapest one."""

    name = "FTS5"

    def __init__(self, stored):
        start = time.perf_counter()
        self.database = sqlite3.connect(":memory:")
        self.database.execute("CREATE VIRTUAL TABLE log USING fts5(line, content='', tokenize='porter')")
        self.database.executemany("INSERT INTO log(line) VALUES (?)", ((line,) for line in lines_of(stored.path)))
        self.database.commit()
        self.index_time = time.perf_counter() - start

    def query(self, question):
        match = " OR ".join(f'"{word}"' for word in words(question))
        start = time.perf_counter()
        found = self.database.execute("SELECT rowid FROM log WHERE log MATCH ? ORDER BY rank LIMIT 20", (match,)).fetchall()
        took = time.perf_counter() - start
        if PLANTED in question and not found:
            raise Failed("FTS5 did not find the planted line")
        return took


class Tantivy:
    """tantivy with one thread's writer, in memory."""

    name = "tantivy"

    def __init__(self, stored):
        import tantivy

        start = time.perf_counter()
        schema = tantivy.SchemaBuilder().add_text_field("line", stored=False, tokenizer_name="en_stem").build()
        self.index = tantivy.Index(schema)
        writer = self.index.writer(num_threads=1)
        for line in lines_of(stored.path):
            writer.add_document(tantivy.Document(line=[line]))
        writer.commit()
        writer.wait_merging_threads()
        self.index.reload()
        self.index_time = time.perf_counter() - start

    def query(self, question):
        query = self.index.parse_query(" ".join(words(question)), ["line"])
        searcher = self.index.searcher()
        start = time.perf_counter()
        found = searcher.search(query, 20).hits
        took = time.perf_counter() - start
        if PLANTED in question and not found:
            raise Failed("tantivy did not find the planted line")
        return took
