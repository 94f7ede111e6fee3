// The editor's side of the conversation with Python.
//
// Python and the browser change one text at the same time, over a line with delay. Every text the browser sends has a
// number (`seq`), and so has every replacement made by Python (`rev`). Python answers with the newest number it has
// seen; from that version, which is kept here, it is known what either side has done since. Python's change is moved
// past newer typing; where both touched the same place, the newer typing stays and Python is told.

import {Annotation, ChangeSet, EditorState, Text, Transaction} from "@codemirror/state";
import {isolateHistory} from "@codemirror/commands";
import {differences} from "./differences.js";

const PATIENCE_MS = 5_000;

export const fromPython = Annotation.define(); // marks the transactions that put Python's text in

// How a text separates its lines: "\r\n" if all of them do, "\n" otherwise (stray carriage returns stay characters).
export function separatorOf(text) {
  return text.includes("\r\n") && !/[^\r]\n|^\n|\r(?!\n)/.test(text) ? "\r\n" : "\n";
}

export function documentOf(text) {
  return Text.of(text.split(separatorOf(text)));
}

export function separatorExtension(text) {
  return text.includes("\r") ? EditorState.lineSeparator.of(separatorOf(text)) : [];
}

function touching(one, other) {
  const ranges = [];
  one.iterChangedRanges((from, to) => ranges.push([from, to]), true);
  let found = false;
  other.iterChangedRanges((from, to) => {
    found ||= ranges.some(([a, b]) => from <= b && a <= to);
  }, true);
  return found;
}

export class Exchange {
  constructor({text, seq, rev}) {
    this.seq = seq;
    this.rev = rev;
    this.lastRun = 0; // the seq that asked for a run last
    this.post = null; // how an edit gets to Python
    this.timer = null;
    // While a run is on its way, later edits wait for its answer: Streamlit would let the newest of several stand for
    // all of them, and each run that was asked for is to have its own text. (Or for a time, should no answer come.)
    this.asked = null; // the seq of the run on its way
    this.waiting = []; // edits to be posted after it
    this.patience = null;
    // Versions Python may refer to, oldest first: {seq, doc, since}, `since` leading from `doc` to what is shown now.
    const doc = documentOf(text);
    this.versions = [{seq, doc, since: ChangeSet.empty(doc.length)}];
  }

  // Follow changes made in the browser.
  follow(changes) {
    for (const version of this.versions) version.since = version.since.compose(changes);
  }

  sendLater(view, delay) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.send(view), delay);
  }

  // Send what has not been sent yet: with `run` asking for one, with `now` past everything that waits.
  send(view, {run = false, again = false, now = false} = {}) {
    clearTimeout(this.timer);
    this.timer = null;
    const {doc} = view.state;
    const last = this.versions[this.versions.length - 1];
    if (run || again || !doc.eq(last.doc)) {
      this.seq++;
      if (run) this.lastRun = this.seq;
      this.versions.push({seq: this.seq, doc, since: ChangeSet.empty(doc.length)});
      const previous = this.waiting[this.waiting.length - 1];
      if (previous && previous.run !== previous.seq) this.waiting.pop();
      this.waiting.push({text: view.state.sliceDoc(), seq: this.seq, rev: this.rev, run: this.lastRun});
    }
    if (now) this.waiting.splice(0, this.waiting.length - 1);
    if (now ? this.waiting.length : this.asked === null) this.postNext();
  }

  postNext() {
    clearTimeout(this.patience);
    this.asked = null;
    const edit = this.waiting.shift();
    if (!edit) return;
    if (edit.run === edit.seq) {
      this.asked = edit.seq;
      this.patience = setTimeout(() => this.postNext(), PATIENCE_MS);
    }
    this.post(edit);
    if (this.asked === null) this.postNext();
  }

  // After a change of pages Python may not have what was sent last.
  sendUnheard(view, seq) {
    if (this.seq > seq || !view.state.doc.eq(this.versions[this.versions.length - 1].doc)) {
      this.send(view, {again: true, now: true});
    }
  }

  // Send what is left, for good.
  close(view) {
    this.send(view, {now: true});
    clearTimeout(this.patience);
  }

  // Take what Python says: {text, seq, rev}. Returns the version it speaks of, or null where that one is unknown.
  take(view, data, reconfigure) {
    if (data.rev !== this.rev) return this.takeText(view, data, reconfigure);
    if (this.asked !== null && data.seq >= this.asked) this.postNext();
    if (data.seq > this.versions[0].seq) this.versions = this.versions.filter(({seq}) => seq >= data.seq);
    return this.versions.find(({seq}) => seq === data.seq) ?? null;
  }

  takeText(view, data, reconfigure) {
    const {state} = view;
    const doc = documentOf(data.text);
    const base = this.versions.find(({seq}) => seq === data.seq) ?? this.versions[0];
    const unheard = this.seq > data.seq;
    const theirs = ChangeSet.of(differences(base.doc, doc), base.doc.length);
    const mine = base.since;
    let since;
    if (touching(theirs, mine)) {
      since = ChangeSet.of(differences(doc, state.doc), doc.length);
    } else {
      const changes = theirs.map(mine);
      since = mine.map(theirs, true);
      view.dispatch({
        changes,
        selection: keptSelection(state.selection, changes),
        effects: reconfigure(data.text),
        annotations: [
          fromPython.of(true),
          isolateHistory.of("full"),
          Transaction.userEvent.of("input.replace"),
        ],
      });
    }
    this.rev = data.rev;
    const version = {seq: data.seq, doc, since};
    this.versions = [version];
    this.waiting = [];
    this.postNext();
    // What was on its way when Python wrote its text has been put aside there, so it is sent again, merged.
    if (unheard || !since.empty) this.send(view, {again: true});
    return version;
  }
}

// A cursor inside of a replaced word stays inside of it, as far from its start as before.
function keptSelection(selection, changes) {
  let range = null;
  const {head, empty} = selection.main;
  changes.iterChanges((fromA, toA, fromB, toB) => {
    if (fromA < head && head < toA) range = fromB + Math.min(head - fromA, toB - fromB);
  }, true);
  return empty && range !== null ? {anchor: range} : selection.map(changes);
}
