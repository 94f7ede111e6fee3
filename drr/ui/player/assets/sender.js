// Tells Python where the playhead is: at most four times a second (less often while it flies: nobody reads that fast),
// and exactly once it has come to rest.
//
// Streamlit sends what two parts of a page say at the same moment as one message and then runs only one of them again.
// So we say what there is to say when the user turns away from the player, and are silent while he does something else.

const PAUSE_MS = 250;
const FLYING_MS = 1000;
const SILENCE_MS = 300;

export class Sender {
  constructor(isFlying, element) {
    this.isFlying = isFlying;
    this.element = element;
    this.last = -Infinity;
    this.silentUntil = -Infinity;
    this.sent = "";
    this.timer = null;
    this.send = null;
    this.describe = null;
    this.turnAway = ({ relatedTarget }) => {
      if (this.timer !== null && !element.contains(relatedTarget)) this.flush();
    };
    this.hush = ({ target }) => {
      if (element.contains(target)) return;
      this.silentUntil = performance.now() + SILENCE_MS;
      if (this.timer !== null) this.wait();
    };
    element.addEventListener("pointerleave", this.turnAway);
    element.addEventListener("focusout", this.turnAway);
    for (const doing of ["pointerdown", "keydown"]) document.addEventListener(doing, this.hush, true);
  }

  connect(describe) {
    this.describe = describe;
    this.report();
  }

  /** Something changed that Python may want to know. */
  report() {
    if (!this.describe) return;
    const isFlying = this.isFlying();
    if (this.timer !== null && (isFlying || !this.isLong)) return;
    this.isLong = isFlying;
    this.wait();
  }

  wait() {
    clearTimeout(this.timer);
    const due = Math.max(this.last + (this.isLong ? FLYING_MS : PAUSE_MS), this.silentUntil);
    this.timer = setTimeout(() => this.flush(), Math.max(0, due - performance.now()));
  }

  flush() {
    clearTimeout(this.timer);
    this.timer = null;
    const report = this.describe();
    const text = JSON.stringify(report);
    if (text === this.sent) return;
    this.sent = text;
    this.last = performance.now();
    this.send("view", report);
  }

  close() {
    for (const doing of ["pointerdown", "keydown"]) document.removeEventListener(doing, this.hush, true);
    clearTimeout(this.timer);
    this.timer = null;
    this.describe = null;
  }
}
