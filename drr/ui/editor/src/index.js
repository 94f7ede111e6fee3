// The editor of policies and other YAML: CodeMirror 6 as a Streamlit component.
//
// Streamlit calls the exported function again whenever Python sends something new, without a cleanup in between: all
// that must last is kept at the parent element. `data` holds the newest text Python knows and the numbers that say
// which of our versions it includes (see exchange.js), its findings, the vocabulary and a few settings.

import {acceptCompletion, closeBrackets, closeBracketsKeymap, completionKeymap} from "@codemirror/autocomplete";
import {defaultKeymap, history, historyField, historyKeymap, indentLess, indentMore} from "@codemirror/commands";
import {yaml} from "@codemirror/lang-yaml";
import {bracketMatching, foldGutter, foldKeymap, indentOnInput} from "@codemirror/language";
import {lintGutter, lintKeymap, nextDiagnostic} from "@codemirror/lint";
import {highlightSelectionMatches, searchKeymap} from "@codemirror/search";
import {Compartment, EditorState, Prec} from "@codemirror/state";
import {
  crosshairCursor, drawSelection, dropCursor, EditorView, highlightActiveLine, highlightActiveLineGutter,
  highlightSpecialChars, keymap, lineNumbers, rectangularSelection,
} from "@codemirror/view";
import {documentOf, Exchange, fromPython, separatorExtension} from "./exchange.js";
import {countedFindings, showFindings} from "./findings.js";
import {frameStyle, look} from "./look.js";
import {keepVocabulary, vocabularyExtensions} from "./vocabulary.js";
import {words} from "./words.js";

const MODIFIERS = new Set(["Shift", "Control", "Alt", "Meta"]);
const HISTORY = {history: historyField};
let count = 0;

// Editors that were taken off the page, by key. Streamlit does so when the page is left, but also when an edit crosses
// a rerun of the whole script; the one that is put there instead goes on where this one was stopped, history, cursor,
// focus and unheard typing included.
const parked = new Map();
const MOMENT_MS = 2_000;

function takeParked(data) {
  const left = parked.get(data.key);
  parked.delete(data.key);
  if (!left || data.rev < left.exchange.rev || data.seq < left.exchange.versions[0].seq) return null;
  return {...left, hadFocus: left.hadFocus && performance.now() - left.at < MOMENT_MS};
}

class Editor {
  constructor(parent, data) {
    this.separator = new Compartment();
    this.mayLeave = false; // Escape was the last key: Tab moves on instead of indenting
    this.build(parent, data);
    const left = takeParked(data);
    const extensions = this.extensions(data);
    this.view = new EditorView({
      parent: this.host,
      state: left
        ? EditorState.fromJSON(left.state, {extensions}, HISTORY)
        : EditorState.create({doc: documentOf(data.text), extensions}),
      scrollTo: left?.scroll,
    });
    this.exchange = left?.exchange ?? new Exchange(data);
    this.exchange.post = (edit) => this.post("edit", edit);
    if (left?.hadFocus) this.view.focus();
    this.flush = (event) => {
      if (!event?.composedPath?.().includes(this.host)) this.exchange.send(this.view, {now: true});
    };
    // The last key before a click counts: what is typed goes out before the click does anything.
    document.addEventListener("pointerdown", this.flush, true);
    window.addEventListener("pagehide", this.flush);
  }

  build(parent, {label, suggests}) {
    const style = document.createElement("style");
    style.textContent = frameStyle;
    this.frame = document.createElement("div");
    this.frame.className = "ringside-editor";
    this.host = document.createElement("div");
    this.host.className = "host";
    const foot = document.createElement("div");
    foot.className = "foot";
    this.summary = document.createElement("span");
    this.summary.setAttribute("role", "status");
    const keys = document.createElement("span");
    keys.id = `ringside-editor-keys-${++count}`;
    const kbd = (name) => Object.assign(document.createElement("kbd"), {textContent: name});
    const run = /Mac|iP/.test(navigator.platform) ? "⌘ Enter" : "Ctrl Enter";
    keys.append(kbd(run), " runs, ", ...(suggests ? [kbd("Ctrl Space"), " suggests, "] : []), kbd("Esc Tab"), " leaves");
    this.keysId = keys.id;
    foot.append(this.summary, keys);
    this.frame.append(this.host, foot);
    parent.append(style, this.frame);
    this.label = label;
  }

  extensions(data) {
    return [
      this.separator.of(separatorExtension(data.text)),
      Prec.highest(keymap.of([
        {key: "Mod-Enter", run: () => this.run()},
        {key: "Ctrl-Enter", run: () => this.run()},
        {key: "Tab", run: (view) => !this.mayLeave && (acceptCompletion(view) || indentMore(view))},
        {key: "Shift-Tab", run: (view) => !this.mayLeave && indentLess(view)},
      ])),
      Prec.highest(EditorView.domEventHandlers({
        keydown: (event) => {
          if (event.key === "Escape") this.mayLeave = true;
          else if (event.key !== "Tab" && !MODIFIERS.has(event.key)) this.mayLeave = false;
        },
        focus: () => { this.mayLeave = false; },
        blur: (event) => {
          if (event.relatedTarget === null) this.lostFocusAt = performance.now();
          this.exchange.send(this.view, {now: true});
        },
        scroll: (_, view) => { this.scroll = view.scrollSnapshot(); },
      })),
      EditorView.updateListener.of((update) => {
        for (const transaction of update.transactions) {
          if (transaction.docChanged && !transaction.annotation(fromPython)) {
            this.exchange.follow(transaction.changes);
            this.exchange.sendLater(this.view, this.debounce);
          }
        }
      }),
      EditorView.contentAttributes.of({
        "aria-label": this.label, "aria-describedby": this.keysId, spellcheck: "false", tabindex: "0",
      }),
      EditorView.clipboardInputFilter.of((text, state) => text.replace(/\r\n?|\n/g, state.lineBreak)),
      lintGutter(),
      lineNumbers(),
      highlightActiveLineGutter(),
      highlightSpecialChars(),
      history(),
      foldGutter({openText: "▾", closedText: "▸"}),
      drawSelection(),
      dropCursor(),
      EditorState.allowMultipleSelections.of(true),
      indentOnInput(),
      bracketMatching(),
      closeBrackets(),
      rectangularSelection(),
      crosshairCursor(),
      highlightActiveLine(),
      highlightSelectionMatches(),
      keymap.of([
        ...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap,
        ...completionKeymap, ...lintKeymap,
      ]),
      yaml(),
      words,
      vocabularyExtensions(data.key),
      look,
    ];
  }

  run() {
    this.exchange.send(this.view, {run: true});
    return true;
  }

  receive(data, post) {
    this.post = post;
    keepVocabulary(data.key, data.vocabulary);
    this.debounce = data.debounce_ms;
    this.frame.style.height = `${data.height}px`;
    const version = this.exchange.take(this.view, data, (text) => this.separator.reconfigure(separatorExtension(text)));
    if (version) showFindings(this.view, data.text, version.since, data.findings);
    this.summarise(countedFindings(data.findings));
  }

  summarise(text) {
    if (this.summary.textContent === text) return;
    this.summary.textContent = "";
    if (!text) return;
    const button = Object.assign(document.createElement("button"), {type: "button", textContent: text});
    button.title = "Go to the next one (F8)";
    button.addEventListener("click", () => {
      nextDiagnostic(this.view);
      this.view.focus();
    });
    this.summary.append(button);
  }

  leave(key) {
    this.exchange.close(this.view);
    document.removeEventListener("pointerdown", this.flush, true);
    window.removeEventListener("pagehide", this.flush);
    const at = performance.now();
    // An element that is taken off the page loses the focus to nothing.
    const hadFocus = document.activeElement === document.body && at - this.lostFocusAt < MOMENT_MS;
    const state = this.view.state.toJSON(HISTORY);
    parked.set(key, {at, hadFocus, state, scroll: this.scroll, exchange: this.exchange});
    this.view.destroy();
    this.frame.remove();
  }
}

export default function show({data, setStateValue, parentElement}) {
  const isNew = !parentElement.ringsideEditor;
  const editor = (parentElement.ringsideEditor ??= new Editor(parentElement, data));
  editor.receive(data, setStateValue);
  if (isNew) editor.exchange.sendUnheard(editor.view, data.seq);
  return () => {
    editor.leave(data.key);
    delete parentElement.ringsideEditor;
  };
}
