// Numbers and fixed words among the values get a class of their own; the YAML grammar knows only text.

import {syntaxTree} from "@codemirror/language";
import {Decoration, ViewPlugin} from "@codemirror/view";

const NUMBER = /^[-+]?(0x[\da-fA-F]+|0o[0-7]+|0b[01]+|\d+\.?\d*([eE][-+]?\d+)?|\.\d+([eE][-+]?\d+)?)$/;
const WORD = /^(fcfs|wspt|true|false|null|~)$/;
const number = Decoration.mark({class: "cm-number"});
const word = Decoration.mark({class: "cm-word"});

function decorate(view) {
  const found = [];
  for (const {from, to} of view.visibleRanges) {
    syntaxTree(view.state).iterate({
      from,
      to,
      enter(node) {
        if (node.name === "Key") return false;
        if (node.name !== "Literal" || node.to - node.from > 40) return undefined;
        const text = view.state.sliceDoc(node.from, node.to);
        const mark = NUMBER.test(text) ? number : WORD.test(text) ? word : null;
        if (mark) found.push(mark.range(node.from, node.to));
        return undefined;
      },
    });
  }
  return Decoration.set(found, true);
}

export const words = ViewPlugin.fromClass(
  class {
    constructor(view) {
      this.decorations = decorate(view);
    }

    update(update) {
      const parsed = syntaxTree(update.startState) !== syntaxTree(update.state);
      if (update.docChanged || update.viewportChanged || parsed) this.decorations = decorate(update.view);
    }
  },
  {decorations: (plugin) => plugin.decorations},
);
