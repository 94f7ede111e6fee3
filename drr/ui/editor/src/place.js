// Where in a policy or workload spec a position of the text is: found from indentation and brackets, so it works while a line is half
// written and no parser could say.

const KEY = /^(\s*(?:- +)*)(?:"([^"]*)"|'([^']*)'|([^\s#&*!|>%@`"',[\]{}-][^#]*?|-[^\s#][^#]*?))\s*:(?=\s|$)/;

// {indent, key, dash}: the column at which a line's key (or, failing that, its text) starts, and whether the line
// starts a list item. null for empty lines and comments.
function outline(text) {
  if (/^\s*(#|$)/.test(text)) return null;
  const match = KEY.exec(text);
  const lead = match ? match[1] : /^\s*(?:- +|-$)*/.exec(text)[0];
  return {
    indent: lead.length,
    key: match ? (match[2] ?? match[3] ?? match[4]) : null,
    dash: lead.includes("-"),
    outer: lead.search(/-|$/),
  };
}

// The keys around column `indent` of line `number` (1-based), outermost first; `number` itself is not among them.
function parents(doc, number, indent, dash, outer) {
  const path = [];
  let limit = dash ? outer : indent;
  let inItem = dash;
  for (let n = number - 1; n >= 1 && (limit > 0 || inItem); n--) {
    const line = outline(doc.line(n).text);
    if (!line) continue;
    // A list may stand at the very column of the key it belongs to.
    if (line.key !== null && (line.indent < limit || (inItem && line.indent === limit && !line.dash))) {
      path.unshift(line.key);
      limit = line.indent;
      inItem = false;
    }
    if (line.dash && line.outer < limit) {
      limit = line.outer;
      inItem = true;
    }
  }
  return path;
}

// The other keys of the mapping that line `number` belongs to.
function siblings(doc, number, indent, dash) {
  const keys = new Set();
  const walk = (n, step, first) => {
    for (let open = first; open && n >= 1 && n <= doc.lines; n += step) {
      const line = outline(doc.line(n).text);
      if (!line || line.indent > indent) continue;
      if (line.indent < indent || (line.dash && step > 0)) return;
      if (line.key !== null) keys.add(line.key);
      if (line.dash) return;
    }
  };
  walk(number - 1, -1, !dash);
  walk(number + 1, 1, true);
  return keys;
}

// The inside of the innermost `{` still open before `pos`, within a few lines; null where there is none.
function openBrace(doc, pos) {
  const from = doc.line(Math.max(1, doc.lineAt(pos).number - 8)).from;
  const text = doc.sliceString(from, pos);
  let depth = 0;
  for (let i = text.length - 1; i >= 0; i--) {
    if (text[i] === "}" || text[i] === "]") depth++;
    else if (text[i] === "{" || text[i] === "[") {
      if (depth === 0) return text[i] === "{" ? {at: from + i, inside: text.slice(i + 1)} : null;
      depth--;
    }
  }
  return null;
}

// What the keys of a mapping are looked up by: a name of its own where policies have it in several places, else its path.
function contextOf(path) {
  const last = path[path.length - 1];
  if (last === "policy_classes") return "class";
  if (last === "uncached_isl_buckets") return "bucket";
  if (path.length === 2 && path[0] === "models") return "profile";
  return path.length === 0 ? "file" : path.join(".");
}

// What may be written at `pos`: {context, key, typed, taken}. `key` is null where a key is expected, else the key whose
// value is expected; `typed` is what stands there already, `taken` the keys the mapping has. null inside of comments.
export function placeAt(doc, pos) {
  const line = doc.lineAt(pos);
  const before = line.text.slice(0, pos - line.from);
  if (/(^|\s)#/.test(before)) return null;
  const brace = openBrace(doc, pos);
  if (brace) {
    const at = doc.lineAt(brace.at);
    const head = outline(doc.sliceString(at.from, brace.at) + "x") ?? {indent: 0, dash: false, outer: 0, key: null};
    const path = parents(doc, at.number, head.indent, head.dash, head.outer);
    if (head.key !== null) path.push(head.key);
    const own = /["']?([\w.-]+)["']?\s*:\s*$/.exec(doc.sliceString(at.from, brace.at));
    if (own && own[1] !== head.key) path.push(own[1]);
    const entry = brace.inside.slice(brace.inside.lastIndexOf(",") + 1);
    const [, key, typed] = /^\s*(?:["']?([\w.-]+)["']?\s*:\s+)?["']?([\w.-]*)$/.exec(entry) ?? [];
    if (typed === undefined) return null;
    const taken = new Set([...brace.inside.matchAll(/([\w.-]+)["']?\s*:/g)].map((match) => match[1]));
    return {context: contextOf(path), key: key ?? null, typed, taken};
  }
  const value = /^(\s*(?:- +)*)["']?([\w.-]+)["']?\s*:\s+["']?([\w.-]*)$/.exec(before);
  const word = /^(\s*(?:- +)*)["']?([\w.-]*)$/.exec(before);
  if (!value && !word) return null;
  const lead = (value ?? word)[1];
  const dash = lead.includes("-");
  const path = parents(doc, line.number, lead.length, dash, lead.search(/-|$/));
  return {
    context: contextOf(path),
    key: value ? value[2] : null,
    typed: value ? value[3] : word[2],
    taken: siblings(doc, line.number, lead.length, dash),
  };
}
