// What makes plotly.js fast enough for sixty frames a second.
//
// In every frame of an animation plotly.js works out all attributes of all traces again, and looks through their whole
// schema for arrays: four fifths of a frame. In our figure nothing changes but the arrays that are animated. So we put
// these in ourselves and let plotly.js do the rest of what it does in a frame: work out the points, and draw them. Where
// a plotly.js does not have these steps under these names, `canPut` says so and Plotly.animate does it all, only slower.

const AT_ONCE = { duration: 0 };
const ARRAYS = ["x", "y", "base", "text"];

/** Whether a drawn graph has everything that `put` works with. */
export function canPut({ _fullData: traces, _fullLayout: layout, calcdata }) {
  return (
    Array.isArray(traces) && Array.isArray(calcdata) && Boolean(layout?._plots) &&
    traces.every(({ _module: module }) => typeof module?.calc === "function") &&
    typeof traces[0]._module.basePlotModule?.plot === "function"
  );
}

/** Put new arrays into some traces of a drawn graph, and draw these traces again. */
export function put(graph, traces, values) {
  traces.forEach((index, i) => {
    const trace = graph._fullData[index];
    take(graph.data[index], values[i]);
    take(trace, values[i]);
    trace._extremes = {};
    const points = trace._module.calc(graph, trace);
    points[0].t ??= {};
    points[0].trace = trace;
    graph.calcdata[index] = points;
  });
  const modules = new Set(graph._fullData.map((trace) => trace._module));
  for (const module of modules) {
    // Where bars stand depends on all bars of a panel.
    if (module.crossTraceCalc) for (const panel of Object.values(graph._fullLayout._plots)) module.crossTraceCalc(graph, panel);
  }
  graph._fullData[0]._module.basePlotModule.plot(graph, traces, AT_ONCE);
}

function take(trace, values) {
  for (const name of ARRAYS) if (values[name]) trace[name] = values[name];
  if (values.marker) trace.marker.size = values.marker.size;
  if (values.textfont) Object.assign(trace.textfont, values.textfont);
}
