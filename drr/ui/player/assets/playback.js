// Playing: how far the playhead should be by now, and where it has to stop.

import { Watcher } from "./find.js";
import { isSame, moved, whole } from "./playhead.js";

export const SPEEDS = [1, 2, 5, 10, 30, 60, 100, 200, 500, 1000];
const SLOWEST_STILL_MOTION = 5;
const READABLE = 5;

export class Playback {
  constructor(player) {
    this.player = player;
    this.isPlaying = false;
    this.speed = player.memory.speed ?? 30;
    // Whoever asks for less motion starts slowly, and can still choose to go faster.
    if (!player.memory.speed && matchMedia("(prefers-reduced-motion: reduce)").matches) this.speed = SLOWEST_STILL_MOTION;
    this.stops = [];
    this.onChange = () => {};
  }

  /** Whether it goes too fast to read along. */
  get isFlying() {
    return this.isPlaying && this.speed > READABLE;
  }

  toggle() {
    if (this.isPlaying) this.pause();
    else this.play();
  }

  play() {
    const { player } = this;
    if (!player.run || this.isPlaying) return;
    if (isSame(player.position, whole(player.run.steps - 1))) player.moveTo(whole(-1));
    this.isPlaying = true;
    this.watcher = this.stops.length ? new Watcher(player.run, this.stops) : null;
    this.rebase();
    this.onChange();
    requestAnimationFrame(() => this.tick());
  }

  pause() {
    if (!this.isPlaying) return;
    this.isPlaying = false;
    this.onChange();
    this.player.showParts();
    this.player.sender.report();
  }

  setSpeed(speed) {
    this.speed = this.player.memory.speed = speed;
    this.rebase();
  }

  setStops(stops) {
    this.stops = stops;
    this.watcher = stops.length && this.isPlaying ? new Watcher(this.player.run, stops) : null;
  }

  /** Count from here and now. */
  rebase() {
    this.since = performance.now();
    this.done = 0;
  }

  tick() {
    const { player } = this;
    if (!this.isPlaying) return;
    const due = Math.floor(((performance.now() - this.since) / 1000) * this.speed) - this.done;
    if (due > 0) {
      const target = moved(player.run, player.mode, player.position, due);
      const stop = this.watcher ? this.stopBefore(target) : null;
      this.done += due;
      player.moveTo(stop ? stop.position : target);
      if (stop) {
        this.pause();
        player.said.note(stop.why);
        return;
      }
      if (isSame(player.position, whole(player.run.steps - 1))) {
        this.pause();
        return;
      }
    }
    requestAnimationFrame(() => this.tick());
  }

  /** The first breakpoint on the way to a position. */
  stopBefore(target) {
    const { step } = this.player.position;
    for (let at = step + 1; at <= target.step; at += 1) {
      const what = this.watcher.at(at);
      if (what) return { position: whole(at), why: `Stopped: ${what.text}.` };
    }
    return null;
  }
}
