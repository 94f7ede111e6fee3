// The transport bar: first, back, play, on, last, the scrubber with its ticks, speed, mode, jumps, breakpoints.

import { icon, make, menu, select } from "./dom.js";
import { findNext } from "./find.js";
import { KEY_HELP } from "./keys.js";
import { SPEEDS } from "./playback.js";
import { moved, whole } from "./playhead.js";
import { grouped } from "./text.js";

const MODES = [["decision", "by decision"], ["rule", "by rule"], ["step", "every step"]];
const JUMPS = {
  bulk: { what: { kind: "bulk" }, button: "bulk grant", key: "G", none: "No later bulk grant." },
  blocked: { what: { kind: "blocked", classIndex: -1 }, button: "blocked head", key: "B", none: "No head becomes blocked later." },
  refusal: { what: { kind: "refusal" }, button: "refusal", key: "R", none: "No later refusal." },
};

export class Transport {
  constructor(player) {
    this.player = player;
    const { playback } = player;
    this.playIcon = icon("play");
    this.playText = make("span", { text: "Play" });
    this.play = make("button", { class: "rp-play", type: "button", click: () => playback.toggle() }, this.playIcon, this.playText);
    this.marks = make("canvas", { class: "rp-marks", "aria-hidden": "true" });
    this.done = make("div", { class: "rp-done" });
    this.track = make("div", { class: "rp-track", "aria-hidden": "true" }, this.done);
    this.observer = new ResizeObserver(() => this.player.run && this.drawMarks());
    this.observer.observe(this.marks);
    this.range = make("input", {
      type: "range", min: "-1", step: "1", "aria-label": "Step", input: () => this.scrubbed(),
    });
    this.speed = select("Speed", SPEEDS.map((n) => [n, n === 1 ? "1 step/s" : `${grouped(n)} steps/s`]), (value) =>
      playback.setSpeed(Number(value)),
    );
    this.speed.value = playback.speed;
    this.mode = select("What one step is", MODES, (value) => player.setMode(value));
    this.mode.value = player.mode;
    this.jumps = menu("next…", "Jump to the next …");
    this.stops = menu("stop at…", "Breakpoints: stop playing when …");
    this.guess = make("button", {
      type: "button", class: "rp-quiet", title: "Guess first: hides who is next until you ask (Q)", text: "guess",
      "aria-pressed": "false", click: () => player.setGuessing(!player.isGuessing),
    });
    this.help = menu("?", "Keys", make("dl", {}, ...KEY_HELP.flatMap(([key, does]) => [make("dt", { text: key }), make("dd", { text: does })])));
    this.help.classList.add("rp-help");
    this.element = make(
      "div", { class: "rp-bar", role: "toolbar", "aria-label": "Playback" },
      make("div", { class: "rp-buttons" },
        this.button("first", "To the start (Home)", () => this.jumpTo(whole(-1))),
        this.button("previous", "Back (←)", () => this.move(-1)),
        this.play,
        this.button("next", "On (→)", () => this.move(1)),
        this.button("last", "To the end (End)", () => this.jumpTo(whole(Infinity)))),
      make("div", { class: "rp-scrub" }, this.marks, this.track, this.range),
      make("div", { class: "rp-choices" }, this.speed, this.mode, this.jumps, this.stops, this.guess, this.help),
    );
    playback.onChange = () => this.playing();
    this.playing();
  }

  button(name, title, click) {
    return make("button", { type: "button", class: "rp-icon", title, "aria-label": title, click }, icon(name));
  }

  move(count) {
    if (!this.player.run) return;
    this.player.playback.pause();
    this.player.moveTo(moved(this.player.run, this.player.mode, this.player.position, count));
  }

  /** Go to a step; beyond the last one is the last one. */
  jumpTo({ step, visit }) {
    const { run, playback } = this.player;
    if (!run) return;
    playback.pause();
    this.player.moveTo({ step: Math.min(step, run.steps - 1), visit });
  }

  /** Jump to the next step at which something happens, or say that there is none. */
  async find(name, what = JUMPS[name].what, none = JUMPS[name]?.none) {
    const { player } = this;
    const { run, position } = player;
    if (!run) return;
    player.playback.pause();
    const step = await findNext(run, what, position.step);
    if (run !== player.run) return;
    if (step < 0) player.said.note(none);
    else player.moveTo(whole(step));
  }

  scrubbed() {
    this.player.playback.pause();
    const { run, mode } = this.player;
    const step = Number(this.range.value);
    // By decision the playhead stands on decisions, on the start and on the end.
    const isFree = mode !== "decision" || step < 0 || step >= run.steps - 1;
    this.player.moveTo(isFree ? whole(step) : moved(run, mode, whole(step + 1), -1));
  }

  playing() {
    const { isPlaying } = this.player.playback;
    this.playIcon.show(isPlaying ? "pause" : "play");
    this.playText.textContent = isPlaying ? "Pause" : "Play";
    this.play.title = isPlaying ? "Pause (space)" : "Play (space)";
    this.player.element?.classList.toggle("rp-playing", isPlaying);
  }

  /** A run is new here, or its theme. */
  renew(isNew) {
    const { run } = this.player;
    this.range.max = run.steps - 1;
    if (isNew) {
      this.offerJumps();
      this.offerStops();
    }
    this.drawMarks();
  }

  offerJumps() {
    const { run } = this.player;
    const item = (text, key, click) =>
      make("button", { type: "button", click: () => { this.jumps.close(); click(); } }, make("span", { text }), make("kbd", { text: key }));
    const dispatches = run.classNames.map((name, classIndex) =>
      item(name, "", () => this.find("dispatch", { kind: "dispatch", classIndex }, `No later dispatch of ${name}.`)),
    );
    this.jumps.querySelector(".rp-menu").replaceChildren(
      ...Object.entries(JUMPS).map(([name, jump]) => item(jump.button, jump.key, () => this.find(name))),
      make("p", { text: "dispatch of" }), ...dispatches,
    );
  }

  offerStops() {
    const { run, playback } = this.player;
    const check = (text, kind) => {
      const box = make("input", { type: "checkbox", change: () => this.setStops() });
      box.dataset.kind = kind;
      return make("label", {}, box, make("span", { text }));
    };
    this.blockedClass = select("Class that becomes blocked", [[-1, "any lane"], ...run.classNames.map((n, i) => [i, n])], () => this.setStops());
    this.above = make("input", {
      type: "number", min: "0", step: "1", value: String(Math.max(...run.quanta.map(Number))), "aria-label": "Deficit in tokens", input: () => this.setStops(),
    });
    this.stops.querySelector(".rp-menu").replaceChildren(
      check("a bulk grant", "bulk"), check("a refusal", "refusal"),
      make("div", { class: "rp-pair" }, check("blocked:", "blocked"), this.blockedClass),
      make("div", { class: "rp-pair" }, check("a deficit above", "deficit"), this.above),
    );
    playback.setStops([]);
    this.stops.say("stop at…");
  }

  setStops() {
    const boxes = [...this.stops.querySelectorAll("input[type=checkbox]:checked")];
    const classIndex = Number(this.blockedClass.value);
    const above = Number(this.above.value) || 0;
    const name = classIndex >= 0 ? this.player.run.classNames[classIndex] : "a lane head";
    const whats = {
      bulk: { kind: "bulk", text: "bulk grant" },
      refusal: { kind: "refusal", text: "refusal" },
      blocked: { kind: "blocked", classIndex, text: `${name} becomes blocked` },
      deficit: { kind: "deficit", above, text: `a deficit rises above ${grouped(above)} tokens` },
    };
    this.player.playback.setStops(boxes.map((box) => whats[box.dataset.kind]));
    this.stops.say(boxes.length ? `stop at ${boxes.length}` : "stop at…");
  }

  /** Ticks over the scrubber: bulk grants in its upper half, refusals in its lower half. */
  drawMarks() {
    const { run, header } = this.player;
    const width = this.marks.clientWidth;
    if (!width) return;
    const ratio = window.devicePixelRatio || 1;
    const height = 22;
    this.marks.width = width * ratio;
    this.marks.height = height * ratio;
    const pen = this.marks.getContext("2d");
    pen.scale(ratio, ratio);
    const thumb = 14;
    const draw = (steps, colour, top) => {
      pen.fillStyle = colour;
      let last = -9;
      for (const step of steps) {
        const x = Math.round(thumb / 2 + ((step + 1) / run.steps) * (width - thumb));
        if (x > last + 2) {
          pen.fillRect(x - 0.5, top, 1.5, 5);
          last = x;
        }
      }
    };
    draw(run.bulks, header.theme.muted, 0);
    draw(run.refusals, header.theme.warn, height - 5);
    const said = [run.bulks.length && `${grouped(run.bulks.length)} bulk grants (ticks above)`, run.refusals.length && `${grouped(run.refusals.length)} refusals (ticks below)`];
    this.range.title = said.filter(Boolean).join(", ") || "no bulk grants, no refusals";
  }

  show({ step }, state) {
    this.range.value = step;
    this.done.style.transform = `scaleX(${(step + 1) / this.player.run.steps})`;
    // Nobody listens to sixty texts a second.
    if (this.player.playback.isPlaying) return;
    this.range.setAttribute("aria-valuetext", this.player.headline(state));
    this.guess.setAttribute("aria-pressed", String(this.player.isGuessing));
    this.mode.value = this.player.mode;
  }

  close() {
    this.observer.disconnect();
    for (const each of [this.jumps, this.stops, this.help]) document.removeEventListener("pointerdown", each.closeOutside);
  }
}
