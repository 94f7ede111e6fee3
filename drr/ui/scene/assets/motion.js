// What lies over the picture of a scene at a time.

const NOWHERE = [-9, -9]; // an empty trace would never show again under `redraw: false`

/** How many of the ascending `times` are not after `time`. */
export function countUntil(times, time) {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time + 1e-4) low = middle + 1;
    else high = middle;
  }
  return low;
}

export const momentAt = (moments, time) => moments.findLast((each) => each.time_ms <= time + 1e-4);
export const captionAt = (moments, time) => momentAt(moments, time)?.caption ?? "";

/** Values of the traces of the overlay at a time, in their order: veil, cover, playhead, counters. */
export function overlayAt(scene, time) {
  const share = Math.min(time / scene.duration_ms, 1);
  const veil = new Path();
  const head = new Path();
  for (const { left, width, top, bottom } of scene.panels) {
    const at = left + width * share;
    const end = left + width + 2;
    veil.add([at, top - 1], [end, top - 1], [end, bottom + 2], [at, bottom + 2], [at, top - 1]);
    head.add([at, top], [at, bottom]);
  }
  const cover = new Path();
  for (const block of scene.covers) cover.add(...coverOf(block, countUntil(block.t, time)));
  const counts = scene.counters.map(({ t, text }) => text[Math.max(countUntil(t, time) - 1, 0)]);
  return { values: [veil.xy(), cover.xy(), head.xy(), { text: counts }], counts };
}

/** The outline of the marks of a block that have not come: the rest of a row, and all rows below it. */
function coverOf({ left, top, pitch, columns, rows }, count) {
  const right = left + columns * pitch;
  const bottom = top + rows * pitch;
  const y = top + Math.floor(count / columns) * pitch;
  const x = left + (count % columns) * pitch;
  const below = Math.min(y + pitch, bottom);
  if (y >= bottom) return [];
  return [[x, y], [right, y], [right, bottom], [left, bottom], [left, below], [x, below], [x, y]];
}

/** Lines or outlines in one trace, with gaps between them. */
class Path {
  x = [];
  y = [];

  add(...points) {
    for (const [x, y] of points) {
      this.x.push(x);
      this.y.push(y);
    }
    if (points.length) {
      this.x.push(null);
      this.y.push(null);
    }
  }

  xy() {
    return this.x.length ? { x: this.x, y: this.y } : { x: NOWHERE, y: NOWHERE };
  }
}
