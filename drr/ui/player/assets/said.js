// The sentence that explains the step, or in "guess first" mode the question in its place.

import { make } from "./dom.js";

const NOTE_MS = 4000;

export class Said {
  constructor(player) {
    this.player = player;
    this.last = null;
    this.score = { right: 0, asked: 0 };
    this.headline = make("strong");
    this.text = make("span");
    this.verdict = make("span", { class: "rp-verdict" });
    this.sentence = make("p", { class: "rp-sentence", role: "status", "aria-live": "polite" }, this.verdict, this.headline, " ", this.text);
    this.choices = make("div", { class: "rp-guess", role: "group", "aria-label": "Who is next?", hidden: true });
    this.noted = make("p", { class: "rp-note", role: "status" });
    this.stale = make("p", { class: "rp-stale-note", role: "status", hidden: true });
    this.element = make("div", { class: "rp-said" }, this.stale, this.sentence, this.choices, this.noted);
  }

  renew() {
    const { run, header } = this.player;
    const button = (text, index, colour) => {
      const mark = make("i", { class: "rp-swatch", "aria-hidden": "true" });
      if (colour) mark.style.background = colour;
      return make("button", { type: "button", click: () => this.guess(index) }, ...(colour ? [mark] : []), text);
    };
    this.choices.replaceChildren(
      make("strong", { text: "Who is next?" }),
      ...run.classNames.map((name, index) => button(name, index, header.classes[index].colour)),
      button("nobody", -1),
      make("button", { type: "button", class: "rp-quiet", text: "show the answer (A)", click: () => this.player.reveal() }),
    );
  }

  /** Somebody says who is next; -1 is nobody. */
  guess(index) {
    if (!this.player.isHidden || index >= this.player.run.classNames.length) return;
    this.player.reveal();
    const winner = this.player.state.winner;
    this.score.asked += 1;
    this.score.right += winner === index;
    const { right, asked } = this.score;
    this.verdict.textContent = `${winner === index ? "Right." : "Not this time."} (${right} of ${asked}) `;
  }

  hear(message) {
    this.last = message;
    if (this.player.run) this.show(this.player.position);
  }

  show({ step, visit }) {
    const { isHidden } = this.player;
    this.choices.hidden = !isHidden;
    this.sentence.hidden = isHidden;
    if (step !== this.shownStep) this.verdict.textContent = "";
    this.shownStep = step;
    if (isHidden) {
      this.write("", "");
      return;
    }
    const { last } = this;
    if (!last || last.run !== this.player.run.id) return;
    const isHere = last.step === step && last.visit === visit;
    this.element.classList.toggle("rp-behind", !isHere && !this.player.playback.isPlaying);
    // At rest, and while one may guess, nothing is said about another step than the one that is shown.
    if (isHere || (this.player.playback.isPlaying && !this.player.isGuessing)) this.write(last.headline, last.text);
    this.element.dataset.step = isHere ? String(step) : "";
  }

  write(headline, text) {
    if (this.headline.textContent !== headline) this.headline.textContent = headline;
    if (this.text.textContent !== text) this.text.textContent = text;
  }

  /** A short word that goes away by itself. */
  note(text) {
    this.noted.textContent = text;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.noted.textContent = ""), NOTE_MS);
  }

  setStale(text) {
    this.stale.hidden = !text;
    this.stale.textContent = text ?? "";
  }

  fail(error) {
    this.sentence.hidden = false;
    this.write("The stage cannot be shown.", error.message);
  }

  close() {
    clearTimeout(this.timer);
  }
}
