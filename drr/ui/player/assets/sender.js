// Tells Python where the playhead is: at most four times a second, and exactly once it has come to rest.

const PAUSE_MS = 250;

export class Sender {
  constructor() {
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
    if (!this.describe || this.timer !== null) return;
    const wait = Math.max(0, this.last + PAUSE_MS - performance.now());
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
