// The player's elements: caption, picture, transport bar, moments.

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`;

/** Build everything once; `update` takes another scene, `show` another time. */
export function buildControls(root, player) {
  const caption = make("div", { className: "caption" });
  caption.setAttribute("aria-live", "polite");
  const still = make("div", {});
  const overlay = make("div", { className: "overlay" });
  const plot = make("div", { className: "plot" }, still, overlay);
  plot.setAttribute("role", "img");
  const frame = make("div", { className: "frame" }, plot);
  const play = make("button", { className: "play", type: "button", onclick: () => player.toggle() });
  const back = make("button", { type: "button", textContent: "Reset", title: "R", onclick: () => player.reset() });
  const scrub = make("input", { type: "range", min: 0, step: 1, ariaLabel: "Simulated time" });
  scrub.oninput = () => player.seek(Number(scrub.value));
  const clock = make("span", { className: "clock" });
  const options = SPEEDS.map((speed) => make("option", { value: speed, textContent: `${speed} ×` }));
  const speed = make("select", { ariaLabel: "Speed: simulated over real time" }, ...options);
  speed.onchange = () => {
    player.memory.speed = Number(speed.value);
  };
  const moments = make("div", { className: "moments" });
  let shown = "";
  const keys = make("div", {
    className: "keys",
    textContent: "Space plays and pauses · arrows move · Page Down and Page Up: next and last moment · R starts over",
  });
  root.append(caption, frame, make("div", { className: "bar" }, play, back, scrub, clock, speed, moments, keys));

  return {
    caption,
    plot,
    still,
    overlay,
    frame,
    update(data, memory) {
      const scene = data.scenes[0];
      scrub.max = scene.duration_ms;
      speed.value = memory.speed;
      // A button that stays the same keeps the keyboard's focus.
      const wanted = JSON.stringify(scene.moments);
      if (wanted === shown) return;
      shown = wanted;
      moments.replaceChildren(
        ...scene.moments.map((each) =>
          make("button", { type: "button", textContent: each.label, title: each.caption, name: each.name, onclick: () => player.choose(each) }),
        ),
      );
    },
    show(time, duration, text, isPlaying) {
      if (caption.textContent !== text) {
        caption.textContent = text;
        plot.setAttribute("aria-label", text);
      }
      play.textContent = isPlaying ? "❚❚ Pause" : "▶ Play";
      scrub.value = time;
      scrub.setAttribute("aria-valuetext", seconds(time));
      clock.textContent = `${seconds(time)} of ${seconds(duration)}`;
      for (const button of moments.children) button.setAttribute("aria-current", button.name === root.dataset.moment);
    },
  };
}
