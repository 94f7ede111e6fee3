// Completion and help, from the vocabulary Python sends: {context: {key: {about, takes, default, words, is_nested}}}.

import {autocompletion} from "@codemirror/autocomplete";
import {hoverTooltip} from "@codemirror/view";
import {placeAt} from "./place.js";
import {element} from "./prose.js";

function helpCard(key, help) {
  const card = element("div", "policy-help");
  card.append(element("div", "name", key), element("div", "about", help.about));
  const facts = [help.takes, help.default].filter(Boolean).join(" · ");
  if (facts) card.append(element("div", "facts", facts));
  return card;
}

// Names given in the text under one of `keys` (joined by `|`), in order of appearance.
function namesUnder(doc, keys) {
  const found = doc.toString().matchAll(new RegExp(`(?:^|[\\s{,])["']?(?:${keys})["']?\\s*:[ \\t]+["']?([\\w.-]+)`, "g"));
  return [...new Set([...found].map((match) => match[1]))];
}

const FAMILIES = "policy_family|default_policy_family";
const NAMED_BY = {policy_family: FAMILIES, default_policy_family: FAMILIES, cache_bucket: "bucket"};

// Python sends an editor's vocabulary until its first edit shows that it is here. An editor may have none.
const vocabularies = new Map();

export function keepVocabulary(editorKey, sent) {
  if (sent) vocabularies.set(editorKey, sent);
}

export function vocabularyExtensions(editorKey) {
  const keysOf = (place) => vocabularies.get(editorKey)?.[place?.context];

  const complete = ({state, pos, explicit}) => {
    const place = placeAt(state.doc, pos);
    const keys = keysOf(place);
    if (!keys) return null;
    const from = pos - place.typed.length;
    if (place.key === null) {
      if (!place.typed && !explicit) return null;
      const options = Object.entries(keys)
        .filter(([key]) => !place.taken.has(key))
        .map(([key, help], rank) => ({
          label: key,
          apply: help.is_nested ? `${key}:` : `${key}: `,
          boost: -rank,
          info: () => helpCard(key, help),
        }));
      return {from, options, validFor: /^[\w.-]*$/};
    }
    const source = NAMED_BY[place.key];
    // The half-written word itself is in the text as well, and no suggestion.
    const words = source
      ? namesUnder(state.doc, source).filter((name) => name !== place.typed)
      : keys[place.key]?.words ?? [];
    if (!words.length) return null;
    return {from, options: words.map((label, rank) => ({label, boost: -rank})), validFor: /^[\w.-]*$/};
  };

  const hover = hoverTooltip((view, pos) => {
    const line = view.state.doc.lineAt(pos);
    for (const match of line.text.matchAll(/([\w.-]+)["']?\s*:(?=\s|$)/g)) {
      const from = line.from + match.index;
      const to = from + match[1].length;
      if (from > pos || pos > to) continue;
      const help = keysOf(placeAt(view.state.doc, to))?.[match[1]];
      return help ? {pos: from, end: to, above: true, create: () => ({dom: helpCard(match[1], help)})} : null;
    }
    return null;
  });

  return [autocompletion({override: [complete], icons: false}), hover];
}
