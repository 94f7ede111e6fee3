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
  return window.Plotly;
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
