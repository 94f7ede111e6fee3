// Tells Python where the playhead is: at most four times a second (less often while it flies: nobody reads that fast),
// and exactly once it has come to rest.

const PAUSE_MS = 250;
const FLYING_MS = 1000;

export class Sender {
  constructor(isFlying) {
    this.isFlying = isFlying;
    this.last = -Infinity;
    this.sent = "";
    this.timer = null;
    this.send = null;
    this.describe = null;
  }

  connect(describe) {
    this.describe = describe;
    this.report();
  }

  /** Something changed that Python may want to know. */
  report() {
    if (!this.describe) return;
    const isFlying = this.isFlying();
    if (this.timer !== null) {
      if (isFlying || !this.isLong) return;
      clearTimeout(this.timer);
    }
    this.isLong = isFlying;
    const wait = Math.max(0, this.last + (isFlying ? FLYING_MS : PAUSE_MS) - performance.now());
    this.timer = setTimeout(() => this.flush(), wait);
  }

  flush() {
    this.timer = null;
    const report = this.describe();
    const text = JSON.stringify(report);
    if (text === this.sent) return;
    this.sent = text;
    this.last = performance.now();
    this.send("view", report);
  }

  close() {
    clearTimeout(this.timer);
    this.describe = null;
  }
}
