// plotly.js as it comes along on this machine; nothing is ever asked of another one.

let loading = null;

/** Resolves to plotly.js. `sources` are paths below the app's address, whatever path that is served under. */
export function loadPlotly(sources) {
  if (window.Plotly) return Promise.resolve(window.Plotly);
  loading ??= tryAll(sources).catch((error) => {
    loading = null;
    throw error;
  });
  return loading;
}

async function tryAll(sources) {
  const address = import.meta.url.split("/_stcore/")[0];
  for (const { kind, path } of sources) {
    const url = `${address}/${path}`;
    await (kind === "module" ? import(url) : addScript(url));
    if (window.Plotly) return window.Plotly;
  }
  throw new Error("plotly.js did not load");
}

function addScript(url) {
  return new Promise((resolve, reject) => {
    const script = Object.assign(document.createElement("script"), { src: url, onload: resolve });
    script.onerror = () => reject(new Error(`${url} did not load`));
    document.head.append(script);
  });
}
