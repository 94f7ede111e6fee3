// The event log in step with the playhead: a long list of which only the rows in sight are made.

import { make, select } from "./dom.js";
import { KIND, countBelow, isCall, labelOf } from "./run.js";
import { whole } from "./playhead.js";
import { fixed, grouped } from "./text.js";
import { KIND_WORDS } from "./words.js";

const ROW_PX = 30;
const ROWS_IN_SIGHT = 8;
const AHEAD = 5;
const KEPT_REASONS = 4000;
const FLYING_MS = 500;
const KINDS = [
  ["all", "all events", null],
  ["decisions", "decisions", [KIND.DECISION, KIND.HEAD_ERROR]],
  ["calls", "decisions and empty calls", [KIND.DECISION, KIND.HEAD_ERROR, KIND.EMPTY_CALL]],
  ["arrivals", "arrivals", [KIND.BYPASSED, KIND.QUEUED, KIND.REFUSED, KIND.ERROR]],
  ["refusals", "refusals and errors", [KIND.REFUSED, KIND.ERROR, KIND.HEAD_ERROR]],
  ["tokens", "first tokens", [KIND.FIRST_TOKEN]],
  ["completions", "completions", [KIND.COMPLETION]],
  ["workers", "worker changes", [KIND.WORKER_CHANGE]],
];

export class Log {
  constructor(player) {
    this.player = player;
    this.reasons = new Map();
    this.csvRequest = null;
    this.steps = new Int32Array(0);
    this.kind = select("Which events", KINDS.map(([key, text]) => [key, text]), () => this.filter());
    this.classes = select("Events of which class", [["-1", "all classes"]], () => this.filter());
    this.workers = select("Events on which worker", [["-1", "all workers"]], () => this.filter());
    this.count = make("span", { class: "rp-count" });
    this.csv = make("button", { type: "button", class: "rp-quiet", text: "CSV", title: "Download these events as CSV", click: () => this.askCsv() });
    this.rows = make("div", { class: "rp-log-body" });
    this.scroller = make(
      "div", { class: "rp-log-rows", tabindex: "0", role: "region", "aria-label": "Events", scroll: () => this.scrolled() }, this.rows,
    );
    this.scroller.style.height = `${ROW_PX * ROWS_IN_SIGHT}px`;
    const heads = ["step", "ms", "what", "class", "request", "where", "cost", "why"].map((text) => make("span", { text }));
    this.element = make(
      "div", { class: "rp-log" },
      make("div", { class: "rp-log-bar" }, make("h4", { text: "Log" }), this.kind, this.classes, this.workers, this.count, this.csv),
      make("div", { class: "rp-log-head", "aria-hidden": "true" }, ...heads),
      this.scroller,
    );
    this.made = new Map();
    this.top = 0;
    this.shownAt = -Infinity;
  }

  renew(isNew) {
    const { run } = this.player;
    if (isNew) {
      this.reasons.clear();
      const numbered = (names) => names.map((name, index) => [String(index), name]);
      this.classes.offer([["-1", "all classes"], ...numbered(run.classNames)], this.classes.value);
      this.workers.offer([["-1", "all workers"], ...numbered(run.endpointNames)], this.workers.value);
    }
    this.filter();
  }

  get kinds() {
    return KINDS.find(([key]) => key === this.kind.value)[2];
  }

  filter() {
    const { run } = this.player;
    const { kinds } = this;
    const classIndex = Number(this.classes.value);
    const endpoint = Number(this.workers.value);
    const found = [];
    for (let step = 0; step < run.steps; step += 1) {
      const row = run.row[step];
      const fits =
        (!kinds || kinds.includes(run.kind[step])) &&
        (classIndex < 0 || (row >= 0 && run.rowClass[row] === classIndex)) &&
        (endpoint < 0 || run.endpoint[step] === endpoint);
      if (fits) found.push(step);
    }
    this.steps = Int32Array.from(found);
    this.count.textContent = `${grouped(found.length)} of ${grouped(run.steps)}`;
    this.rows.style.height = `${found.length * ROW_PX}px`;
    this.rows.replaceChildren();
    this.made.clear();
    this.shownAt = -Infinity;
    this.show(this.player.position);
  }

  // --- rows ----------------------------------------------------------------------------------------------

  /** Bring the playhead's row into sight, unless somebody reads elsewhere; while playing no faster than one can read. */
  show({ step }) {
    if (this.element.hidden) return;
    const { isPlaying, isFlying } = this.player.playback;
    const now = performance.now();
    if (isFlying && now - this.shownAt < FLYING_MS) return;
    this.shownAt = now;
    this.here = countBelow(this.steps, step, true) - 1;
    if (isPlaying || !this.scroller.matches(":hover, :focus-within")) {
      this.top = Math.max(0, Math.min(this.here - AHEAD, this.steps.length - ROWS_IN_SIGHT)) * ROW_PX;
      this.scroller.scrollTop = this.top;
    }
    this.fill();
  }

  scrolled() {
    const top = this.scroller.scrollTop;
    if (!this.player.run || Math.abs(top - this.top) < 1) return;
    this.top = top;
    this.fill();
    if (!this.player.playback.isPlaying) this.player.sender.report();
  }

  /** First and last place of the rows in sight. */
  span() {
    const first = Math.max(0, Math.floor(this.top / ROW_PX));
    return [first, Math.min(this.steps.length, first + ROWS_IN_SIGHT + 1)];
  }

  fill() {
    const [first, end] = this.span();
    for (const [place, row] of this.made) {
      if (place < first || place >= end) {
        row.remove();
        this.made.delete(place);
      }
    }
    const isHiding = this.player.isHidden;
    const shown = this.player.position.step;
    for (let place = first; place < end; place += 1) {
      const step = this.steps[place];
      const hidden = this.player.isGuessing && (step > shown || (isHiding && step === shown));
      const why = hidden ? "" : (this.reasons.get(step) ?? "");
      let row = this.made.get(place);
      if (!row || row.dataset.hidden !== String(hidden)) {
        row?.remove();
        row = this.makeRow(step, hidden);
        row.style.top = `${place * ROW_PX}px`;
        this.made.set(place, row);
        this.rows.append(row);
      }
      if (row.lastChild.textContent !== why) {
        row.lastChild.textContent = why;
        row.lastChild.title = why;
      }
      const isHere = step === shown;
      if (isHere !== row.classList.contains("rp-here")) {
        row.classList.toggle("rp-here", isHere);
        if (isHere) row.setAttribute("aria-current", "step");
        else row.removeAttribute("aria-current");
      }
      row.classList.toggle("rp-later", step > shown);
    }
  }

  makeRow(step, hidden) {
    const { run, header } = this.player;
    const kind = run.kind[step];
    const request = run.row[step];
    const classIndex = request >= 0 ? run.rowClass[request] : -1;
    const words = hidden
      ? [isCall(kind) ? "call" : KIND_WORDS[kind], "", "", "", ""]
      : [
          KIND_WORDS[kind], classIndex >= 0 ? run.classNames[classIndex] : "", request >= 0 ? labelOf(run, request) : "",
          this.where(step), request >= 0 ? grouped(run.cost[request]) : "",
        ];
    const cells = [grouped(step + 1), grouped2(fixed(run.times[step], 1)), ...words, ""].map((text) => make("span", { text, title: text }));
    if (!hidden && classIndex >= 0) {
      const swatch = make("i", { class: "rp-swatch", "aria-hidden": "true" });
      swatch.style.background = header.classes[classIndex].colour;
      cells[3].prepend(swatch);
    }
    const row = make("button", { type: "button", class: "rp-row", tabindex: "-1", click: () => this.clicked(step) }, ...cells);
    row.dataset.hidden = String(hidden);
    row.dataset.step = step;
    return row;
  }

  where(step) {
    const { run } = this.player;
    const endpoint = run.endpoint[step];
    if (run.kind[step] === KIND.QUEUED) return endpoint < 0 ? "any worker" : `only ${run.endpointNames[endpoint]}`;
    return endpoint >= 0 ? run.endpointNames[endpoint] : "";
  }

  clicked(step) {
    this.player.playback.pause();
    this.player.moveTo(whole(step));
  }

  // --- Python --------------------------------------------------------------------------------------------

  /** The steps in sight whose reason is not known yet. */
  wanted() {
    if (this.element.hidden || this.player.playback.isFlying) return [];
    const [first, end] = this.span();
    const wanted = [];
    for (let place = first; place < end; place += 1) if (!this.reasons.has(this.steps[place])) wanted.push(this.steps[place]);
    return wanted;
  }

  hear({ run, reasons }) {
    if (run !== this.player.run?.id) return;
    if (this.reasons.size > KEPT_REASONS) this.reasons.clear();
    for (const [step, why] of reasons) this.reasons.set(step, why);
    this.fill();
  }

  askCsv() {
    const { memory } = this.player;
    memory.csvNumber = (memory.csvNumber ?? 0) + 1;
    this.csvRequest = {
      number: memory.csvNumber,
      kinds: this.kinds, class_index: Number(this.classes.value), endpoint: Number(this.workers.value),
    };
    this.csv.disabled = true;
    this.player.sender.report();
  }

  hearCsv({ number, text, name }) {
    if (number !== this.csvRequest?.number) return;
    this.csvRequest = null;
    this.csv.disabled = false;
    const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    make("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }
}

/** Separators for a number with decimals. */
function grouped2(text) {
  const [whole, part] = text.split(".");
  return `${grouped(whole)}.${part}`;
}
