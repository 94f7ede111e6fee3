// Everything on the stage that changes from step to step: the arrays of drr/charts/stage_values.py.

import { BLANK } from "./text.js";
import { boxes, busyClasses, heldParts, rowsShown } from "./reading.js";
import { stageWords } from "./words.js";

const PARKED = -1e6;

/** Trace uid -> attribute -> array for one state. `view` has the run, the plan of the layout and the looks of tones. */
export function stageValues(view, state, headline) {
  const words = stageWords(view, state, headline);
  return {
    ...ringValues(view, state),
    ...deficitValues(view.run, state),
    ...laneValues(view, state),
    ...workerValues(view.plan, state),
    words: {
      text: words.map(([, text]) => text),
      textfont: {
        color: words.map(([tone]) => view.tones[tone][0]),
        weight: words.map(([tone]) => view.tones[tone][1]),
      },
    },
  };
}

function ringValues({ plan, survey }, state) {
  const { ring } = plan;
  const most = Math.max(1, survey.most_waiting);
  const room = ring.largest_node - ring.least_node;
  const sizes = state.classes.map((each) => ring.least_node + room * Math.sqrt(each.waiting / most));
  // The winner went, even where its dispatch filled the last free worker.
  const stopped = state.classes.map((each, index) => each.isBlocked && index !== state.winner);
  const moved = state.cursorBefore !== state.cursor;
  const { node_x: xs, node_y: ys } = ring;
  return {
    "ring.halo": point(xs, ys, state.winner),
    "ring.carry": point(xs, ys, state.carried),
    "ring.node": { marker: { size: sizes.map((size, i) => (stopped[i] ? 0 : size)) } },
    "ring.node_blocked": { marker: { size: sizes.map((size, i) => (stopped[i] ? size : 0)) } },
    "ring.cursor_before": hand(ring, moved ? state.cursorBefore : -1),
    "ring.cursor": hand(ring, state.cursor),
  };
}

const point = (xs, ys, index) => ({ x: [index >= 0 ? xs[index] : PARKED], y: [index >= 0 ? ys[index] : PARKED] });

/** Outline of the cursor's hand: a shaft with an arrow head, from the middle of the ring towards a class. */
function hand(ring, index) {
  if (index < 0) return { x: Array(8).fill(PARKED), y: Array(8).fill(PARKED) };
  const tip = ring.radius - ring.largest_node / 2 - 9;
  const neck = Math.max(tip - 15, tip * 0.45);
  const outline = [
    [6, -2.2], [neck, -2.2], [neck, -7.5], [tip, 0], [neck, 7.5], [neck, 2.2], [6, 2.2], [6, -2.2],
  ];
  const along = Math.sin(ring.angles[index]);
  const across = -Math.cos(ring.angles[index]);
  return {
    x: outline.map(([out, side]) => ring.centre_x + along * out - across * side),
    y: outline.map(([out, side]) => ring.centre_y + across * out + along * side),
  };
}

function deficitValues(run, state) {
  const { kept, granted, bulk } = heldParts(run, state);
  const lookedAt = state.classes.map((each) => (each.head >= 0 ? run.cost[each.head] : run.zero));
  for (const visit of state.visits) if (visit.head >= 0) lookedAt[visit.classIndex] = visit.headCost;
  const line = lookedAt.flatMap((cost) => (cost ? [Number(cost), Number(cost), null] : [null, null, null]));
  const both = kept.map((tokens, index) => tokens + granted[index]);
  return {
    "deficits.kept": { x: kept.map(Number) },
    "deficits.granted": { x: granted.map(Number), base: based(granted, kept) },
    "deficits.bulk": { x: bulk.map(Number), base: based(bulk, both) },
    "deficits.head": { x: line },
  };
}

/** Bases of outlined bars; a bar of no length is parked, for its outline would stay as a thin line. */
const based = (lengths, bases) => lengths.map((length, index) => (length ? Number(bases[index]) : PARKED));

function laneValues(view, state) {
  const { slots, rows } = view.plan.lanes;
  const wide = Array(rows.length * slots).fill(0);
  const base = Array(rows.length * slots).fill(PARKED);
  const head = Array(rows.length).fill(0);
  const blocked = Array(rows.length).fill(0);
  rowsShown(view.plan, state).forEach((lanes, place) => {
    boxes(view, lanes).forEach(([start, width], k) => {
      if (k) {
        wide[place * slots + k] = width;
        base[place * slots + k] = start;
      } else if (lanes[0].blockedBy.length) {
        blocked[place] = width;
      } else {
        head[place] = width;
      }
    });
  });
  const zeros = Array(rows.length).fill(0);
  return {
    "lanes.waiting": { x: wide, base },
    "lanes.head": { x: head, base: based(head, zeros) },
    "lanes.head_blocked": { x: blocked, base: based(blocked, zeros) },
  };
}

function workerValues(plan, state) {
  const axis = plan.workers.is_strip ? "y" : "x";
  const loads = state.endpoints.map((each) => (each.isPresent || each.load ? Number(each.load) : 0));
  const stages = state.endpoints.map((each) => {
    const [stopped, limited] = busyClasses(each);
    return !stopped ? 0 : stopped === limited ? 2 : 1;
  });
  const values = {};
  ["free", "part_busy", "busy"].forEach((name, stage) => {
    const lengths = loads.map((load, index) => (stages[index] === stage ? load : 0));
    values[`workers.${name}`] = { [axis]: lengths, base: based(lengths, lengths.map(() => 0)) };
  });
  if (plan.workers.is_strip) {
    values["workers.marks"] = { y: loads, text: stages.map((stage) => [BLANK, "/", "\u00d7"][stage]) };
  }
  return values;
}
