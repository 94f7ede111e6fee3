// The keyboard: works wherever the focus is within the player, except where a key has a meaning of its own.

import { moved, whole } from "./playhead.js";

export const KEY_HELP = [
  ["Space", "play or pause"], ["← →", "one back, one on"], ["Shift + ← →", "ten back, ten on"],
  ["Home, End", "to the start, to the end"], ["B", "next blocked head"], ["G", "next bulk grant"], ["R", "next refusal"],
  ["Q", "guess first, on or off"], ["A", "show the answer"], ["1 … 9", "guess this class, 0: nobody"],
];

export class Keys {
  constructor(player) {
    this.player = player;
    this.listen = (event) => this.pressed(event);
    player.element.addEventListener("keydown", this.listen);
  }

  close() {
    this.player.element.removeEventListener("keydown", this.listen);
  }

  pressed(event) {
    const { player } = this;
    if (!player.run || event.ctrlKey || event.metaKey || event.altKey) return;
    const { target } = event;
    const isScrub = target === player.transport.range;
    const takesText = target.matches("select, textarea") || (target.matches("input") && !isScrub);
    if (takesText) return;
    if (event.key === " " && target.matches("button, summary")) return;
    const action = this.actions(event)[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  actions(event) {
    const { player } = this;
    const step = (count) => () => {
      player.playback.pause();
      player.moveTo(moved(player.run, player.mode, player.position, count));
    };
    const far = event.shiftKey ? 10 : 1;
    const actions = {
      " ": () => player.playback.toggle(),
      ArrowLeft: step(-far), ArrowRight: step(far), ArrowDown: step(-far), ArrowUp: step(far),
      PageDown: step(10), PageUp: step(-10),
      Home: () => player.transport.jumpTo(whole(-1)),
      End: () => player.transport.jumpTo(whole(Infinity)),
      b: () => player.transport.find("blocked"),
      g: () => player.transport.find("bulk"),
      r: () => player.transport.find("refusal"),
      q: () => player.setGuessing(!player.isGuessing),
      a: () => player.reveal(),
    };
    if (player.isHidden && /^[0-9]$/.test(event.key)) actions[event.key] = () => player.said.guess(Number(event.key) - 1);
    // A list scrolls by its own keys.
    if (event.target.closest(".rp-log-rows")) for (const key of ["ArrowUp", "ArrowDown", "PageUp", "PageDown"]) delete actions[key];
    return actions;
  }
}
