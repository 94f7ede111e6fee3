// Workers one can press on the stage, where the page has a use for it: buttons over their places in the figure.

import { make } from "./dom.js";

export class Spots {
  constructor(player) {
    this.player = player;
    this.element = make("div", { class: "rp-spots" });
    this.shown = "";
  }

  /** Lay the buttons over a stage. `verb` says what pressing does; without one there are none. */
  show(stage, verb) {
    const places = verb && stage ? stage.plan.worker_spots : [];
    const names = this.player.header?.survey.endpoint_names ?? [];
    const shown = JSON.stringify([verb, places, names]);
    if (shown === this.shown) return;
    this.shown = shown;
    this.element.replaceChildren(...places.map(([left, top, width, height], endpoint) => {
      const style = `left:${left}px;top:${top}px;width:${width}px;height:${height}px`;
      const label = `${verb} ${names[endpoint]}`;
      return make("button", { type: "button", style, title: label, "aria-label": label, click: () => this.press(endpoint) });
    }));
  }

  press(endpoint) {
    const { memory, sender, playback } = this.player;
    playback.pause();
    memory.pressed = { number: (memory.pressed?.number ?? 0) + 1, endpoint };
    sender.report();
  }
}
