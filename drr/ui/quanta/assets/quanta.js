// Quanta, thresholds and limits beside the policy text, as a Streamlit component.
//
// Python sends what stands in the text (`data.classes`); everything done here goes back as numbered edits, which Python
// applies to the text in order and acknowledges (`data.seq`). Until then the values shown are the ones chosen here.
// Streamlit calls the exported function again for new data without a cleanup: what must last is kept at the parent.

const STYLE = `
:host { display: block; }
* { box-sizing: border-box; }
.quanta { color: var(--st-text-color); font-family: var(--st-font); font-size: 0.875rem; }
.tabs { display: flex; gap: 1.1rem; margin-bottom: 0.35rem; }
.tabs button { all: unset; cursor: pointer; padding: 0.15rem 0; color: var(--muted); border-bottom: 2px solid transparent; }
.tabs button[aria-selected="true"] { color: var(--st-text-color); font-weight: 600; border-color: var(--st-text-color); }
.quanta { --muted: color-mix(in srgb, var(--st-text-color) 72%, var(--st-background-color));
          --line: color-mix(in srgb, var(--st-text-color) 18%, var(--st-background-color)); }
:is(button, input):focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 1px; }
.rows { display: grid; grid-template-columns: fit-content(8.5rem) minmax(3rem, 1fr) 5.4rem 2.6rem; column-gap: 0.6rem; }
.row { display: grid; grid-template-columns: subgrid; grid-column: 1 / -1; align-items: center; min-height: 2rem; }
.many .row { min-height: 1.65rem; }
.name { display: flex; align-items: center; gap: 0.45rem; min-width: 0; font-weight: 600; }
.name span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.mark { flex: none; width: 0.7rem; height: 0.7rem; border-radius: 2px; }
.share { color: var(--muted); text-align: right; white-space: nowrap; }
input[type="text"] { width: 100%; min-width: 0; font: inherit; color: inherit; text-align: right; padding: 0.15rem 0.45rem;
  background: var(--st-secondary-background-color); border: 1px solid var(--line); border-radius: var(--st-base-radius); }
.many input[type="text"] { padding-block: 0; }
input[type="range"] { appearance: none; width: 100%; margin: 0; height: 1.2rem; background: none; cursor: pointer;
  --full: var(--colour, var(--muted)); }
input[type="range"]::-webkit-slider-runnable-track { height: 5px; border-radius: 3px;
  background: linear-gradient(var(--full) 0 0) 0 / var(--place, 50%) 100% no-repeat var(--line); }
input[type="range"]::-webkit-slider-thumb { appearance: none; width: 15px; height: 15px; margin-top: -5px;
  border-radius: 50%; background: var(--full); border: 2px solid var(--st-background-color); }
input[type="range"]::-moz-range-track { height: 5px; border-radius: 3px; background: var(--line); }
input[type="range"]::-moz-range-progress { height: 5px; border-radius: 3px; background: var(--full); }
input[type="range"]::-moz-range-thumb { width: 11px; height: 11px; border-radius: 50%; background: var(--full);
  border: 2px solid var(--st-background-color); }
input:disabled { opacity: 0.55; }
.all { border-top: 1px solid var(--line); margin-top: 0.25rem; padding-top: 0.25rem; }
.all .name { font-weight: 400; }
label.keep { display: inline-flex; gap: 0.4rem; align-items: center; grid-column: 3 / 5; white-space: nowrap; }
table { width: 100%; border-collapse: collapse; table-layout: fixed; }
th { font-weight: 400; color: var(--muted); text-align: right; vertical-align: bottom; padding: 0 0 0.3rem 0.4rem;
     overflow-wrap: anywhere; line-height: 1.2; font-size: 0.8rem; }
th:first-child, td:first-child { text-align: left; padding-left: 0; width: 30%; }
td { padding: 0.12rem 0 0.12rem 0.4rem; }
.say:not(:empty) { margin: 0.25rem 0 0; }
.say { margin: 0; color: var(--muted); font-size: 0.8rem; }
.say.bad { color: var(--st-red-text-color); }
`;

const TABS = {
  quanta: {title: "Quanta"},
  thresholds: {
    title: "Thresholds",
    keys: {
      prefill_busy_threshold: "busy above, tokens",
      prefill_busy_threshold_frac: "busy above, share of a batch",
      busy_worker_ratio: "share of workers",
    },
    about: "A class waits while its workers hold more prefill tokens than this. Empty: no threshold.",
  },
  limits: {
    title: "Limits",
    keys: {
      request_queue_limit_per_worker: "requests",
      raw_isl_token_queue_limit_per_worker: "input tokens",
      cached_token_queue_limit_per_worker: "cached tokens",
    },
    about: "How much may wait, per worker; what comes above is refused (HTTP 529). Empty: no limit.",
  },
};
const STEPS = 4; // slider steps per doubling: 512, 640, 768, 896, 1024

const valueAt = (place) => {
  const octave = Math.floor(place / STEPS);
  return Math.max(1, Math.round(2 ** octave * (1 + (place - octave * STEPS) / STEPS)));
};
const placeOf = (value) => {
  const octave = Math.floor(Math.log2(value));
  return Math.round((octave + value / 2 ** octave - 1) * STEPS);
};
const grouped = (text) => (/^\d+$/.test(text) ? text.replace(/\B(?=(\d{3})+$)/g, ",") : text);
// The part of the track up to the thumb is coloured by hand: the browser's own picks another ground for pale colours.
const fill = (slider) => {
  const share = (slider.value - slider.min) / (slider.max - slider.min || 1);
  slider.style.setProperty("--place", `${share * 100}%`);
};
const element = (tag, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

class Quanta {
  constructor(parent) {
    this.root = element("div", {className: "quanta"});
    parent.append(element("style", {textContent: STYLE}), this.root);
    this.tab = "quanta";
    this.keep = false;
    this.pending = [];
    this.seq = null;
  }

  receive(data, post) {
    this.post = post;
    this.seq = Math.max(this.seq ?? 0, data.seq);
    this.pending = this.pending.filter((edit) => edit.seq > data.seq);
    this.data = data;
    if (this.pending.length || this.dragging) return; // what is chosen here is newer
    this.show();
  }

  send(edit) {
    this.pending.push({...edit, seq: ++this.seq});
    this.post("edits", this.pending);
  }

  // Draw everything anew where the classes are other ones, else only what is in the fields.
  show() {
    const {classes, disabled, about} = this.data;
    const drawn = JSON.stringify([this.tab, disabled, classes.map((each) => [each.name, each.colour])]);
    if (drawn !== this.drawn) {
      this.drawn = drawn;
      this.draw();
    }
    if (this.tab === "quanta") this.fillQuanta();
    else for (const {cell, name, key} of this.cells) this.put(cell, this.valueOf(name, key));
    const problem = this.data.problem;
    this.say.textContent = problem || about || TABS[this.tab].about || "";
    this.say.classList.toggle("bad", Boolean(problem));
  }

  valueOf(name, key) {
    return this.data.classes.find((each) => each.name === name).values[key] ?? "";
  }

  put(field, value) {
    const shown = grouped(value);
    if (field.dataset.value !== value || this.root.getRootNode().activeElement !== field) field.value = shown;
    field.dataset.value = value;
  }

  draw() {
    const tabs = element("div", {className: "tabs"});
    tabs.setAttribute("role", "tablist");
    for (const [name, {title}] of Object.entries(TABS)) {
      const button = element("button", {type: "button", textContent: title, tabIndex: name === this.tab ? 0 : -1});
      button.setAttribute("role", "tab");
      button.setAttribute("aria-selected", name === this.tab);
      button.addEventListener("click", () => this.choose(name));
      button.addEventListener("keydown", (event) => this.moveTab(event, name));
      tabs.append(button);
    }
    this.say = element("p", {className: "say"});
    this.say.setAttribute("role", "status");
    const panel = this.tab === "quanta" ? this.quanta() : this.table(TABS[this.tab].keys);
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-label", TABS[this.tab].title);
    this.root.classList.toggle("many", this.data.classes.length > 6);
    this.root.replaceChildren(tabs, panel, this.say);
  }

  choose(name) {
    this.tab = name;
    this.show();
    this.root.querySelector('[aria-selected="true"]').focus();
  }

  moveTab(event, name) {
    const move = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!move) return;
    const names = Object.keys(TABS);
    this.choose(names[(names.indexOf(name) + move + names.length) % names.length]);
  }

  nameOf({name, colour}) {
    const mark = element("i", {className: "mark"});
    mark.style.background = colour;
    return element("div", {className: "name", title: name}, mark, element("span", {textContent: name}));
  }

  field(label, onEnter) {
    const field = element("input", {type: "text", autocomplete: "off", disabled: this.data.disabled});
    field.setAttribute("aria-label", label);
    field.addEventListener("change", () => {
      if (field.value !== grouped(field.dataset.value)) onEnter(field.value);
    });
    field.addEventListener("keydown", (event) => {
      if (event.key === "Escape") field.value = grouped(field.dataset.value);
    });
    return field;
  }

  slider(label, properties, live, done) {
    const slider = element("input", {type: "range", step: 1, disabled: this.data.disabled, ...properties});
    slider.setAttribute("aria-label", label);
    slider.addEventListener("input", () => {
      this.dragging = true;
      fill(slider);
      live(Number(slider.value));
    });
    slider.addEventListener("change", () => {
      this.dragging = false;
      done(Number(slider.value));
    });
    return slider;
  }

  quanta() {
    this.rows = this.data.classes.map((each) => {
      const {name} = each;
      const slider = this.slider(
        `quantum of ${name}, log scale`, {min: 0},
        (place) => this.preview(name, valueAt(place)),
        (place) => this.send({what: "set", name, key: "quantum", text: String(valueAt(place)), keep: this.keep}),
      );
      slider.style.setProperty("--colour", each.colour);
      const box = this.field(`quantum of ${name}, tokens`, (text) => {
        this.send({what: "set", name, key: "quantum", text, keep: this.keep});
      });
      const share = element("span", {className: "share", title: "share that the quantum asks for"});
      return {name, slider, box, share, row: element("div", {className: "row"}, this.nameOf(each), slider, box, share)};
    });
    const panel = element("div", {className: "rows"}, ...this.rows.map(({row}) => row));
    if (this.rows.length > 1) panel.append(this.allRow());
    return panel;
  }

  allRow() {
    const spread = 3 * STEPS; // three doublings to either side
    const factor = (place) => [STEPS + (((place % STEPS) + STEPS) % STEPS), Math.floor(place / STEPS)];
    const slider = this.slider(
      "scale all quanta", {min: -spread, max: spread, value: 0},
      (place) => {
        const [quarters, octave] = factor(place);
        this.previewAll((quarters / STEPS) * 2 ** octave);
      },
      (place) => {
        const [quarters, octave] = factor(place);
        slider.value = 0;
        fill(slider);
        const up = octave >= 0 ? 2 ** octave : 1;
        const down = octave < 0 ? 2 ** -octave : 1;
        if (place) this.send({what: "scale", up: quarters * up, down: STEPS * down});
      },
    );
    const box = element("input", {type: "checkbox", checked: this.keep, disabled: this.data.disabled});
    box.addEventListener("change", () => { this.keep = box.checked; });
    const keep = element("label", {className: "keep", title: "Moving one quantum moves all by the same factor"}, box,
      "keep ratio");
    return element("div", {className: "row all"}, element("div", {className: "name"}, "Scale all"), slider, keep);
  }

  fillQuanta() {
    const quanta = this.data.classes.map((each) => Number(each.values.quantum));
    // The scale grows with the quanta, and never shrinks under the hand that holds a slider.
    this.top = Math.max(this.top ?? 0, placeOf(65536), ...quanta.map((each) => placeOf(each) + 2 * STEPS));
    this.rows.forEach(({slider, box}, index) => {
      slider.max = this.top;
      slider.value = placeOf(quanta[index]);
      fill(slider);
      this.put(box, this.data.classes[index].values.quantum);
    });
    this.shares(quanta);
  }

  shares(quanta) {
    const sum = quanta.reduce((a, b) => a + b, 0);
    this.rows.forEach(({share, slider, box}, index) => {
      const percent = (100 * quanta[index]) / sum;
      share.textContent = `${percent >= 10 ? percent.toFixed(0) : percent.toPrecision(2)} %`;
      slider.setAttribute("aria-valuetext", `${box.value} tokens, ${share.textContent} of all`);
    });
  }

  preview(name, value) {
    const old = Number(this.valueOf(name, "quantum"));
    if (this.keep) return this.previewAll(value / old);
    this.previewAll(1, name, value);
  }

  previewAll(factor, only = null, value = 0) {
    const quanta = this.data.classes.map(({name, values}) =>
      name === only ? value : Math.max(1, Math.round(Number(values.quantum) * factor)));
    this.rows.forEach(({box, slider, name}, index) => {
      box.value = grouped(String(quanta[index]));
      if (this.root.getRootNode().activeElement !== slider) slider.value = placeOf(quanta[index]);
      fill(slider);
    });
    this.shares(quanta);
  }

  table(keys) {
    this.cells = [];
    const head = element("tr", {}, element("th"), ...Object.values(keys).map((title) => element("th", {textContent: title})));
    const rows = this.data.classes.map((each) => {
      const cells = Object.entries(keys).map(([key, title]) => {
        const cell = this.field(`${title} of ${each.name}`, (text) => this.send({what: "set", name: each.name, key, text}));
        cell.placeholder = "–";
        this.cells.push({cell, name: each.name, key});
        return element("td", {}, cell);
      });
      return element("tr", {}, element("td", {}, this.nameOf(each)), ...cells);
    });
    return element("div", {}, element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
  }
}

export default function quanta({data, setStateValue, parentElement}) {
  parentElement.ringsideQuanta ??= new Quanta(parentElement);
  parentElement.ringsideQuanta.receive(data, setStateValue);
  return () => {
    parentElement.replaceChildren();
    delete parentElement.ringsideQuanta;
  };
}
