// The timelines: one figure at a time, from Python, with the playhead as an element over it.

import { make } from "./dom.js";
import { whole } from "./playhead.js";
import { countBelow } from "./run.js";

const TABS = [
  ["share", "share so far"], ["recent_share", "share lately"], ["deficits", "deficits"], ["waiting", "waiting"],
  ["load", "worker load"], ["refusals", "refused"],
];
const LARGEST_SCALE = 1.3;

export class Timeline {
  constructor(player) {
    this.player = player;
    const { memory } = player;
    this.chosen = memory.timeline ?? "share";
    this.unit = memory.unit ?? "tokens";
    this.hidden = memory.hiddenClasses ?? new Set();
    memory.hiddenClasses = this.hidden;
    this.figure = null;
    this.tabs = TABS.map(([name, text]) => {
      const tab = make("button", { type: "button", role: "tab", text, click: () => this.choose(name), keydown: (event) => this.tabKey(event) });
      tab.dataset.name = name;
      return tab;
    });
    this.units = ["tokens", "requests"].map((unit) =>
      make("button", { type: "button", class: "rp-quiet", text: unit, click: () => this.chooseUnit(unit) }),
    );
    this.reset = make("button", { type: "button", class: "rp-quiet", text: "whole run", title: "Undo the zoom", hidden: true, click: () => this.unzoom() });
    this.chips = make("div", { class: "rp-chips", role: "group", "aria-label": "Classes shown" });
    this.graph = make("div", { class: "rp-graph" });
    this.head = make("div", { class: "rp-playhead", "aria-hidden": "true" });
    this.frame = make("div", { class: "rp-timeline-frame" }, this.graph, this.head);
    this.element = make(
      "div", { class: "rp-timeline" },
      make("div", { class: "rp-tabs" }, make("div", { role: "tablist", "aria-label": "Timelines" }, ...this.tabs), make("span", { class: "rp-units" }, ...this.units, this.reset)),
      this.chips, this.frame,
    );
    this.frame.addEventListener("click", (event) => this.clicked(event));
    this.mark();
  }

  renew(isNew) {
    const { run, header, memory } = this.player;
    if (isNew && memory.timelineRun !== run.id) {
      memory.timelineRun = run.id;
      memory.zoom = null;
    }
    this.tabs.at(-1).hidden = !run.refusals.length;
    if (!run.refusals.length && this.chosen === "refusals") this.chosen = "share";
    this.chips.hidden = run.classNames.length < 2;
    this.chips.replaceChildren(
      ...run.classNames.map((name, index) => {
        const swatch = make("i", { class: "rp-swatch", "aria-hidden": "true" });
        swatch.style.background = header.classes[index].colour;
        return make("button", { type: "button", title: `Show or hide ${name}`, "aria-pressed": String(!this.hidden.has(name)), click: (event) => this.toggle(name, event.currentTarget) }, swatch, name);
      }),
    );
    this.mark();
  }

  // --- choosing ------------------------------------------------------------------------------------------

  choose(name) {
    this.chosen = this.player.memory.timeline = name;
    this.mark();
    this.player.sender.report();
  }

  chooseUnit(unit) {
    this.unit = this.player.memory.unit = unit;
    this.mark();
    this.player.sender.report();
  }

  tabKey(event) {
    const away = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!away) return;
    event.preventDefault();
    event.stopPropagation();
    const shown = this.tabs.filter((tab) => !tab.hidden);
    const next = shown[(shown.indexOf(event.currentTarget) + away + shown.length) % shown.length];
    next.focus();
    this.choose(next.dataset.name);
  }

  mark() {
    for (const tab of this.tabs) {
      const isChosen = tab.dataset.name === this.chosen;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
    }
    const counts = this.chosen.includes("share") || this.chosen === "waiting";
    for (const button of this.units) {
      button.hidden = !counts;
      button.setAttribute("aria-pressed", String(button.textContent === this.unit));
    }
  }

  toggle(name, button) {
    if (this.hidden.has(name)) this.hidden.delete(name);
    else this.hidden.add(name);
    button.setAttribute("aria-pressed", String(!this.hidden.has(name)));
    this.draw();
  }

  // --- drawing -------------------------------------------------------------------------------------------

  /** What Python should draw; null where nobody sees it. */
  wanted() {
    if (this.element.hidden || !this.player.run) return null;
    return { panel: this.chosen, unit: this.unit, width: this.player.stage.stage.plan.width };
  }

  hear(message) {
    this.figure = message;
    this.draw();
  }

  async draw() {
    const { player, figure } = this;
    if (!figure || !player.run || figure.run !== player.run.id || !player.Plotly) return;
    const { zoom } = player.memory;
    const data = figure.figure.data.map((trace) => ({ ...trace, visible: !this.hidden.has(trace.name) }));
    const layout = structuredClone(figure.figure.layout);
    layout.uirevision = figure.run;
    if (zoom) layout.xaxis.range = zoom;
    const modes = { displayModeBar: false, scrollZoom: false, doubleClick: "reset" };
    await player.Plotly.react(this.graph, data, layout, modes);
    if (!this.isListening) {
      this.isListening = true;
      this.graph.on("plotly_relayout", (change) => this.zoomed(change));
    }
    this.reset.hidden = !player.memory.zoom;
    const { _offset: top, _length: height } = this.graph._fullLayout.yaxis;
    Object.assign(this.head.style, { top: `${top}px`, height: `${height}px` });
    this.fit();
    this.show(player.position);
  }

  fit() {
    const width = this.figure?.figure.layout.width;
    if (!width || !this.player.width) return;
    this.scale = Math.min(this.player.width / width, LARGEST_SCALE);
    this.frame.style.transform = this.scale === 1 ? "" : `scale(${this.scale})`;
    this.frame.style.width = `${width}px`;
    this.frame.style.height = `${this.figure.figure.layout.height}px`;
    this.frame.style.marginBottom = `${Math.ceil(this.figure.figure.layout.height * (this.scale - 1))}px`;
  }

  resized() {
    this.fit();
    this.player.sender.report();
  }

  zoomed(change) {
    const isBack = change["xaxis.autorange"] || !("xaxis.range[0]" in change || "xaxis.range" in change);
    const range = this.graph._fullLayout.xaxis.range.slice();
    if (!isBack || this.player.memory.zoom) this.player.memory.zoom = isBack ? null : range;
    this.reset.hidden = !this.player.memory.zoom;
    this.show(this.player.position);
  }

  unzoom() {
    this.player.memory.zoom = null;
    this.player.Plotly.relayout(this.graph, { "xaxis.range": this.figure.figure.layout.xaxis.range.slice() });
    this.player.memory.zoom = null;
    this.reset.hidden = true;
  }

  // --- the playhead --------------------------------------------------------------------------------------

  /** Where a step stands on the time axis: simulated time in ms or s, or where no time passes the step. */
  place(step) {
    const { run } = this.player;
    const at = Math.max(step, 0);
    if (this.figure.axis === "step") return at + 1;
    return this.figure.axis === "s" ? run.times[at] / 1000 : run.times[at];
  }

  show({ step }) {
    const axis = this.graph._fullLayout?.xaxis;
    if (!axis || !this.figure || this.figure.run !== this.player.run.id) {
      this.head.hidden = true;
      return;
    }
    const pixel = axis.l2p(this.place(step));
    this.head.hidden = pixel < -1 || pixel > axis._length + 1;
    this.head.style.transform = `translateX(${axis._offset + pixel}px)`;
  }

  /** A click moves the playhead there. */
  clicked(event) {
    const axis = this.graph._fullLayout?.xaxis;
    if (!axis || !this.figure) return;
    const pixel = (event.clientX - this.frame.getBoundingClientRect().left) / (this.scale ?? 1) - axis._offset;
    if (pixel < 0 || pixel > axis._length) return;
    const { run } = this.player;
    const value = axis.p2l(pixel);
    const step =
      this.figure.axis === "step"
        ? Math.round(value) - 1
        : countBelow(run.times, this.figure.axis === "s" ? value * 1000 : value, true) - 1;
    this.player.playback.pause();
    this.player.moveTo(whole(Math.min(Math.max(step, -1), run.steps - 1)));
  }
}
