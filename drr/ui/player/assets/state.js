// The whole picture at a step, as RunState of drr/simulation/state.py: what the stage, the table and the log show.

import { KIND, clusterAt, countBelow, eligibleFor, isCall, leavesLane } from "./run.js";

const HELD_BUSY = -1;

/** The state right after a step (-1: before the first). Of a lane only the first requests are listed, and counted all. */
export function stateAt(path, step) {
  const { run } = path;
  const walker = path.at(step);
  const cluster = clusterAt(run, walker.changes);
  const time = step >= 0 ? run.times[step] : 0;
  const kind = step >= 0 ? run.kind[step] : KIND.WORKER_CHANGE;
  const inCall = step >= 0 && isCall(kind);
  const { call } = walker;
  const cursor = call >= 0 ? run.cursor[call] : 0;
  const carried = call >= 0 ? run.carried[call] : -1;
  const row = step >= 0 ? run.row[step] : -1;
  const lanes = laneStates(run, walker, cluster);
  const classIndex = row >= 0 ? run.rowClass[row] : -1;
  return {
    step, time, kind, row, cursor, carried, lanes, classIndex,
    endpoint: step >= 0 ? run.endpoint[step] : -1,
    winner: leavesLane(kind) ? classIndex : -1,
    cursorBefore: inCall ? (call >= 1 ? run.cursor[call - 1] : 0) : cursor,
    carriedBefore: inCall ? (call >= 1 ? run.carried[call - 1] : -1) : carried,
    rounds: inCall ? run.rounds.get(call) ?? run.zero : run.zero,
    visits: walker.visits,
    classes: classStates(run, walker, lanes),
    endpoints: endpointStates(run, walker, cluster, time),
  };
}

/** The state as the call of `step` found it, for "who is next?": nothing tells the winner. */
export function guessState(path, step) {
  const after = stateAt(path, step);
  return {
    ...stateAt(path, step - 1), step, time: after.time, kind: KIND.EMPTY_CALL, row: -1, classIndex: -1, endpoint: -1,
    winner: -1, cursor: after.cursorBefore, cursorBefore: after.cursorBefore, carried: after.carriedBefore,
    carriedBefore: after.carriedBefore, rounds: path.run.zero, visits: [],
  };
}

/** The state within a call, right after its class visit number `visit`: the cursor's hand points at that class. */
export function visitState(path, step, visit) {
  const after = stateAt(path, step);
  const guess = guessState(path, step);
  const visits = after.visits.slice(0, visit + 1);
  const classes = guess.classes.map((each) => ({ ...each }));
  for (const each of visits) classes[each.classIndex].deficit = each.after;
  const here = visits[visit];
  const wins = here.rule.isWinning;
  return {
    ...guess, visits, classes, cursor: here.classIndex, rounds: after.rounds,
    kind: wins ? after.kind : KIND.EMPTY_CALL,
    row: wins ? after.row : -1,
    classIndex: wins ? after.classIndex : -1,
    winner: wins ? after.winner : -1,
  };
}

/** The first requests that wait in a lane, head first. */
function waitingIn(run, lane, step) {
  const found = [];
  const { order } = lane;
  // In a lane without an order of its own requests leave as they came: whoever is left begins after who is gone.
  let from = 0;
  if (run.isFifo) {
    let high = order.length;
    while (from < high) {
      const middle = (from + high) >> 1;
      if (run.goneStep[order[middle]] <= step) from = middle + 1;
      else high = middle;
    }
  }
  for (let i = from; i < order.length && found.length < run.boxes; i += 1) {
    const row = order[i];
    if (run.queuedStep[row] <= step && run.goneStep[row] > step) found.push(row);
  }
  return found;
}

function laneStates(run, walker, cluster) {
  const states = [];
  for (const lane of run.laneOrder) {
    const count = walker.laneCounts[lane.index];
    if (count) {
      const waiting = waitingIn(run, lane, walker.step);
      const blockedBy = blockedByOf(run, lane, waiting[0], walker, cluster);
      states.push({ classIndex: lane.classIndex, endpoint: lane.endpoint, waiting, count, blockedBy });
    }
  }
  return states;
}

/** The busy endpoints a lane's head waits for; none where it may go. */
function blockedByOf(run, lane, head, walker, cluster) {
  const eligible = eligibleFor(run, cluster, head);
  if (!eligible) return [];
  const busy = [];
  for (const endpoint of eligible) {
    const limit = cluster.endpoints[endpoint].limits[lane.classIndex];
    if (limit !== null && walker.loads[endpoint] > limit) busy.push({ endpoint, load: walker.loads[endpoint], limit });
  }
  const ratio = run.ratios[lane.classIndex];
  return busy.length >= (ratio === null ? eligible.length : ratio * eligible.length) ? busy : [];
}

/** For every class whether requests wait and no lane head may go; cheaper than a whole state, for looking ahead. */
export function blockedClasses(run, walker) {
  const cluster = clusterAt(run, walker.changes);
  const blocked = run.classNames.map((_, index) => walker.waiting[index] > 0);
  const lanes = new Set();
  for (const lane of run.laneOrder) {
    if (walker.laneCounts[lane.index]) {
      const head = waitingIn(run, lane, walker.step)[0];
      if (blockedByOf(run, lane, head, walker, cluster).length) lanes.add(lane.index);
      else blocked[lane.classIndex] = false;
    }
  }
  return { blocked, lanes };
}

function classStates(run, walker, lanes) {
  return run.classNames.map((name, index) => {
    const mine = lanes.filter((lane) => lane.classIndex === index);
    let head = -1;
    for (const lane of mine) if (head < 0 || run.rank[lane.waiting[0]] < run.rank[head]) [head] = lane.waiting;
    return {
      name, head,
      deficit: walker.deficits[index],
      waiting: walker.waiting[index],
      waitingTokens: walker.waitingTokens[index],
      isBlocked: mine.length > 0 && mine.every((lane) => lane.blockedBy.length > 0),
    };
  });
}

function endpointStates(run, walker, cluster, time) {
  return run.endpointNames.map((name, index) => {
    const { present, overloaded, limits } = cluster.endpoints[index];
    const admitted = countBelow(run.admitSteps[index], walker.step, true);
    const inFlight = walker.inFlight[index];
    return {
      name, limits, inFlight,
      isPresent: present,
      isOverloaded: overloaded,
      load: walker.loads[index],
      running: run.runsAtOnce ? inFlight : admitted - walker.completedAdmitted[index],
    };
  });
}

export const isHeld = (limit) => limit !== null && Number(limit) === HELD_BUSY;

/** Whether an endpoint is busy for a class. */
export const isBusyFor = (endpoint, index) => endpoint.limits[index] !== null && endpoint.load > endpoint.limits[index];
