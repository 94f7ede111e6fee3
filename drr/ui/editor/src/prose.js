// Text from Python as nodes. What stands in backquotes becomes code; nothing is ever read as HTML.

export function element(tag, className, text = "") {
  const node = document.createElement(tag);
  node.className = className;
  text.split("`").forEach((piece, index) => {
    if (!piece) return;
    if (index % 2 === 0) node.append(piece);
    else node.append(Object.assign(document.createElement("code"), {textContent: piece}));
  });
  return node;
}
