// The script of Spillgate's page. It keeps the list up to date, reads the content as it comes into view,
// sends look-ups, and handles keys. Texts from the server become text nodes, or HTML that the server made.
"use strict";
(() => {
  const $ = (selector, from = document) => from.querySelector(selector);
  const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];
  const prefix = document.body.dataset.prefix;
  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const grouped = (number) => number.toLocaleString("en-US");

  // Fetches something of ours. A session that is over leads to the login.
  async function ask(address, options = {}) {
    const response = await fetch(address, options);
    if (response.status === 401) location.reload();
    if (!response.ok && response.status !== 304) {
      let problem = {};
      try { problem = await response.json(); } catch { /* no problem details */ }
      throw new Error([problem.detail || response.statusText, problem.hint].filter(Boolean).join("\n"));
    }
    return response;
  }

  // Times: those of the server are in UTC.
  const clock = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
  const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
  const hour = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
  function times(from = document) {
    for (const time of $$("time", from)) {
      const at = new Date(time.dateTime);
      if (isNaN(at)) continue;
      const isToday = at.toDateString() === new Date().toDateString();
      time.textContent = isToday ? hour.format(at) : `${day.format(at)}, ${hour.format(at).slice(0, 5)}`;
      time.title = clock.format(at);
    }
  }
  times();

  // Copies a text on a click, or on Enter or Space.
  function copies(element) {
    element.tabIndex = 0;
    element.setAttribute("role", "button");
    const copy = async () => {
      try {
        await navigator.clipboard.writeText(element.dataset.copy || element.textContent);
        element.classList.add("copied");
        setTimeout(() => element.classList.remove("copied"), 800);
      } catch { getSelection().selectAllChildren(element); }
    };
    element.addEventListener("click", copy);
    element.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      copy();
    });
  }
  $$(".copy").forEach(copies);

  // Keeps a part of the page up to date as long as it has `data-live`. Returns what asks for it now.
  function follows(id, address, failed) {
    let tag = null, busy = false;
    async function refresh(forced) {
      const part = document.getElementById(id);
      if (busy || document.hidden || (!forced && !part.hasAttribute("data-live"))) return;
      busy = true;
      try {
        const asked = address();
        const response = await ask(asked, { headers: tag && !forced ? { "If-None-Match": tag } : {} });
        if (response.status !== 304) {
          const isFirst = tag === null;
          tag = response.headers.get("ETag");
          const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById(id);
          if (fresh && asked === address()) replace(part, fresh, !isFirst || forced);
        }
      } catch (error) {
        const status = $(failed, part);
        if (status) status.textContent = `This is not up to date: ${error.message}`;
      } finally { busy = false; }
    }
    // Keeps the rows that are there already, so that focus, selection and what was opened stay.
    function replace(old, fresh, marks) {
      const focused = document.activeElement?.closest?.("tr[data-key]")?.dataset.key;
      const tops = new Map($$(".scroll[aria-label]", old).map((box) => [box.getAttribute("aria-label"), box.scrollTop]));
      const known = new Map($$("tr[data-key]", old).map((row) => [row.dataset.key, row]));
      const opened = new Set($$("details[open]", old).map((part) => part.dataset.branch || $("summary", part)?.textContent));
      for (const row of $$("tr[data-key]", fresh)) {
        const own = known.get(row.dataset.key);
        if (!own) { if (marks) row.classList.add("new"); continue; }
        times(row);
        own.classList.remove("new");
        const branch = $("details[data-branch]", own);
        // The content of a branch that was opened is not part of the fresh row.
        if (branch?.dataset.read) $("details[data-branch]", row)?.replaceWith(branch);
        else if (own.innerHTML === row.innerHTML) row.replaceWith(own);
      }
      for (const part of $$("details:not([data-branch])", fresh)) if (opened.has($("summary", part)?.textContent)) part.open = true;
      times(fresh);
      old.replaceWith(document.adoptNode(fresh));
      for (const [label, top] of tops) { const box = $(`.scroll[aria-label="${CSS.escape(label)}"]`, fresh); if (box) box.scrollTop = top; }
      if (focused && !document.activeElement?.closest?.(`#${id}`)) $(`tr[data-key="${CSS.escape(focused)}"] :is(a.open, summary)`)?.focus();
    }
    setInterval(() => refresh(false), 2000);
    document.addEventListener("visibilitychange", () => refresh(false));
    return refresh;
  }
  if ($("#live")) {
    follows("live", () => {
      const query = new URLSearchParams(location.search);
      query.set("part", "1");
      return `${location.pathname}?${query}`;
    }, ".status");
  }

  // The list of outputs.
  const filters = $("#filters");
  if (filters) {
    const refresh = follows("list", () => `${prefix}/rows${location.search}`, ".status");
    filters.addEventListener("change", (event) => { if (event.target.type !== "search") filters.requestSubmit(); });
    // Typing filters at once.
    let typed;
    $("input[type=search]", filters).addEventListener("input", () => {
      clearTimeout(typed);
      typed = setTimeout(() => {
        const fields = new URLSearchParams([...new FormData(filters)].filter(([, value]) => value));
        history.replaceState(null, "", `${prefix}/?${fields}`);
        refresh(true);
      }, 200);
    });
    filters.addEventListener("submit", (event) => {
      event.preventDefault();
      const fields = new URLSearchParams([...new FormData(filters)].filter(([, value]) => value));
      location.assign(`${prefix}/?${fields}`);
    });
  }

  // Parts that take a moment.
  for (const part of $$("[data-load]")) {
    ask(part.dataset.load).then((response) => response.text()).then((text) => {
      part.innerHTML = text;
    }).catch((error) => { part.textContent = error.message; });
  }

  // The tree: branches are read when they are opened.
  document.addEventListener("toggle", async (event) => {
    const branch = event.target;
    if (!branch.dataset?.branch || !branch.open || branch.dataset.read) return;
    branch.dataset.read = "1";
    const part = make("div");
    branch.append(part);
    await open(part, branch.dataset.branch);
  }, true);
  async function open(part, address) {
    try { part.innerHTML = await (await ask(address)).text(); } catch (error) { part.textContent = error.message; }
  }
  document.addEventListener("click", (event) => {
    const more = event.target.closest?.("button[data-more]");
    if (!more) return;
    const part = make("div");
    more.replaceWith(part);
    open(part, more.dataset.more);
  });

  // The viewer: rows of one height, of which only those in view exist. A text of many millions of lines would be higher than
  // browsers allow, so above a limit the scroll bar moves by more than a row at a time.
  const HEIGHT = 20, HIGHEST = 8e6, CHUNK = 200, KEPT = 60;
  class Viewer {
    constructor(box) {
      this.box = box;
      this.sizer = $(".sizer", box);
      this.window = $(".window", box);
      this.address = box.dataset.rows;
      this.total = Number(box.dataset.total);
      this.chunks = new Map();
      this.first = 1;
      this.marked = 0;
      this.secrets = $(".artifact").hasAttribute("data-secrets");
      this.lens = "";
      this.resize();
      box.addEventListener("scroll", () => this.scrolled(), { passive: true });
      box.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
      box.addEventListener("keydown", (event) => this.key(event));
      new ResizeObserver(() => this.draw()).observe(box);
      addEventListener("hashchange", () => this.toHash());
      const lens = $("select[name=lens]");
      lens?.addEventListener("change", () => this.under(lens.value));
      // What is folded is seen among all lines.
      this.window.addEventListener("click", (event) => {
        const row = this.lens && event.target.closest?.(".row");
        if (row) this.leave(Number($(".n", row).textContent));
      });
      if (this.toHash()) return;
      if (lens?.value) this.under(lens.value); else this.draw();
    }
    get parameters() { return `${this.secrets ? "&secrets=1" : ""}${this.lens ? `&lens=${this.lens}` : ""}`; }
    // Shows all lines, only some, or similar ones folded, from about the same place on.
    async under(lens) {
      const place = $(".found-line"), before = this.lens;
      const label = Number(this.window.firstElementChild?.firstElementChild?.textContent) || this.first;
      this.lens = lens;
      place.textContent = lens ? "reading all lines…" : "";
      try {
        const answer = await (await ask(`${this.address}?start=1&count=1&line=${label}${this.parameters}`)).json();
        if (this.lens !== lens) return;
        this.chunks.clear();
        [this.total, this.marked] = [answer.total, 0];
        this.resize();
        place.textContent = lens ? `${grouped(answer.total)} ${answer.total === 1 ? "row" : "rows"}` : "";
        this.show(lens ? answer.row : label);
      } catch (error) { this.lens = before; place.textContent = error.message; }
      $("select[name=lens]").value = this.lens;
    }
    async leave(line) {
      if (this.lens) await this.under("");
      this.goto(line);
    }
    get visible() { return Math.ceil(this.box.clientHeight / HEIGHT); }
    get last() { return Math.max(1, this.total - Math.floor(this.box.clientHeight / HEIGHT) + 1); }
    get isScaled() { return this.total * HEIGHT > HIGHEST; }
    resize() { this.sizer.style.height = `${Math.max(Math.min(this.total * HEIGHT, HIGHEST), 1)}px`; }
    // The scroll bar moved.
    scrolled() {
      if (this.own) { this.own = false; return; }
      const { scrollTop, scrollHeight, clientHeight } = this.box;
      const way = scrollHeight - clientHeight;
      if (this.isScaled) this.first = way > 0 ? Math.round(1 + (scrollTop / way) * (this.last - 1)) : 1;
      else this.first = Math.floor(scrollTop / HEIGHT) + 1;
      this.draw();
    }
    // Shows from a row on, and moves the scroll bar there.
    show(first) {
      this.first = Math.max(1, Math.min(first, this.last));
      const way = this.box.scrollHeight - this.box.clientHeight;
      const top = this.isScaled ? ((this.first - 1) / Math.max(this.last - 1, 1)) * way : (this.first - 1) * HEIGHT;
      const before = this.box.scrollTop;
      this.own = true;
      this.box.scrollTop = top;
      if (this.box.scrollTop === before) this.own = false;
      this.draw();
    }
    wheel(event) {
      if (!this.isScaled || event.ctrlKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
      event.preventDefault();
      const lines = event.deltaMode === 1 ? event.deltaY : event.deltaMode === 2 ? event.deltaY * this.visible : event.deltaY / HEIGHT;
      this.rest = (this.rest || 0) + lines;
      const whole = Math.trunc(this.rest);
      this.rest -= whole;
      if (whole) this.show(this.first + whole);
    }
    key(event) {
      const page = Math.max(1, this.visible - 2);
      const moves = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: page, PageUp: -page, " ": event.shiftKey ? -page : page, Home: -this.total, End: this.total, g: -this.total, G: this.total };
      if (!(event.key in moves) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      this.show(this.first + moves[event.key]);
    }
    toHash() {
      const found = /^#L(\d+)$/.exec(location.hash);
      if (!found) return false;
      this.leave(Number(found[1]));
      return true;
    }
    goto(row) {
      this.marked = Math.max(1, Math.min(row, this.total));
      this.show(this.marked - Math.floor(this.visible / 3));
    }
    async read(number) {
      if (this.chunks.has(number)) {
        const chunk = this.chunks.get(number);
        this.chunks.delete(number);
        this.chunks.set(number, chunk);
        return;
      }
      this.chunks.set(number, null);
      try {
        const lens = this.lens;
        const answer = await (await ask(`${this.address}?start=${number * CHUNK + 1}&count=${CHUNK}${this.parameters}`)).json();
        if (lens !== this.lens) return;
        this.chunks.set(number, answer.rows);
        if (answer.total !== this.total) { this.total = answer.total; this.resize(); }
        for (const old of this.chunks.keys()) {
          if (this.chunks.size <= KEPT) break;
          this.chunks.delete(old);
        }
        this.draw();
      } catch (error) {
        this.chunks.delete(number);
        this.window.replaceChildren(make("p", "notice", error.message));
      }
    }
    draw() {
      const rows = [];
      const until = Math.min(this.total, this.first + this.visible);
      for (let row = this.first; row <= until; row++) {
        const chunk = this.chunks.get(Math.floor((row - 1) / CHUNK));
        const [label, text, level, more] = chunk?.[(row - 1) % CHUNK] ?? ["", "", ""];
        const line = make("div", level ? `row ${level}` : "row");
        if (row === this.marked) line.classList.add("at");
        line.append(make("span", "n", label), make("span", "t", text));
        if (more) line.append(make("span", "more-lines", more));
        rows.push(line);
      }
      this.window.replaceChildren(...rows);
      const from = Math.floor((this.first - 1) / CHUNK), to = Math.floor((until - 1) / CHUNK);
      clearTimeout(this.soon);
      // A scroll bar that is dragged passes by rows that nobody will see.
      const missing = [];
      for (let chunk = Math.max(0, from); chunk <= to; chunk++) if (!this.chunks.has(chunk)) missing.push(chunk);
      if (missing.length) this.soon = setTimeout(() => missing.forEach((chunk) => this.read(chunk)), this.chunks.size ? 40 : 0);
    }
    // Goes to the next or the previous error.
    async jump(back) {
      const place = $(".found-line");
      const seen = this.lens ? Number(this.window.firstElementChild?.firstElementChild?.textContent) || 1 : this.first;
      const from = this.marked || (back ? seen : seen - 1);
      place.textContent = "…";
      try {
        const address = this.address.replace(/\/lines$/, "/error");
        const { line } = await (await ask(`${address}?from=${from}${back ? "&back=1" : ""}`)).json();
        place.textContent = line ? `error in line ${grouped(line)}` : back ? "no error before this line" : "no error after this line";
        if (line) { history.replaceState(null, "", `#L${line}`); this.leave(line); }
      } catch (error) { place.textContent = error.message; }
    }
  }
  const box = $(".viewer");
  const viewer = box && new Viewer(box);
  if (viewer) {
    $$("[data-jump]").forEach((button) => button.addEventListener("click", () => viewer.jump(button.dataset.jump === "previous")));
    $("input[name=line]")?.addEventListener("change", (event) => {
      if (event.target.value) history.replaceState(null, "", `#L${event.target.value}`);
      viewer.leave(Number(event.target.value) || 1);
    });
  }
  // A link to a line leads to the text, also from another view.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a.line[href^='#L']");
    if (link && !$(".viewer[data-rows$='/lines']")) {
      event.preventDefault();
      const query = new URLSearchParams(location.search);
      query.set("tab", "text");
      location.assign(`${location.pathname}?${query}${link.getAttribute("href")}`);
    } else if (link && location.hash === link.getAttribute("href")) viewer.toHash();
  });

  // Look-ups: the same calls, and the same answers, as those of a model.
  const lookUp = $(".look-up");
  if (lookUp) {
    const handle = $(".artifact").dataset.handle;
    const answer = $(".answer"), found = $(".found"), more = $(".more");
    const tools = {
      grep: { key: "pattern", hint: "Regular expression" },
      search: { key: "words", hint: "Words or a question" },
      query: { key: "filter", hint: "jq filter, such as .items[] | .name" },
    };
    const quoted = (text) => /^[\w./+=:@%-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
    const fields = lookUp.elements;
    const hint = () => {
      fields.what.placeholder = tools[fields.tool.value].hint;
      $(".case").hidden = fields.tool.value !== "grep";
    };
    fields.tool.addEventListener("change", hint);
    hint();
    let number = 0;
    async function send(extra) {
      const tool = fields.tool.value, what = fields.what.value;
      if (!what) return;
      const own = ++number;
      const isCase = tool === "grep" && fields.case.checked;
      const parameters = { [tools[tool].key]: what, ...extra };
      if (tool === "grep" && !isCase) parameters.ignore_case = true;
      const list = Object.entries(parameters).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
      $(".tool-call").textContent = `spillgate_${tool}(handle="${handle}", ${list.join(", ")})`;
      const options = [
        tool === "grep" && !isCase && "-i",
        ...["start", "byte"].map((name) => extra?.[name] && `--${name} ${extra[name]}`),
        // A pattern is no option, whatever it begins with.
        what.startsWith("-") && "--",
      ];
      $(".command").textContent = ["spillgate", tool, handle, ...options, quoted(what)].filter(Boolean).join(" ");
      answer.hidden = false;
      found.textContent = "…";
      more.hidden = true;
      try {
        const response = await ask(`${prefix}/v1/artifacts/${encodeURIComponent(handle)}/${tool}?${new URLSearchParams(parameters)}`, { headers: { Accept: "application/json" } });
        const { text } = await response.json();
        if (own === number) show(text, tool);
      } catch (error) { if (own === number) found.textContent = error.message; }
    }
    function show(text, tool) {
      // In the middle of a long result, the next page begins at a byte of it.
      const next = /^next: .*\bstart=(\d+)(?:, byte=(\d+))?/m.exec(text);
      more.hidden = !next;
      more.onclick = () => send({ start: Number(next[1]), ...(next[2] && { byte: Number(next[2]) }) });
      found.replaceChildren();
      for (const line of text.split("\n")) {
        const numbered = tool === "query" ? null : /^(\d+)([:-])/.exec(line);
        if (numbered) {
          const link = make("a", "line", numbered[1]);
          link.href = `#L${numbered[1]}`;
          found.append(link, line.slice(numbered[1].length), "\n");
        } else found.append(line, "\n");
      }
    }
    lookUp.addEventListener("submit", (event) => { event.preventDefault(); send(); });
    $(".close").addEventListener("click", () => { answer.hidden = true; number++; fields.what.focus(); });
    document.addEventListener("click", (event) => {
      const link = event.target.closest?.("a.path");
      if (!link) return;
      event.preventDefault();
      fields.tool.value = "query";
      if (fields.tool.value !== "query") return;
      hint();
      fields.what.value = link.dataset.path;
      send();
      fields.what.focus();
    });
  }

  // The search over all outputs.
  const find = $("#find");
  if (find) {
    const status = $(".status"), hits = $(".hits"), cancel = $(".cancel");
    let running = null;
    async function search() {
      running?.abort();
      const own = running = new AbortController();
      const fields = new URLSearchParams([...new FormData(find)].filter(([, value]) => value));
      if (!fields.get("what")) return;
      history.replaceState(null, "", `${prefix}/find?${fields}`);
      hits.replaceChildren();
      status.textContent = "Searching…";
      cancel.hidden = false;
      try {
        const response = await ask(`${find.dataset.stream}?${fields}`, { signal: own.signal });
        const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
        let rest = "";
        for (;;) {
          const { value, done } = await reader.read();
          if (done) break;
          const lines = (rest + value).split("\n");
          rest = lines.pop();
          for (const line of lines) take(JSON.parse(line), fields.get("what"));
        }
      } catch (error) {
        if (own === running) status.textContent = error.name === "AbortError" ? `Cancelled. ${status.textContent}` : error.message;
      } finally { if (own === running) { cancel.hidden = true; running = null; } }
    }
    function take(line, what) {
      if (line.problem) status.textContent = line.problem;
      else if (line.hit) hit(line, what);
      else if (line.done) status.textContent = `${grouped(line.found)} ${line.found === 1 ? "output" : "outputs"} with hits, ${progress(line)}.`;
      else status.textContent = `Searching: ${progress(line)}…`;
    }
    // Those that are skipped are binary, gone, damaged, or take too long.
    function progress({ searched, skipped, of }) {
      return `${grouped(searched)} of ${grouped(of)} outputs searched${skipped ? `, ${grouped(skipped)} skipped (no text, removed, damaged or too slow)` : ""}`;
    }
    function hit({ hit, lines, more }, what) {
      const address = `${prefix}/a/${encodeURIComponent(hit.handle)}`;
      const part = make("article", "hit"), head = make("h2");
      const link = make("a", "", hit.source);
      link.href = address;
      const time = make("time");
      time.dateTime = hit.created;
      head.append(link, " ", make("span", "faint", hit.call), " ", time);
      part.append(head);
      for (const [number, text] of lines) {
        const line = make("a", "line");
        line.href = `${address}?tab=text#L${number}`;
        const shown = make("span", "t");
        marked(shown, text, what);
        line.append(make("span", "n", String(number)), shown);
        part.append(line);
      }
      if (more) part.append(make("p", "faint", `… ${grouped(more)} more lines`));
      times(part);
      hits.append(part);
    }
    function marked(into, text, what) {
      const at = text.toLowerCase().indexOf(what.toLowerCase());
      if (at < 0) { into.textContent = text; return; }
      into.append(text.slice(0, at), make("mark", "", text.slice(at, at + what.length)), text.slice(at + what.length));
    }
    find.addEventListener("submit", (event) => { event.preventDefault(); search(); });
    cancel.addEventListener("click", () => running?.abort());
    if (new FormData(find).get("what")) search();
  }

  // Keys.
  const keys = $("#keys");
  $("button.keys")?.addEventListener("click", () => keys.showModal());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea, dialog")) {
      if (event.key === "Escape") event.target.blur?.();
      return;
    }
    const rows = $$(".outputs a.open, .runs a.open, .steps summary");
    const at = rows.indexOf(document.activeElement);
    const step = (by) => rows.length ? rows[Math.max(0, Math.min(rows.length - 1, at + by))].focus() : viewer?.show(viewer.first + by);
    const actions = {
      j: () => step(1),
      k: () => step(-1),
      "/": () => $("input[type=search]")?.focus(),
      "?": () => keys.showModal(),
      u: () => location.assign(`${prefix}/`),
      g: () => viewer?.show(1),
      G: () => viewer?.show(viewer.total),
      n: () => $(".jumps") && viewer.jump(false),
      p: () => $(".jumps") && viewer.jump(true),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });
})();
