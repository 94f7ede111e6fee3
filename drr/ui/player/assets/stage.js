// The Plotly figure of the stage: drawn once per run, theme and width, then animated without a redraw.

import { make } from "./dom.js";
import { canPut, put } from "./haste.js";

const WITHOUT_REDRAW = { mode: "immediate", frame: { duration: 0, redraw: false }, transition: { duration: 0 } };
const LEAST_SCALE = 0.94;
const LARGEST_SCALE = 1.3;

export class Stage {
  /** `overlay` is laid over the figure, in its pixels. */
  constructor(overlay) {
    this.graph = make("div", { class: "rp-graph" });
    this.overlay = overlay;
    this.element = make("div", { class: "rp-stage" }, this.graph, overlay);
    this.stage = null;
  }

  /** The stage to use at a width of the page, in pixels: the widest that fits, if need be a little smaller. */
  static choose(stages, width) {
    return stages.findLast((each) => each.plan.width * LEAST_SCALE <= width) ?? stages[0];
  }

  /** Enlarge or shrink the figure to the page. */
  fit(width) {
    if (!this.stage) return;
    const { plan } = this.stage;
    const scale = Math.min(width / plan.width, LARGEST_SCALE);
    for (const layer of [this.graph, this.overlay]) layer.style.transform = scale === 1 ? "" : `scale(${scale})`;
    this.element.style.height = `${Math.ceil(plan.height * scale)}px`;
  }

  /** Draw a figure anew, with these values in it. */
  async draw(plotly, stage, values) {
    this.stage = stage;
    const { figure } = stage;
    const data = figure.data.map((trace) => withValues(trace, values[trace.uid]));
    await plotly.react(this.graph, data, figure.layout, { staticPlot: true, displayModeBar: false });
    const uids = this.graph.data.map((trace) => trace.uid);
    this.uids = Object.keys(values);
    this.traces = this.uids.map((uid) => uids.indexOf(uid));
    this.isFast = canPut(this.graph);
  }

  /** Put other values in. */
  animate(plotly, values) {
    const data = this.uids.map((uid) => values[uid]);
    if (this.isFast) put(this.graph, this.traces, data);
    // Not awaited: plotly.js would make every second frame wait for the next.
    else plotly.animate(this.graph, { data, traces: this.traces }, WITHOUT_REDRAW).catch(() => {});
  }
}

function withValues(trace, values = {}) {
  const merged = { ...trace };
  for (const [name, value] of Object.entries(values)) {
    merged[name] = Array.isArray(value) ? value : { ...trace[name], ...value };
  }
  return merged;
}
