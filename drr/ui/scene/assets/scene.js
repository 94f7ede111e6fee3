// Plays a scene: a Plotly figure that is drawn once, and a second one over it that follows simulated time. Two, because
// plotly.js wipes every trace that a call of `animate` does not name, and takes its time for those that it does.

import { loadPlotly } from "../ringside.player/plotly.js"; // one module for both, so it is loaded once
import { captionAt, momentAt, overlayAt } from "./motion.js";
import { buildControls } from "./controls.js";

const ANIMATION = { mode: "immediate", transition: { duration: 0 }, frame: { duration: 0, redraw: false } };
const TRACES = [0, 1, 2, 3];
const CONFIG = { displayModeBar: false, staticPlot: true };
const remembered = new Map(); // playhead and speed by name: they outlive reruns, other data and other pages
const left = new Map(); // players whose page was left, by name: who comes back need not wait for the same picture again

export default function ({ data, parentElement, setTriggerValue }) {
  const player = (parentElement.ringsideScene ??= left.get(data.name) ?? new Player());
  player.come(parentElement, data.name);
  player.take(data, setTriggerValue);
  return () => player.leave();
}

class Player {
  constructor() {
    this.root = document.createElement("div");
    this.root.className = "ringside-scene";
    this.root.tabIndex = 0;
    this.controls = buildControls(this.root, this);
    this.onKey = (event) => this.key(event);
    this.observer = new ResizeObserver(() => this.fit());
    this.queue = Promise.resolve();
  }

  come(parent, name) {
    if (this.root.parentElement === parent) return;
    left.delete(name);
    parent.append(this.root);
    window.addEventListener("keydown", this.onKey, true);
    this.observer.observe(this.root);
  }

  take(data, setTriggerValue) {
    const { playing } = data;
    const isNew = !remembered.has(data.name);
    const memory = isNew ? { time: 0, speed: playing.speed, round: playing.round, moment: "" } : remembered.get(data.name);
    remembered.set(data.name, memory);
    const startsOver = memory.round !== playing.round;
    const jumps = playing.moment && (isNew || memory.moment !== playing.moment);
    // The same pictures are made anew for every run of the page; drawn they are once.
    const isSame = this.data?.pictures === data.pictures;
    if (!isSame) this.scene = null;
    Object.assign(this, { data: isSame ? { ...data, scenes: this.data.scenes } : data, memory, send: setTriggerValue });
    this.root.classList.toggle("large", playing.is_large);
    const { moments } = data.scenes[0];
    if (startsOver) memory.time = 0;
    if (jumps) memory.time = moments.find((each) => each.name === playing.moment)?.time_ms ?? memory.time;
    memory.round = playing.round;
    memory.moment = playing.moment;
    this.duration = data.scenes[0].duration_ms;
    memory.time = Math.min(memory.time, this.duration);
    this.controls.update(data, memory);
    this.fit();
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (playing.autoplay && !calm && (isNew || startsOver) && !jumps) this.play();
    else if (jumps) this.pause();
    else if (isSame) this.show();
  }

  /** Draw the widest picture that fits, scaled up or down to the room there is. */
  fit() {
    const room = this.root.clientWidth;
    if (!room || !this.data) return;
    const fitting = this.data.scenes.filter((scene) => scene.width <= room + 60);
    const scene = fitting.at(-1) ?? this.data.scenes[0];
    const { plot, still, overlay, frame } = this.controls;
    const factor = Math.min(room / scene.width, 1.25);
    plot.style.transform = `scale(${factor})`;
    plot.style.width = `${scene.width}px`;
    frame.style.height = `${scene.height * factor}px`;
    if (scene === this.scene) return;
    this.scene = scene;
    this.isDrawn = false;
    this.queue = this.queue
      .then(() => loadPlotly(this.data.plotly))
      .then((Plotly) => {
        if (scene !== this.scene) return undefined;
        this.Plotly = Plotly;
        const draw = (element, { data, layout }) => Plotly.react(element, data, layout, CONFIG);
        return Promise.all([draw(still, structuredClone(scene.figure)), draw(overlay, structuredClone(scene.overlay))]);
      })
      .then(() => {
        if (scene !== this.scene) return;
        this.isDrawn = true;
        this.show();
      })
      .catch((error) => {
        this.controls.caption.textContent = `The picture could not be drawn: ${error.message}`;
      });
  }

  /** Show the picture, caption and clock of the playhead's time. */
  show() {
    const { time } = this.memory;
    const { moments } = this.data.scenes[0];
    this.root.dataset.timeMs = time.toFixed(1);
    this.root.dataset.moment = momentAt(moments, time)?.name ?? "";
    this.controls.show(time, this.duration, captionAt(moments, time), this.isPlaying);
    if (!this.isDrawn) return;
    const { values, counts } = overlayAt(this.scene, time);
    this.root.dataset.counts = counts.join("|");
    // Not awaited: a frame that is late is dropped by the next one.
    this.Plotly.animate(this.controls.overlay, { data: values, traces: TRACES }, ANIMATION).catch(() => {});
  }

  play() {
    if (this.isPlaying) return;
    if (this.memory.time >= this.duration) this.memory.time = 0;
    this.isPlaying = true;
    let before = performance.now();
    let heldUntil = 0;
    const tick = (now) => {
      if (!this.isPlaying) return;
      const { memory } = this;
      const from = memory.time;
      // Nothing moves before it can be seen.
      const passes = this.isDrawn && now >= heldUntil ? Math.min(now - before, 250) * memory.speed : 0;
      before = now;
      memory.time = Math.min(from + Math.max(passes, 0), this.duration);
      const hold = this.data.playing.hold_ms;
      const met = hold ? this.data.scenes[0].moments.find((m) => m.time_ms > from && m.time_ms <= memory.time) : null;
      if (met) {
        memory.time = met.time_ms;
        heldUntil = now + hold;
      }
      if (memory.time >= this.duration) this.isPlaying = false;
      if (passes > 0) this.show();
      if (this.isPlaying) requestAnimationFrame(tick);
    };
    this.show();
    requestAnimationFrame(tick);
  }

  pause() {
    this.isPlaying = false;
    this.show();
  }

  toggle() {
    if (this.isPlaying) this.pause();
    else this.play();
  }

  seek(time) {
    this.memory.time = Math.min(Math.max(time, 0), this.duration);
    this.show();
  }

  choose(moment) {
    this.memory.moment = moment.name;
    this.isPlaying = false; // it was chosen to be looked at
    this.seek(moment.time_ms);
    this.send("moment", moment.name);
  }

  /** To the next moment, or the one before. */
  hop(direction) {
    const { moments } = this.data.scenes[0];
    const { time } = this.memory;
    const next =
      direction > 0
        ? moments.find((each) => each.time_ms > time + 1)
        : moments.findLast((each) => each.time_ms < time - 1);
    if (!next) return;
    this.isPlaying = false;
    this.seek(next.time_ms);
  }

  reset() {
    this.isPlaying = false;
    this.seek(0);
    this.send("reset", true);
  }

  key(event) {
    const { target } = event;
    const isMine = this.root.contains(target);
    if (!isMine && !this.data?.playing.is_large) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const types = target.matches?.("textarea, [contenteditable=true], [role=slider], [role=combobox], input:not([type=range])");
    if (types || (isMine && target.matches("select"))) return;
    const presses = target.matches?.("button") && (event.key === " " || event.key === "Enter");
    const second = this.duration / 40;
    const actions = {
      " ": () => this.toggle(),
      ArrowRight: () => this.seek(this.memory.time + second),
      ArrowLeft: () => this.seek(this.memory.time - second),
      PageDown: () => this.hop(1),
      PageUp: () => this.hop(-1),
      Home: () => this.seek(0),
      End: () => this.seek(this.duration),
      r: () => this.reset(),
      R: () => this.reset(),
    };
    const action = presses ? null : actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopImmediatePropagation(); // R alone would make Streamlit rerun
    action();
  }

  leave() {
    this.isPlaying = false;
    window.removeEventListener("keydown", this.onKey, true);
    this.observer.disconnect();
    this.root.remove();
    left.set(this.data.name, this);
  }
}
