// Looking ahead: the next step at which something happens, for jumps and breakpoints.

import { countBelow } from "./run.js";
import { blockedClasses } from "./state.js";
import { Path } from "./walker.js";

const SLICE_MS = 12;

/** The first item of an ascending array after a value, or -1. */
function after(sorted, value) {
  const place = countBelow(sorted, value, true);
  return place < sorted.length ? sorted[place] : -1;
}

/** The next step after `step` at which something happens, without walking; undefined where one has to walk. */
export function nextKnown(run, what, step) {
  if (what.kind === "bulk") return after(run.bulks, step);
  if (what.kind === "refusal") return after(run.refusals, step);
  if (what.kind === "dispatch") {
    const { decisions } = run;
    for (let i = countBelow(decisions, step, true); i < decisions.length; i += 1) {
      if (run.rowClass[run.row[decisions[i]]] === what.classIndex) return decisions[i];
    }
    return -1;
  }
  return undefined;
}

/** Tells, step by step, when a head or class becomes blocked or a deficit rises above a limit. */
export class Watcher {
  constructor(run, whats) {
    this.run = run;
    this.whats = whats;
    this.path = new Path(run);
    this.before = null;
  }

  /** What happens at a step, of all that is watched for: the first that does, or null. Steps have to ascend. */
  at(step) {
    const known = this.whats.find((what) => nextKnown(this.run, what, step - 1) === step);
    const walked = this.whats.filter((what) => what.kind === "blocked" || what.kind === "deficit");
    if (!walked.length) return known ?? null;
    if (this.before?.step !== step - 1) this.before = this.look(step - 1);
    const now = this.look(step);
    const { before } = this;
    this.before = now;
    return known ?? walked.find((what) => isNew(what, before, now)) ?? null;
  }

  look(step) {
    const walker = this.path.at(step);
    return { step, ...blockedClasses(this.run, walker), deficits: walker.deficits.slice() };
  }
}

function isNew(what, before, now) {
  if (what.kind === "deficit") {
    return now.deficits.some((deficit, index) => deficit > what.above && !(before.deficits[index] > what.above));
  }
  if (what.classIndex >= 0) return now.blocked[what.classIndex] && !before.blocked[what.classIndex];
  return [...now.lanes].some((lane) => !before.lanes.has(lane));
}

/** The next step after `step` at which `what` happens, or -1. Looks in slices, so that the page stays awake. */
export async function findNext(run, what, step) {
  const known = nextKnown(run, what, step);
  if (known !== undefined) return known;
  const watcher = new Watcher(run, [what]);
  let until = performance.now() + SLICE_MS;
  for (let at = step + 1; at < run.steps; at += 1) {
    if (watcher.at(at)) return at;
    if (performance.now() > until) {
      await new Promise((resolve) => setTimeout(resolve));
      until = performance.now() + SLICE_MS;
    }
  }
  return -1;
}

