// Plays a stored run: unpacks plotly.js and the frames out of this file, then steps, plays and scrubs.
(async () => {
  const at = (id) => document.getElementById(id);
  const unpack = async (id) => {
    const bytes = Uint8Array.from(atob(at(id).textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).text();
  };
  const library = document.createElement("script");
  library.textContent = await unpack("plotly");
  document.head.append(library);
  const { figure, timelines, frames, said, playhead } = JSON.parse(await unpack("data"));

  // A frame holds what differs from the one before; from here on every frame is whole (and shares what is equal).
  for (let k = 1; k < frames.length; k += 1) frames[k] = { ...frames[k - 1], ...frames[k] };
  const config = { displayModeBar: false, staticPlot: true };
  await Plotly.newPlot("stage", figure.data, figure.layout, config);
  await Plotly.newPlot("timelines", timelines.data, timelines.layout, config);
  const moving = Object.keys(frames[0]);
  const drawn = at("stage").data.map((trace) => trace.uid);
  const traces = moving.map((uid) => drawn.indexOf(uid));
  const instantly = { mode: "immediate", frame: { duration: 0, redraw: false }, transition: { duration: 0 } };
  const last = frames.length - 1;
  let place = 0;
  let playing = null;

  function show(wanted) {
    place = Math.min(Math.max(wanted, 0), last);
    const data = moving.map((uid) => frames[place][uid]);
    Plotly.animate("stage", { data, traces }, instantly).catch(() => {});
    const [when, headline, text] = said[place];
    const strong = document.createElement("b");
    strong.textContent = headline;
    at("said").replaceChildren(strong, ` ${text}`);
    at("when").textContent = when;
    at("playhead").style.left = `${playhead[place] - 1}px`;
    at("scrub").value = place;
    document.body.dataset.place = place;
  }

  function play() {
    if (place === last) show(0);
    at("play").textContent = "Pause";
    playing = { since: performance.now(), from: place };
    const tick = (now) => {
      if (!playing) return;
      const wanted = playing.from + Math.floor(((now - playing.since) / 1000) * Number(at("speed").value));
      if (wanted !== place) show(wanted);
      if (place === last) pause();
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  function pause() {
    playing = null;
    at("play").textContent = "Play";
  }

  function go(wanted) {
    pause();
    show(wanted);
  }

  at("scrub").max = last;
  at("scrub").oninput = () => go(Number(at("scrub").value));
  at("play").onclick = () => (playing ? pause() : play());
  at("back").onclick = () => go(place - 1);
  at("on").onclick = () => go(place + 1);
  at("speed").onchange = () => {
    if (playing) playing = { since: performance.now(), from: place };
  };
  document.onkeydown = (event) => {
    if (event.target.matches("button, select, input") && (event.key === " " || event.target.matches("select"))) return;
    const many = event.shiftKey ? 10 : 1;
    const actions = {
      " ": () => (playing ? pause() : play()),
      ArrowRight: () => go(place + many),
      ArrowLeft: () => go(place - many),
      Home: () => go(0),
      End: () => go(last),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  };
  show(0);
  document.body.dataset.ready = "yes";
})().catch((error) => {
  document.getElementById("said").textContent = `This browser cannot show the replay: ${error.message}`;
});
