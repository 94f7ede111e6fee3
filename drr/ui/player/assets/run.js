// A run as the browser holds it: the columns of drr/ui/player/columns.py, undone, and what follows from them.

/** The codes of StepKind, in the order of drr/simulation/state.py. */
export const KIND = {
  BYPASSED: 0, QUEUED: 1, REFUSED: 2, DECISION: 3, EMPTY_CALL: 4, FIRST_TOKEN: 5, COMPLETION: 6, ERROR: 7,
  WORKER_CHANGE: 8, HEAD_ERROR: 9,
};
export const isCall = (kind) => kind === KIND.DECISION || kind === KIND.EMPTY_CALL || kind === KIND.HEAD_ERROR;
export const leavesLane = (kind) => kind === KIND.DECISION || kind === KIND.HEAD_ERROR;

const SHARED = -1;

/** Everything that was recorded. Token figures are Numbers, or BigInts where the run has numbers beyond 2^53. */
export function makeRun(header, columns) {
  const steps = columns.kind.length;
  const token = header.wide ? (value) => (value === null ? null : BigInt(value)) : (value) => value;
  const run = {
    id: header.id,
    steps,
    kind: columns.kind,
    endpoint: columns.step_endpoint,
    row: rowsOf(columns, steps),
    times: timesOf(columns, steps),
    classNames: header.survey.class_names,
    endpointNames: header.survey.endpoint_names,
    quanta: header.quanta.map(token),
    token,
    zero: token(0),
    rules: header.rules,
    rowClass: columns.row_class,
    wasAdmitted: bits(columns.was_admitted, columns.row_class.length),
    labels: header.labels,
    ratios: header.busy_worker_ratios,
    boxes: Math.max(...header.stages.map(({ plan }) => plan.lanes.slots)),
    runsAtOnce: header.runs_at_once,
  };
  tokensOf(run, header, columns);
  callsOf(run, header, columns);
  run.admitSteps = admissions(columns);
  run.cluster = clusterOf(header.cluster, run);
  lanesOf(run, columns.row_rank);
  run.decisions = stepsWhere(run, (step) => run.kind[step] === KIND.DECISION);
  run.refusals = stepsWhere(run, (step) => run.kind[step] === KIND.REFUSED);
  run.bulks = stepsWhere(run, (step) => isCall(run.kind[step]) && run.rounds.has(run.callAt[step]));
  return run;
}

function bits(packed, count) {
  const flags = new Uint8Array(count);
  for (let i = 0; i < count; i += 1) flags[i] = (packed[i >> 3] >> (i & 7)) & 1;
  return flags;
}

function timesOf(columns, steps) {
  const fresh = bits(columns.new_time, steps);
  const times = new Float64Array(steps);
  for (let step = 0, at = -1; step < steps; step += 1) {
    at += fresh[step];
    times[step] = columns.times_ms[at];
  }
  return times;
}

function rowsOf(columns, steps) {
  const last = new Int32Array(256);
  const rows = new Int32Array(steps);
  for (let step = 0; step < steps; step += 1) {
    const kind = columns.kind[step];
    last[kind] += columns.step_row[step];
    rows[step] = last[kind];
  }
  return rows;
}

/** A column of differences as running sums. */
function sums(differences) {
  const out = new Int32Array(differences.length);
  for (let i = 0, sum = 0; i < out.length; i += 1) {
    sum += differences[i];
    out[i] = sum;
  }
  return out;
}

function tokensOf(run, header, columns) {
  if (header.wide) {
    run.cost = header.row_cost.map(BigInt);
    run.prefill = header.row_prefill.map(BigInt);
    return;
  }
  run.cost = columns.row_cost;
  run.prefill = new Float64Array(run.cost.length);
  columns.row_prefill.forEach((difference, row) => {
    run.prefill[row] = run.cost[row] + difference;
  });
}

function callsOf(run, header, columns) {
  run.visitEnd = sums(columns.visits);
  run.cursor = columns.cursor;
  run.carried = columns.carried;
  run.visitRule = columns.visit_rule;
  run.visitClass = columns.visit_class ?? null;
  run.rounds = new Map();
  sums(columns.bulk_call).forEach((call, i) => run.rounds.set(call, run.token(header.bulk_rounds[i])));
  run.callAt = new Int32Array(run.steps);
  run.visitHead = new Int32Array(columns.visit_head.length);
  let call = -1;
  for (let step = 0; step < run.steps; step += 1) {
    if (isCall(run.kind[step])) {
      call += 1;
      for (let i = call ? run.visitEnd[call - 1] : 0; i < run.visitEnd[call]; i += 1) {
        run.visitHead[i] = columns.visit_head[i] === 0 ? run.row[step] : columns.visit_head[i] - 2;
      }
    }
    run.callAt[step] = call;
  }
}

function admissions(columns) {
  const perEndpoint = [];
  let from = 0;
  for (const count of columns.admits) {
    perEndpoint.push(sums(columns.admit_step.subarray(from, from + count)));
    from += count;
  }
  return perEndpoint;
}

/** The edits of the cluster, ready to be applied up to a number of changes. */
function clusterOf(cluster, run) {
  const constraintOf = new Map();
  const [rows, numbers] = cluster.constraints;
  rows.forEach((row, i) => constraintOf.set(row, numbers[i]));
  const edits = cluster.edits.map(([change, endpoint, present, overloaded, limits]) => ({
    change, endpoint, present: Boolean(present), overloaded: Boolean(overloaded), limits: limits.map(run.token),
  }));
  return { edits, eligible: cluster.eligible, constraintOf, shown: new Map() };
}

/** Lanes, and when every request came in and went out again. */
function lanesOf(run, rank) {
  const rows = run.rowClass.length;
  run.queuedStep = new Int32Array(rows).fill(-1);
  run.goneStep = new Int32Array(rows).fill(run.steps);
  run.laneOf = new Int32Array(rows).fill(-1);
  run.hadFirstToken = new Uint8Array(rows);
  const lanes = new Map();
  for (let step = 0; step < run.steps; step += 1) {
    const kind = run.kind[step];
    const row = run.row[step];
    if (kind === KIND.QUEUED) {
      const key = `${run.rowClass[row]} ${run.endpoint[step]}`;
      if (!lanes.has(key)) {
        lanes.set(key, { index: lanes.size, classIndex: run.rowClass[row], endpoint: run.endpoint[step], order: [] });
      }
      const lane = lanes.get(key);
      run.queuedStep[row] = step;
      run.laneOf[row] = lane.index;
      lane.order.push(row);
    } else if (leavesLane(kind)) {
      run.goneStep[row] = step;
    } else if (kind === KIND.FIRST_TOKEN) {
      run.hadFirstToken[row] = 1;
    }
  }
  run.lanes = [...lanes.values()];
  run.isFifo = !rank;
  run.rank = rank ?? run.queuedStep;
  for (const lane of run.lanes) {
    lane.order = Int32Array.from(lane.order);
    if (rank) lane.order.sort((a, b) => rank[a] - rank[b]);
  }
  // Ring order, shared lane before exact lanes: the order in which a state lists them.
  run.laneOrder = [...run.lanes].sort((a, b) => a.classIndex - b.classIndex || a.endpoint - b.endpoint);
}

function stepsWhere(run, accepts) {
  const found = [];
  for (let step = 0; step < run.steps; step += 1) if (accepts(step)) found.push(step);
  return Int32Array.from(found);
}

/** How many items of an ascending array are below a value (or not above it, with `after`). */
export function countBelow(sorted, value, after = false) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (after ? sorted[middle] <= value : sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The last step not after a simulated time, -1 before the first. */
export const stepAtTime = (run, time) => countBelow(run.times, time, true) - 1;

/** What a request is called. */
export const labelOf = (run, row) => run.labels[row] || `request ${row}`;

/** The endpoints after a number of changes: presence, flags, limits, and who is eligible per constraint. */
export function clusterAt(run, changes) {
  const { edits, eligible, shown } = run.cluster;
  const kept = shown.get(changes);
  if (kept) return kept;
  const cluster = { endpoints: [], eligible: [] };
  for (const edit of edits) if (edit.change <= changes) cluster.endpoints[edit.endpoint] = edit;
  for (const [change, constraint, endpoints] of eligible) {
    if (change <= changes) cluster.eligible[constraint] = endpoints;
  }
  if (shown.size > 64) shown.clear();
  shown.set(changes, cluster);
  return cluster;
}

/** The endpoints that may serve a request, or null where none may. */
export const eligibleFor = (run, cluster, row) => cluster.eligible[run.cluster.constraintOf.get(row) ?? 0];

export { SHARED };
