// Where plotly.js comes from: the page has it, or Streamlit's own chunk of it is loaded, or a copy that Python serves.

let loading = null;

/** Resolves to plotly.js. `sources` are paths below the app's address, tried in turn; nothing else is ever asked. */
export async function loadPlotly(sources) {
  if (!window.Plotly) {
    loading ??= tryAll(sources).finally(() => {
      loading = null;
    });
    await loading;
  }
  hasten(window.Plotly);
  return window.Plotly;
}

/** Traces with this in their `meta` always have the same array attributes: the name under which they are remembered. */
const known = new Map();
export const remembered = (graph, uid) => `ringside ${graph} ${uid}`;

/** Forget the traces of a graph that is drawn anew. */
export function forget(graph) {
  for (const name of known.keys()) if (name.startsWith(`ringside ${graph} `)) known.delete(name);
}

/**
 * plotly.js looks through the schema of every trace in every frame to find its array attributes: half of the time of a
 * frame. Ours never change between two drawings, so they are looked up once. Other charts' traces are left alone.
 */
function hasten({ PlotSchema: schema }) {
  if (!schema?.findArrayAttributes || schema.ringside) return;
  schema.ringside = true;
  const look = schema.findArrayAttributes;
  schema.findArrayAttributes = (trace) => {
    const name = trace.meta;
    if (typeof name !== "string" || !name.startsWith("ringside ")) return look(trace);
    if (!known.has(name)) known.set(name, look(trace));
    return known.get(name);
  };
}

/** The app's address: this file lies below it, whatever path the app is served under. */
const appAddress = () => import.meta.url.split("/_stcore/")[0];

async function tryAll(sources) {
  for (const { kind, path } of sources) {
    const url = `${appAddress()}/${path}`;
    try {
      if (kind === "module") await import(url);
      else await addScript(url);
    } catch (error) {
      console.warn(`ringside: ${path} did not load`, error);
    }
    if (window.Plotly) return window.Plotly;
  }
  throw new Error("plotly.js did not load");
}

function addScript(url) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = url;
    script.onload = resolve;
    script.onerror = () => reject(new Error(url));
    document.head.append(script);
  });
}
