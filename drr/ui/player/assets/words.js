// The words on the stage that change from step to step: drr/charts/stage_words.py, word for word.

import { KIND } from "./run.js";
import { isHeld } from "./state.js";
import { BLANK, grouped, timeText, tokensText } from "./text.js";
import { boxes, busyClasses, heldTokens, rowsShown } from "./reading.js";

const [QUIET, WARN, STRONG] = [0, 1, 2];
const FLOATING = -2;

export const KIND_WORDS = {
  [KIND.BYPASSED]: "arrival, sent at once",
  [KIND.QUEUED]: "arrival",
  [KIND.REFUSED]: "arrival, refused",
  [KIND.DECISION]: "decision",
  [KIND.EMPTY_CALL]: "call, nothing goes",
  [KIND.FIRST_TOKEN]: "first token",
  [KIND.COMPLETION]: "completion",
  [KIND.ERROR]: "error",
  [KIND.WORKER_CHANGE]: "worker change",
  [KIND.HEAD_ERROR]: "decision, ends in an error",
};
const ARRIVAL_WORDS = {
  [KIND.BYPASSED]: [STRONG, "sent at once"],
  [KIND.QUEUED]: [STRONG, "one joins"],
  [KIND.REFUSED]: [WARN, "refused"],
  [KIND.ERROR]: [WARN, "error"],
};
const SHORT = { "can't pay yet": "can't pay", "not reached": "waits", "sent at once": "sent" };
const SHORT_RULES = ["GRANT_SHORT", "BULK_SHORT", "CARRY_SHORT"];

/** All words of the stage in the order of its word points: [tone, text]. `headline` stands in for the usual one. */
export function stageWords(view, state, headline) {
  return [
    ...ringWords(view, state, headline),
    ...heldTokens(view.run, state).map((held, index) => deficitWord(view, state, index, held)),
    ...laneWords(view, state),
    ...workerWords(view, state),
  ];
}

/** What and when the step is. */
export function headlineOf(run, state, what) {
  const steps = grouped(run.steps);
  if (state.step < 0) return `before the start \u00b7 ${steps} steps`;
  return `step ${grouped(state.step + 1)} of ${steps} \u00b7 ${what ?? KIND_WORDS[state.kind]} \u00b7 ${timeText(state.time)}`;
}

/** Tone and word for what the step means to a class. */
export function classWord(state, index) {
  const { waiting, isBlocked } = state.classes[index];
  if (state.winner === index) return [STRONG, "goes"];
  if (state.classIndex === index && state.kind in ARRIVAL_WORDS) return ARRIVAL_WORDS[state.kind];
  if (isBlocked) return [WARN, "blocked"];
  const rules = state.visits.filter((visit) => visit.classIndex === index).map((visit) => visit.rule.name);
  const isBehind = rules.includes("BULK_BEHIND");
  if (!isBehind && rules.some((name) => SHORT_RULES.includes(name))) return [QUIET, "can't pay yet"];
  if (isBehind || (state.visits.length && waiting)) return [QUIET, "not reached"];
  return [QUIET, waiting ? "waits" : "empty"];
}

function ringWords(view, state, headline) {
  const { lines } = view.plan.ring;
  let words = state.classes.map((_, index) => classWord(state, index));
  if (state.carried >= 0) {
    const [tone, word] = words[state.carried];
    const both = lines === 3 ? `${word}, carry` : word;
    words[state.carried] = [tone, tone === QUIET ? "carry" : both];
  }
  const counts = state.classes.map((each) => each.waiting);
  if (lines === 3) {
    words.push(...counts.map((count) => [QUIET, count === 1 ? "1 waits" : `${grouped(count)} wait`]));
  } else {
    words = words.map(([tone, word], index) =>
      counts[index] ? [tone, `${SHORT[word] ?? word} \u00b7 ${grouped(counts[index])}`] : [tone, word],
    );
  }
  return [...words, [QUIET, headline]];
}

function deficitWord(view, state, index, held) {
  const beyond = held > view.plan.deficits.high_tokens ? "\u00bb " : "";
  const here = state.classes[index];
  const last = state.visits.findLast((visit) => visit.classIndex === index);
  if (last?.rule.isWinning) {
    return [STRONG, `${beyond}pays ${tokensText(last.charged)}, ${tokensText(here.deficit)} left`];
  }
  if (here.isBlocked) return [WARN, `${beyond}${tokensText(held)}, blocked`];
  if (last && last.head >= 0) return [QUIET, `${beyond}${tokensText(held)} of ${tokensText(last.headCost)}`];
  if (!here.waiting) return [QUIET, `${beyond}${tokensText(held)}`];
  return [QUIET, held ? `${beyond}${tokensText(held)} kept` : "0"];
}

/** Names, reasons and counts of requests that have no box, row by row of each kind. */
function laneWords(view, state) {
  const shown = rowsShown(view.plan, state);
  const names = shown.map((lanes, place) => [QUIET, laneName(view, view.plan.lanes.rows[place], lanes)]);
  const more = shown.map((lanes) => {
    const drawn = boxes(view, lanes).length;
    const left = lanes.reduce((sum, lane) => sum + lane.count, 0) - drawn;
    return [QUIET, left && drawn ? `+${grouped(left)}` : BLANK];
  });
  return [...names, ...shown.map((lanes) => laneWord(view, state, lanes)), ...more];
}

function laneName(view, row, lanes) {
  if (row.endpoint >= 0) return view.run.endpointNames[row.endpoint];
  if (row.endpoint !== FLOATING) return "any worker";
  if (lanes.length > 1) return `${grouped(lanes.length)} ${row.place ? "more" : "worker"} lanes`;
  return lanes.length ? view.run.endpointNames[lanes[0].endpoint] : "\u2013";
}

function laneWord(view, state, lanes) {
  if (!lanes.length) return [QUIET, "empty"];
  const waiting = lanes.reduce((sum, lane) => sum + lane.count, 0);
  if (lanes.length > 1) {
    const stopped = lanes.filter((lane) => lane.blockedBy.length).length;
    return [stopped ? WARN : QUIET, `${grouped(waiting)} wait${stopped ? `, ${grouped(stopped)} blocked` : ""}`];
  }
  const [lane] = lanes;
  if (lane.blockedBy.length) return [WARN, reason(view, state, lane)];
  const cost = tokensText(view.run.cost[lane.waiting[0]]);
  return [
    QUIET,
    view.plan.lanes.is_terse
      ? `${cost} next, ${grouped(waiting)} in all`
      : `next ${cost} tokens, ${grouped(waiting)} in all`,
  ];
}

/** Why the head waits: the worker that is least above its limit, and how many there are. */
function reason(view, state, lane) {
  const terse = view.plan.lanes.is_terse;
  let nearest = lane.blockedBy[0];
  for (const busy of lane.blockedBy) if (busy.load - busy.limit < nearest.load - nearest.limit) nearest = busy;
  const name = view.run.endpointNames[nearest.endpoint];
  const held = nearest.limit < 0;
  const compared = held ? "held by the script" : `${tokensText(nearest.load)} > ${tokensText(nearest.limit)}`;
  if (lane.blockedBy.length === 1) {
    if (held) return terse ? `${name}: held` : `waits for ${name}: ${compared}`;
    return terse ? `${name}: ${compared}` : `waits for ${name}: ${compared} tokens`;
  }
  const present = state.endpoints.filter((endpoint) => endpoint.isPresent).length;
  const count = lane.blockedBy.length;
  const many = count === present ? `all ${grouped(present)}` : grouped(count);
  if (terse) return `${many} busy: ${held ? "held" : compared}`;
  return `${many} workers busy, least ${name}: ${compared}`;
}

function workerWords(view, state) {
  const { endpoints } = state;
  if (!view.plan.workers.is_strip) {
    return [...endpoints.map(workerWord), ...endpoints.map((endpoint) => [QUIET, running(endpoint)])];
  }
  let [whole, part, present, run, inFlight] = [0, 0, 0, 0, 0];
  for (const endpoint of endpoints) {
    const [busy, limited] = busyClasses(endpoint);
    whole += busy > 0 && busy === limited;
    part += busy > 0 && busy < limited;
    present += endpoint.isPresent;
    run += endpoint.running;
    inFlight += endpoint.inFlight;
  }
  const some = part ? `, ${part} for some classes` : "";
  return [
    [STRONG, `${whole} of ${present} busy${some}`],
    [QUIET, `${grouped(run)} of ${grouped(inFlight)} in flight run`],
  ];
}

function workerWord(endpoint) {
  const load = tokensText(endpoint.load);
  const [stopped, limited] = busyClasses(endpoint);
  if (!endpoint.isPresent) return [WARN, "not there"];
  if (endpoint.isOverloaded) return [WARN, `${load} overloaded`];
  if (endpoint.limits.some(isHeld)) return [WARN, `${load} held`];
  if (stopped === 0) return [QUIET, limited ? `${load} free` : load];
  return [WARN, stopped === limited ? `${load} busy` : `${load} busy ${stopped}/${limited}`];
}

function running(endpoint) {
  if (!endpoint.inFlight) return endpoint.isPresent ? "idle" : BLANK;
  return `${grouped(endpoint.running)} of ${grouped(endpoint.inFlight)} run`;
}
