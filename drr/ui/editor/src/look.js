// Colours and shapes. Every colour is one of Streamlit's own (`--st-...`), so the editor follows the app's theme, and a
// change of it, without being told. Severities differ in shape and line style as well as in colour.

import {EditorView} from "@codemirror/view";
import {HighlightStyle, syntaxHighlighting} from "@codemirror/language";
import {tags} from "@lezer/highlight";

const ink = "var(--st-text-color)";
const ground = "var(--st-background-color)";
const panel = "var(--st-secondary-background-color)";
const primary = "var(--st-primary-color)";
const blend = (colour, share, other = ground) => `color-mix(in srgb, ${colour} ${share}%, ${other})`;
const muted = blend(ink, 72);
const line = blend(ink, 18);
const severity = {
  error: "var(--st-red-text-color)",
  warning: "var(--st-orange-text-color)",
  info: "var(--st-blue-text-color)",
};
const sign = {error: "×", warning: "!", info: "i"};
const shape = {error: "50%", warning: "2px 50% 2px 50%", info: "2px"};
const stroke = {error: "wavy", warning: "dashed", info: "dotted"};

const bySeverity = (rules) => Object.assign({}, ...Object.keys(severity).map(rules));

export const look = [
  EditorView.theme({
    "&": {color: ink, backgroundColor: ground, fontSize: "0.875rem", height: "100%"},
    "&.cm-focused": {outline: "none"},
    ".cm-scroller": {fontFamily: "var(--st-code-font)", lineHeight: "1.55", overflow: "auto"},
    ".cm-content": {padding: "0.5rem 0", caretColor: ink},
    ".cm-cursor, .cm-dropCursor": {borderLeftColor: ink, borderLeftWidth: "2px"},
    "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
      backgroundColor: blend(primary, 26),
    },
    ".cm-gutters": {backgroundColor: ground, color: muted, border: "none"},
    ".cm-lineNumbers .cm-gutterElement": {padding: "0 0.6rem 0 0.3rem"},
    ".cm-activeLine": {backgroundColor: blend(ink, 4, "transparent")},
    ".cm-activeLineGutter": {backgroundColor: "transparent", color: ink},
    ".cm-selectionMatch": {backgroundColor: blend(primary, 12)},
    "&.cm-focused .cm-matchingBracket": {backgroundColor: blend(primary, 22), outline: "none"},
    ".cm-specialChar": {color: severity.error},
    ".cm-foldGutter .cm-gutterElement": {color: muted, cursor: "pointer"},
    ".cm-foldPlaceholder": {backgroundColor: panel, borderColor: line, color: muted, padding: "0 0.3rem"},
    ".cm-number": {color: "var(--st-green-text-color)"},
    ".cm-word": {color: "var(--st-violet-text-color)"},

    ".cm-tooltip": {
      backgroundColor: ground,
      color: ink,
      border: `1px solid ${line}`,
      borderRadius: "var(--st-base-radius)",
      boxShadow: "0 4px 16px rgb(0 0 0 / 0.18)",
      fontFamily: "var(--st-font)",
      fontSize: "0.875rem",
      maxWidth: "min(30rem, 90vw)",
      zIndex: "1000",
    },
    ".cm-tooltip-section:not(:first-child)": {borderTop: `1px solid ${line}`},
    ".cm-tooltip.cm-tooltip-autocomplete > ul": {fontFamily: "var(--st-code-font)", maxHeight: "14rem"},
    ".cm-tooltip.cm-tooltip-autocomplete > ul > li": {
      fontSize: "0.875rem",
      lineHeight: "1.5",
      margin: "0",
      padding: "0.15rem 0.6rem",
    },
    ".cm-tooltip-autocomplete ul li[aria-selected]": {backgroundColor: blend(primary, 22), color: ink},
    ".cm-completionMatchedText": {textDecoration: "none", fontWeight: "bold"},
    ".cm-completionDetail": {color: muted, fontStyle: "normal"},
    ".cm-tooltip.cm-completionInfo": {padding: "0", width: "22rem", maxWidth: "22rem"},
    ".cm-tooltip code": {
      fontFamily: "var(--st-code-font)",
      fontSize: "0.9em",
      backgroundColor: panel,
      borderRadius: "3px",
      padding: "0 0.2em",
    },
    ".policy-help": {padding: "0.5rem 0.75rem", lineHeight: "1.45"},
    ".policy-help .name": {fontFamily: "var(--st-code-font)", fontWeight: "600"},
    ".policy-help .about": {margin: "0.15rem 0"},
    ".policy-help .facts": {color: muted, fontSize: "0.8125rem"},

    ".cm-diagnostic": {fontSize: "0.875rem", margin: "0", padding: "0.5rem 0.75rem", borderLeft: "none", lineHeight: "1.45", whiteSpace: "pre-wrap"},
    ".cm-diagnostic .severity": {fontWeight: "600"},
    ".cm-diagnostic .allowed": {color: muted},
    ".cm-diagnosticAction": {
      backgroundColor: panel,
      color: ink,
      border: `1px solid ${line}`,
      borderRadius: "var(--st-button-radius)",
      padding: "0.1rem 0.5rem",
      margin: "0.25rem 0 0 0",
      font: "inherit",
    },
    ".cm-lintRange": {
      backgroundImage: "none",
      paddingBottom: "0",
      textDecorationLine: "underline",
      textDecorationThickness: "1.5px",
      textUnderlineOffset: "3px",
      textDecorationSkipInk: "none",
    },
    ".cm-lintRange-active": {backgroundColor: blend(ink, 10)},
    ".cm-gutter-lint": {width: "1.35rem"},
    ".cm-gutter-lint .cm-gutterElement": {padding: "0.2rem"},
    ".cm-lint-marker": {
      display: "flex",
      alignItems: "center",
      justifyContent: "center",
      width: "0.95rem",
      height: "0.95rem",
      boxSizing: "border-box",
      border: "1.5px solid currentColor",
      font: "700 0.6875rem/1 var(--st-font)",
      cursor: "help",
    },
    ...bySeverity((name) => ({
      [`.cm-lint-marker-${name}`]: {
        content: "normal",
        color: name === "error" ? ground : severity[name],
        backgroundColor: name === "error" ? severity[name] : "transparent",
        borderColor: severity[name],
        borderRadius: shape[name],
      },
      [`.cm-lint-marker-${name}::before`]: {content: `"${sign[name]}"`},
      [`.cm-lintRange-${name}`]: {
        backgroundImage: "none",
        textDecorationStyle: stroke[name],
        textDecorationColor: severity[name],
      },
      [`.cm-diagnostic-${name} .severity`]: {color: severity[name]},
      [`.cm-lintPoint-${name}::after`]: {borderBottomColor: severity[name]},
    })),

    ".cm-panels": {backgroundColor: panel, color: ink, fontFamily: "var(--st-font)"},
    ".cm-panels.cm-panels-bottom": {borderTop: `1px solid ${line}`},
    ".cm-panel input, .cm-panel button": {
      font: "inherit",
      color: ink,
      backgroundColor: ground,
      backgroundImage: "none",
      border: `1px solid ${line}`,
      borderRadius: "var(--st-button-radius)",
    },
    ".cm-panel.cm-panel-lint ul [aria-selected]": {backgroundColor: blend(primary, 22), color: ink},
    ".cm-searchMatch": {backgroundColor: "var(--st-yellow-background-color)"},
    ".cm-searchMatch-selected": {outline: `1px solid ${primary}`},
  }),
  syntaxHighlighting(
    HighlightStyle.define([
      {tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--st-blue-text-color)"},
      {tag: tags.comment, color: muted, fontStyle: "italic"},
      {tag: [tags.labelName, tags.typeName, tags.meta], color: "var(--st-violet-text-color)"},
      {tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: muted},
      {tag: tags.invalid, color: severity.error},
    ]),
  ),
];

export const frameStyle = `
.ringside-editor {
  display: flex; flex-direction: column; box-sizing: border-box; position: relative;
  border: 1px solid ${line}; border-radius: var(--st-base-radius); background: ${ground}; overflow: hidden;
}
.ringside-editor:focus-within { border-color: ${primary}; }
.ringside-editor > .host { flex: 1; min-height: 0; }
.ringside-editor > .foot {
  display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem;
  padding: 0.25rem 0.6rem; border-top: 1px solid ${line};
  font: 0.8125rem/1.5 var(--st-font); color: ${muted};
}
.ringside-editor > .foot button {
  font: inherit; color: ${ink}; background: none; border: none; padding: 0; cursor: pointer;
  text-decoration: underline; text-underline-offset: 2px;
}
.ringside-editor > .foot button:focus-visible { outline: 2px solid ${primary}; outline-offset: 2px; border-radius: 2px; }
.ringside-editor > .foot kbd { font-family: var(--st-code-font); font-size: 0.75rem; }
`;
