// Where the playhead can stand, and in which order: decisions only, every step, or every look at a class.

import { countBelow, isCall } from "./run.js";

/** A position: a step and, within a call, one of its class visits; visit -1 is the step as a whole, after its visits. */
export const whole = (step) => ({ step, visit: -1 });

export const isSame = (a, b) => a.step === b.step && a.visit === b.visit;

/** How many class visits a step has. */
export function visitCount(run, step) {
  if (step < 0 || !isCall(run.kind[step])) return 0;
  const call = run.callAt[step];
  return run.visitEnd[call] - (call ? run.visitEnd[call - 1] : 0);
}

/** The position `count` places on (or back, where negative), by decision, by rule, or by every step. */
export function moved(run, mode, position, count) {
  if (mode === "rule") return movedByRule(run, position, count);
  const last = run.steps - 1;
  if (mode === "step") {
    const from = position.visit >= 0 && count > 0 ? position.step - 1 : position.step;
    return whole(Math.min(Math.max(from + count, -1), last));
  }
  const { decisions } = run;
  const { step, visit } = position;
  // Within a call the decision itself is still to come.
  const passed = countBelow(decisions, step, visit < 0);
  const wanted = count > 0 ? passed - 1 + count : countBelow(decisions, step) + count;
  if (wanted < 0) return whole(-1);
  return whole(wanted < decisions.length ? decisions[wanted] : last);
}

function movedByRule(run, from, count) {
  let { step, visit } = from;
  for (let left = Math.abs(count); left > 0; left -= 1) {
    if (count > 0) {
      if (visit >= 0) visit = visit + 1 < visitCount(run, step) ? visit + 1 : -1;
      else if (step < run.steps - 1) {
        step += 1;
        visit = visitCount(run, step) ? 0 : -1;
      }
    } else if (visit > 0) visit -= 1;
    else if (visit < 0 && visitCount(run, step)) visit = visitCount(run, step) - 1;
    else if (step >= 0) {
      step -= 1;
      visit = -1;
    }
  }
  return { step, visit };
}

/** The place in a new run for who stood somewhere in an old one: the same step of the same time, else the same time. */
export function carriedOver(oldRun, position, run) {
  const time = position.step >= 0 ? oldRun.times[position.step] : -Infinity;
  if (position.step < 0) return whole(-1);
  if (run.times[position.step] === time) return whole(position.step);
  return whole(countBelow(run.times, time, true) - 1);
}
