// One player: the run it shows, its playhead, and the parts of the page that follow the playhead.

import { readBlob } from "./blob.js";
import { make } from "./dom.js";
import { Keys } from "./keys.js";
import { memoryOf, others, register, unregister } from "./link.js";
import { Log } from "./log.js";
import { Numbers } from "./numbers.js";
import { Playback } from "./playback.js";
import { carriedOver, isSame, visitCount, whole } from "./playhead.js";
import { loadPlotly } from "./plotly.js";
import { countBelow, isCall, makeRun, stepAtTime } from "./run.js";
import { Said } from "./said.js";
import { Sender } from "./sender.js";
import { Spots } from "./spots.js";
import { Stage } from "./stage.js";
import { guessState, stateAt, visitState } from "./state.js";
import { Timeline } from "./timeline.js";
import { Transport } from "./transport.js";
import { stageValues } from "./values.js";
import { Path } from "./walker.js";
import { headlineOf } from "./words.js";

const RESIZE_MS = 80;

export class Player {
  constructor(name, parent) {
    this.name = name;
    this.memory = memoryOf(name);
    this.run = null;
    this.settings = { parts: ["log", "timelines", "numbers"], linked: "" };
    this.position = whole(-1);
    this.mode = this.memory.mode ?? "decision";
    this.isGuessing = this.memory.isGuessing ?? false;
    this.revealed = -1;
    this.painted = 0;
    this.ledAt = 0;
    this.playback = new Playback(this);
    this.transport = new Transport(this);
    this.said = new Said(this);
    this.spots = new Spots(this);
    this.stage = new Stage(this.spots.element);
    this.numbers = new Numbers(this);
    this.timeline = new Timeline(this);
    this.log = new Log(this);
    this.parts = [this.transport, this.said, this.numbers, this.timeline, this.log];
    this.element = make(
      "section",
      { class: "rp", tabindex: "0", "aria-label": "Stage of the run" },
      this.transport.element, this.said.element, this.stage.element, this.numbers.element,
      this.timeline.element, this.log.element,
    );
    this.element.inert = true;
    this.sender = new Sender(() => this.playback.isFlying, this.element);
    parent.append(this.element);
    this.keys = new Keys(this);
    this.observer = new ResizeObserver(() => this.resized());
    this.observer.observe(this.element);
    register(name, this);
  }

  get group() {
    return this.settings.linked;
  }

  /** Show the run of a blob. The playhead keeps its simulated time; `start` is for who never stood anywhere. */
  async load(blob, { plotly, start }) {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const loading = loadPlotly(plotly);
    const { header, columns } = await readBlob(blob);
    const before = this.run;
    const isNew = before?.id !== header.id;
    const run = isNew ? makeRun(header, columns) : before;
    this.Plotly = await loading;
    if (turn !== this.turn) return;
    this.header = header;
    this.run = run;
    if (isNew) {
      this.path = new Path(run);
      this.playback.pause();
      this.place(before, start);
    }
    this.view = { run, survey: header.survey, tones: header.tones, plan: null };
    this.element.dataset.theme = header.theme.name;
    this.element.dataset.run = header.id;
    this.element.classList.toggle("rp-guessing", this.isGuessing);
    for (const part of this.parts) part.renew?.(isNew);
    await this.redraw();
    if (turn !== this.turn) return;
    this.element.inert = false;
    this.element.dataset.ready = "true";
    this.sender.connect(() => this.report());
    if (this.leader) this.follow(this.leader);
  }

  /** Where the playhead stands in a run that is new here. */
  place(before, start) {
    const kept = this.memory.position;
    if (before) this.position = carriedOver(before, this.position, this.run);
    else if (kept && this.memory.run === this.run.id) this.position = kept;
    else if (kept) this.position = whole(stepAtTime(this.run, this.memory.time));
    else this.position = whole(Math.min(start, this.run.steps - 1));
    if (this.pendingGo && this.isHere(this.pendingGo)) {
      this.position = this.placeOf(this.pendingGo);
      this.pendingGo = null;
    }
    this.revealed = -1;
    this.remember();
  }

  // --- drawing -------------------------------------------------------------------------------------------

  async redraw() {
    const width = this.element.clientWidth || 900;
    this.width = width;
    const stage = Stage.choose(this.header.stages, width);
    this.view.plan = stage.plan;
    this.stage.stage = stage;
    this.stage.fit(width);
    await this.stage.draw(this.Plotly, stage, this.values());
    this.spots.show(stage, this.settings.press_worker);
    this.showParts();
  }

  resized() {
    clearTimeout(this.resizing);
    this.resizing = setTimeout(() => {
      const width = this.element.clientWidth;
      if (!this.view || !width || width === this.width) return;
      if (Stage.choose(this.header.stages, width) !== this.stage.stage) this.redraw();
      else this.stage.fit((this.width = width));
      this.timeline.resized();
    }, RESIZE_MS);
  }

  /** What the playhead shows: the state right after its step or visit, or as the call found it while one may guess. */
  currentState() {
    const { step, visit } = this.position;
    if (this.isHidden) return guessState(this.path, step);
    return visit >= 0 ? visitState(this.path, step, visit) : stateAt(this.path, step);
  }

  /** Whether winner and sentence are hidden until asked for. */
  get isHidden() {
    const { step } = this.position;
    return this.isGuessing && step >= 0 && isCall(this.run.kind[step]) && this.revealed !== step;
  }

  headline(state) {
    const { step, visit } = this.position;
    if (this.isHidden) return headlineOf(this.run, state, "who is next?");
    if (visit < 0) return headlineOf(this.run, state);
    return headlineOf(this.run, state, `call, look ${visit + 1} of ${visitCount(this.run, step)}`);
  }

  values() {
    this.state = this.currentState();
    return stageValues(this.view, this.state, this.headline(this.state));
  }

  /** Paint the playhead's position on everything that follows it. */
  paint() {
    this.stage.animate(this.Plotly, this.values());
    this.showParts();
    this.painted += 1;
  }

  showParts() {
    if (this.state) for (const part of this.parts) part.show(this.position, this.state);
  }

  // --- moving --------------------------------------------------------------------------------------------

  /** Move the playhead. Others of its group follow, unless it is one of them that moves this one. */
  moveTo(position, { isFollowing = false } = {}) {
    if (!this.run || isSame(position, this.position)) return;
    if (position.step !== this.position.step) this.revealed = -1;
    this.position = position;
    this.remember();
    this.paint();
    this.sender.report();
    if (isFollowing) return;
    this.ledAt = performance.now();
    for (const each of others(this.group, this)) each.follow(this);
  }

  follow(leader) {
    // Whoever is not drawn yet catches up once it is.
    this.leader = this.element.inert ? leader : null;
    if (this.leader) return;
    this.playback.pause();
    this.moveTo(whole(this.placeBeside(leader)), { isFollowing: true });
  }

  /** The step that is beside another player's: as many decisions on, or the same time, as the group has it. */
  placeBeside({ run, position: { step } }) {
    if (!this.group.startsWith("decision:")) return stepAtTime(this.run, step >= 0 ? run.times[step] : -1);
    const { decisions } = this.run;
    const passed = Math.min(countBelow(run.decisions, step, true), decisions.length);
    return passed ? decisions[passed - 1] : -1;
  }

  remember() {
    const { step } = this.position;
    Object.assign(this.memory, { position: this.position, run: this.run.id, time: step >= 0 ? this.run.times[step] : -1 });
  }

  /** Python asks for a step or a simulated time; every request has a number and is heeded once. */
  go(request) {
    if (this.memory.lastGo >= request.number) return;
    this.memory.lastGo = request.number;
    this.pendingGo = this.isHere(request) ? null : request;
    if (this.pendingGo) return;
    this.playback.pause();
    this.moveTo(this.placeOf(request), { isFollowing: true }); // each one is told where to go
    this.sender.report();
  }

  /** Whether the run that a request is about is there; most are about whatever is there. */
  isHere({ run }) {
    return Boolean(this.run) && (!run || run === this.run.id);
  }

  placeOf({ step, time_ms: time }) {
    return whole(Math.min(Math.max(step ?? stepAtTime(this.run, time), -1), this.run.steps - 1));
  }

  setMode(mode) {
    this.mode = this.memory.mode = mode;
    this.playback.rebase();
    if (mode !== "rule" && this.position.visit >= 0) this.moveTo(whole(this.position.step));
  }

  setGuessing(isGuessing) {
    this.isGuessing = this.memory.isGuessing = isGuessing;
    this.revealed = -1;
    this.element.classList.toggle("rp-guessing", isGuessing);
    if (this.run) this.paint();
    this.sender.report();
  }

  reveal() {
    if (!this.isHidden) return;
    this.revealed = this.position.step;
    this.paint();
    this.sender.report();
  }

  // --- Python --------------------------------------------------------------------------------------------

  /** What Python has to know to say the rest. */
  report() {
    const { step, visit } = this.position;
    return {
      run: this.run.id, step, visit, heeded: this.memory.lastGo ?? 0,
      log: this.log.wanted(), csv: this.log.csvRequest, timeline: this.timeline.wanted(), pressed: this.memory.pressed,
    };
  }

  hear(message) {
    if (message.settings) this.set(message.settings);
    if (message.kind === "said") this.said.hear(message);
    else if (message.kind === "timeline") this.timeline.hear(message);
    else if (message.kind === "csv") this.log.hearCsv(message);
    if (message.reasons) this.log.hear(message);
  }

  set(settings) {
    if (JSON.stringify(settings) === JSON.stringify(this.settings)) return;
    const isRegrouped = settings.linked !== this.settings.linked;
    this.settings = settings;
    this.log.element.hidden = !settings.parts.includes("log");
    this.timeline.element.hidden = !settings.parts.includes("timelines");
    this.numbers.element.hidden = !settings.parts.includes("numbers");
    this.element.classList.toggle("rp-stale", Boolean(settings.stale));
    this.said.setStale(settings.stale);
    this.spots.show(this.stage.stage, settings.press_worker);
    if (settings.go) this.go(settings.go);
    if (isRegrouped) for (const each of others(this.group, this)) if (each.ledAt > this.ledAt) this.follow(each);
  }

  close() {
    this.playback.pause();
    this.sender.close();
    this.observer.disconnect();
    this.keys.close();
    for (const part of this.parts) part.close?.();
    unregister(this.name, this);
    this.element.remove();
  }
}
