// The numbers of the step as tables, for reading and for screen readers.

import { make } from "./dom.js";
import { classWord } from "./words.js";
import { grouped } from "./text.js";

export class Numbers {
  constructor(player) {
    this.player = player;
    this.body = make("div", { class: "rp-tables" });
    this.element = make("details", { class: "rp-numbers", toggle: () => this.refresh() }, make("summary", { text: "Numbers of this step" }), this.body);
  }

  refresh() {
    if (this.player.state) this.show(this.player.position, this.player.state);
  }

  show(position, state) {
    if (!this.element.open) return;
    const { run } = this.player;
    const tokens = (value) => (value === null ? "never busy" : Number(value) < 0 ? "held" : grouped(value));
    const classes = table(
      ["class", "", "deficit, tokens", "quantum", "waiting", "tokens waiting", "head's cost"],
      state.classes.map((each, index) => [
        each.name, classWord(state, index)[1], grouped(each.deficit), grouped(run.quanta[index]), grouped(each.waiting),
        grouped(each.waitingTokens), each.head < 0 ? "–" : grouped(run.cost[each.head]),
      ]),
    );
    const workers = table(
      ["worker", "", "active prefill, tokens", "in flight", "running", "busy above"],
      state.endpoints.map((each) => [
        each.name, each.isPresent ? (each.isOverloaded ? "overloaded" : "") : "not there", grouped(each.load),
        grouped(each.inFlight), grouped(each.running), limitsText(run, each.limits, tokens),
      ]),
    );
    this.body.replaceChildren(classes, workers);
  }
}

/** One limit where all classes have the same, else each with its class. */
function limitsText(run, limits, tokens) {
  if (limits.every((limit) => limit === limits[0])) return tokens(limits[0]);
  return limits.map((limit, index) => `${run.classNames[index]} ${tokens(limit)}`).join(", ");
}

function table(heads, rows) {
  const head = make("tr", {}, ...heads.map((text) => make("th", { scope: "col", text })));
  const body = rows.map((cells) =>
    make("tr", {}, ...cells.map((text, i) => make(i ? "td" : "th", i ? { text } : { scope: "row", text }))),
  );
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
}
