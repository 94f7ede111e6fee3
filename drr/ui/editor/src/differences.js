// Small changes between two versions of a text, so that cursors, marks and typing elsewhere stay where they are.

import {Text} from "@codemirror/state";

// The one span in which `before` and `after` differ, as a change; null where they are equal.
function span(before, after, offset) {
  if (before === after) return null;
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before.charCodeAt(head) === after.charCodeAt(head)) head++;
  let tail = 0;
  while (
    tail < most - head &&
    before.charCodeAt(before.length - 1 - tail) === after.charCodeAt(after.length - 1 - tail)
  ) tail++;
  return {from: offset + head, to: offset + before.length - tail, insert: after.slice(head, after.length - tail)};
}

// Changes that turn the document `before` into `after` (both CodeMirror Text). Where as many lines are taken away as
// put in, each line is compared by itself: two edited numbers are two changes, not one that spans all between them.
export function differences(before, after) {
  const old = before.toString();
  const whole = span(old, after.toString(), 0);
  if (!whole) return [];
  const wrap = (change) => ({...change, insert: Text.of(change.insert.split("\n"))});
  const oldLines = old.slice(whole.from, whole.to).split("\n");
  const newLines = whole.insert.split("\n");
  if (oldLines.length !== newLines.length) return [wrap(whole)];
  const changes = [];
  let offset = whole.from;
  oldLines.forEach((line, index) => {
    const change = span(line, newLines[index], offset);
    if (change) changes.push(wrap(change));
    offset += line.length + 1;
  });
  return changes;
}
