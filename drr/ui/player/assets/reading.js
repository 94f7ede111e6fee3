// What a state means for the rows of the stage: drr/charts/stage_reading.py.

import { isBusyFor } from "./state.js";

const BOX_GAP = 2.5;
const FLOATING = -2;

/** Per class what it kept, was granted in this call, and was granted in bulk, before it paid. */
export function heldParts(run, state) {
  const kept = state.classes.map((each) => each.deficit);
  const granted = kept.map(() => run.zero);
  const bulk = kept.map(() => run.zero);
  // The first visit of a class has the last word on what it kept.
  for (const visit of state.visits.toReversed()) {
    kept[visit.classIndex] = visit.rule.name === "EMPTY" ? run.zero : visit.before;
  }
  for (const visit of state.visits) {
    if (visit.rule.isQuantum) granted[visit.classIndex] += visit.granted;
    else if (visit.rule.isBulk) bulk[visit.classIndex] += visit.granted;
  }
  return { kept, granted, bulk };
}

/** Per class the deficit as it stood in this call before it paid. */
export function heldTokens(run, state) {
  const { kept, granted, bulk } = heldParts(run, state);
  return kept.map((tokens, index) => tokens + granted[index] + bulk[index]);
}

/** The lanes each row of the panel shows: none, one, or in a folding row several. */
export function rowsShown(plan, state) {
  const byKey = new Map(state.lanes.map((lane) => [`${lane.classIndex} ${lane.endpoint}`, lane]));
  const exact = new Map();
  for (const lane of state.lanes) {
    if (lane.endpoint >= 0) exact.set(lane.classIndex, [...(exact.get(lane.classIndex) ?? []), lane]);
  }
  return plan.lanes.rows.map((row) => {
    if (row.endpoint === FLOATING) {
      const mine = exact.get(row.class_index) ?? [];
      return row.folds ? mine.slice(row.place) : mine.slice(row.place, row.place + 1);
    }
    const found = byKey.get(`${row.class_index} ${row.endpoint}`);
    return found ? [found] : [];
  });
}

/** Width of a request's box in pixels. */
function boxWidth(scale, cost) {
  const tokens = Number(cost);
  if (scale.kind === "equal") return scale.high_px;
  if (scale.kind === "linear") return (scale.high_px * tokens) / scale.high_tokens;
  const { low_tokens: low, high_tokens: high } = scale;
  const share = Math.log(Math.max(tokens, low) / low) / Math.log(high / low);
  return scale.low_px + (scale.high_px - scale.low_px) * share;
}

/** [start, width] in pixels of the boxes a row draws, the head's first. */
export function boxes({ run, plan }, lanes) {
  const drawn = [];
  if (lanes.length !== 1) return drawn;
  const { slots, scale, boxes_px: room } = plan.lanes;
  let end = 0;
  for (const row of lanes[0].waiting.slice(0, slots)) {
    const width = Math.min(boxWidth(scale, run.cost[row]), room);
    if (drawn.length && end + width > room) break;
    drawn.push([end, width - BOX_GAP]);
    end += width;
  }
  return drawn;
}

/** For how many classes an endpoint is busy, and how many have a limit there at all. */
export function busyClasses(endpoint) {
  let busy = 0;
  let limited = 0;
  endpoint.limits.forEach((limit, index) => {
    limited += limit !== null;
    busy += isBusyFor(endpoint, index);
  });
  return [busy, limited];
}
