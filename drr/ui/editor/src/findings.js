// Python's findings as marks in the text: {from, to, severity, message, allowed, suggestion}, offsets into its text.

import {setDiagnostics} from "@codemirror/lint";
import {separatorOf} from "./exchange.js";
import {element} from "./prose.js";

const NAMES = {error: "Error", warning: "Warning", info: "Note"};

function rendered(finding) {
  const node = element("div", "finding");
  node.append(element("div", "severity", NAMES[finding.severity]), element("div", "message", finding.message));
  if (finding.allowed) node.append(element("div", "allowed", `Allowed: ${finding.allowed}`));
  return node;
}

// Python counts "\r\n" as two characters, a document whose lines end so as one.
function offsetIn(text) {
  if (!text.includes("\r") || separatorOf(text) !== "\r\n") return (offset) => offset;
  const returns = [...text.matchAll(/\r/g)].map((match) => match.index);
  return (offset) => offset - returns.filter((at) => at < offset).length;
}

// Show the findings about `text`; `since` are the changes made to it that Python has not seen.
export function showFindings(view, text, since, findings) {
  const inDocument = offsetIn(text);
  const marks = [];
  for (const finding of findings) {
    const from = since.mapPos(Math.min(inDocument(finding.from), since.length), 1);
    const to = since.mapPos(Math.min(inDocument(finding.to), since.length), -1);
    if (to < from) continue;
    const {suggestion} = finding;
    const put = {
      name: `Put ${suggestion}`,
      apply: (target, start, end) => target.dispatch({
        changes: {from: start, to: end, insert: suggestion},
        userEvent: "input.complete",
      }),
    };
    marks.push({
      from,
      to,
      severity: finding.severity,
      message: `${NAMES[finding.severity]}: ${finding.message}`,
      renderMessage: () => rendered(finding),
      actions: suggestion === null ? [] : [put],
    });
  }
  view.dispatch(setDiagnostics(view.state, marks.sort((a, b) => a.from - b.from)));
}

// "2 errors, 1 warning", or "" where there is nothing to say.
export function countedFindings(findings) {
  const counted = (severity, one, more) => {
    const count = findings.filter((finding) => finding.severity === severity).length;
    return count ? [`${count.toLocaleString("en")} ${count === 1 ? one : more}`] : [];
  };
  return [
    ...counted("error", "error", "errors"),
    ...counted("warning", "warning", "warnings"),
    ...counted("info", "note", "notes"),
  ].join(", ");
}
