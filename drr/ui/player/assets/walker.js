// The small state of the router (deficits, counts, loads) moved forward record by record: what drr/simulation/snapshots.py
// does in Python. Going back starts from the nearest checkpoint, so every step is reached the same way from both sides.

import { KIND, isCall } from "./run.js";

const CHECKPOINT_STEPS = 512;
const LISTS = ["deficits", "waiting", "waitingTokens", "laneCounts", "loads", "inFlight", "completedAdmitted"];

function newWalker(run) {
  const classes = run.classNames.length;
  const endpoints = run.endpointNames.length;
  return {
    step: -1, call: -1, changes: 0, visits: [],
    deficits: Array(classes).fill(run.zero),
    waiting: Array(classes).fill(0),
    waitingTokens: Array(classes).fill(run.zero),
    laneCounts: Array(run.lanes.length).fill(0),
    loads: Array(endpoints).fill(run.zero),
    inFlight: Array(endpoints).fill(0),
    completedAdmitted: Array(endpoints).fill(0),
  };
}

function copyOf(walker) {
  const twin = { ...walker, visits: [] };
  for (const name of LISTS) twin[name] = walker[name].slice();
  return twin;
}

/** Walks over a run; `at(step)` returns the walker standing there, the same object every time. */
export class Path {
  constructor(run) {
    this.run = run;
    this.checkpoints = [newWalker(run)];
    this.walker = newWalker(run);
  }

  at(step) {
    if (step < this.walker.step || step > this.walker.step + CHECKPOINT_STEPS) this.jump(step);
    while (this.walker.step < step) this.advance();
    return this.walker;
  }

  /** Stand on the nearest checkpoint before `step`: a copy does not know what its own step did, so it is done again. */
  jump(step) {
    const wanted = Math.min(Math.floor(Math.max(step, 0) / CHECKPOINT_STEPS), this.checkpoints.length - 1);
    const from = this.checkpoints[wanted];
    if (step < this.walker.step || from.step > this.walker.step) this.walker = copyOf(from);
  }

  advance() {
    advance(this.run, this.walker);
    const { step } = this.walker;
    if ((step + 1) % CHECKPOINT_STEPS === 0 && (step + 1) / CHECKPOINT_STEPS === this.checkpoints.length) {
      this.checkpoints.push(copyOf(this.walker));
    }
  }
}

/** Apply the record after the walker's step. */
export function advance(run, walker) {
  walker.step += 1;
  const { step } = walker;
  const kind = run.kind[step];
  const row = run.row[step];
  const endpoint = run.endpoint[step];
  walker.visits = [];
  if (kind === KIND.QUEUED) {
    count(run, walker, row, 1);
  } else if (isCall(kind)) {
    if (row >= 0) count(run, walker, row, -1);
    walker.call += 1;
    replayCall(run, walker, row >= 0 && walker.waiting[run.rowClass[row]] === 0);
  } else if (kind === KIND.FIRST_TOKEN) {
    walker.loads[endpoint] -= run.prefill[row];
  } else if (kind === KIND.COMPLETION) {
    if (!run.hadFirstToken[row]) walker.loads[endpoint] -= run.prefill[row];
    walker.inFlight[endpoint] -= 1;
    walker.completedAdmitted[endpoint] += run.wasAdmitted[row];
  } else if (kind === KIND.WORKER_CHANGE) {
    walker.changes += 1;
  }
  if (kind === KIND.BYPASSED || kind === KIND.DECISION) {
    walker.loads[endpoint] += run.prefill[row];
    walker.inFlight[endpoint] += 1;
  }
}

function count(run, walker, row, sign) {
  const index = run.rowClass[row];
  walker.waiting[index] += sign;
  walker.laneCounts[run.laneOf[row]] += sign;
  if (sign > 0) walker.waitingTokens[index] += run.cost[row];
  else walker.waitingTokens[index] -= run.cost[row];
}

/** The class of every visit of a call: a carry look, the scan round from the cursor, the bulk grants. */
function visitedClasses(run, call, from, to) {
  const order = [];
  const short = [];
  const cursor = call ? run.cursor[call - 1] : 0;
  let scanned = 0;
  let bulk = 0;
  for (let i = from; i < to; i += 1) {
    const rule = run.rules[run.visitRule[i]];
    if (run.visitClass) order.push(run.visitClass[i]);
    else if (rule.isCarry) order.push(call ? run.carried[call - 1] : -1);
    else if (rule.isBulk) {
      order.push(short[bulk]);
      bulk += 1;
    } else {
      const index = (cursor + scanned) % run.classNames.length;
      scanned += 1;
      order.push(index);
      if (rule.name === "GRANT_SHORT") short.push(index);
    }
  }
  return order;
}

/** Bring the deficits from before a call to after it, and note its visits. */
function replayCall(run, walker, emptied) {
  const { call, deficits } = walker;
  const from = call ? run.visitEnd[call - 1] : 0;
  const to = run.visitEnd[call];
  visitedClasses(run, call, from, to).forEach((classIndex, k) => {
    const rule = run.rules[run.visitRule[from + k]];
    const head = run.visitHead[from + k];
    const headCost = head >= 0 ? run.cost[head] : run.zero;
    const before = deficits[classIndex];
    let granted = run.zero;
    if (rule.isQuantum) granted = run.quanta[classIndex];
    else if (rule.isBulk) granted = run.quanta[classIndex] * run.rounds.get(call);
    const charged = rule.isWinning ? headCost : run.zero;
    let after = before;
    if (rule.name === "EMPTY" || (charged && emptied)) after = run.zero;
    else if (rule.name !== "CHOSEN") after = before + granted - charged;
    deficits[classIndex] = after;
    walker.visits.push({ classIndex, rule, before, granted, head, headCost, charged, after });
  });
}
