// Small helpers for making elements.

/** An element with attributes (functions are listeners, `class` and `text` as expected) and children. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") element.textContent = value;
    else if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const PATHS = {
  first: "M4 3v10M13 3.5 6.5 8l6.5 4.5z",
  previous: "M11.5 3.5 5 8l6.5 4.5z",
  play: "M4.5 2.8 13 8l-8.5 5.2z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  next: "M4.5 3.5 11 8l-6.5 4.5z",
  last: "M12 3v10M3 3.5 9.5 8 3 12.5z",
};

/** An icon as SVG; `show` changes it. */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  svg.append(path);
  svg.show = (which) => path.setAttribute("d", PATHS[which]);
  svg.show(name);
  return svg;
}

/** A menu under a quiet button: native details, closed by Escape, by a click elsewhere, and by `close()`. */
export function menu(label, title, ...children) {
  const summary = make("summary", { title, text: label });
  const panel = make("div", { class: "rp-menu" }, ...children);
  const details = make("details", { class: "rp-drop" }, summary, panel);
  details.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && details.open) {
      details.open = false;
      summary.focus();
      event.stopPropagation();
    }
  });
  details.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !details.contains(event.relatedTarget)) details.open = false;
  });
  details.closeOutside = (event) => {
    if (!details.contains(event.target)) details.open = false;
  };
  document.addEventListener("pointerdown", details.closeOutside);
  details.close = () => {
    details.open = false;
  };
  details.say = (text) => {
    summary.textContent = text;
  };
  return details;
}

/** A labelled select: options are [value, text] pairs. */
export function select(title, options, change) {
  const element = make("select", { title, "aria-label": title, change: () => change(element.value) });
  element.offer = (pairs, value = element.value) => {
    element.replaceChildren(...pairs.map(([key, text]) => make("option", { value: key, text })));
    element.value = value;
    if (element.selectedIndex < 0) element.selectedIndex = 0;
  };
  element.offer(options);
  return element;
}
