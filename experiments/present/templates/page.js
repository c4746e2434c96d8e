"use strict";
// Tips under the pointer: the marks of a figure are [x, y, text] in the units of its viewBox.
for (const figure of document.querySelectorAll("svg[data-marks]")) {
  const marks = JSON.parse(figure.dataset.marks), box = figure.parentElement;
  const tip = document.createElement("div"), dot = document.createElementNS(figure.namespaceURI, "circle");
  tip.className = "tip";
  tip.hidden = true;
  dot.setAttribute("r", 4);
  dot.setAttribute("fill", "none");
  dot.setAttribute("stroke", "currentColor");
  dot.setAttribute("visibility", "hidden");
  figure.append(dot);
  box.append(tip);
  const hide = () => { tip.hidden = true; dot.setAttribute("visibility", "hidden"); };
  const show = (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(figure.getScreenCTM().inverse());
    const far = (mark) => Math.hypot(mark[0] - at.x, mark[1] - at.y);
    const [x, y, text] = marks.reduce((a, b) => (far(b) < far(a) ? b : a));
    if (far([x, y]) > 60) return hide();
    dot.setAttribute("cx", x);
    dot.setAttribute("cy", y);
    dot.setAttribute("visibility", "visible");
    tip.textContent = text;
    tip.hidden = false;
    const scale = figure.clientWidth / figure.viewBox.baseVal.width;
    tip.style.left = Math.max(0, Math.min(x * scale + 10, box.clientWidth - tip.offsetWidth)) + "px";
    tip.style.top = y * scale + 12 + "px";
  };
  figure.addEventListener("pointermove", show);
  figure.addEventListener("pointerdown", show);
  figure.addEventListener("pointerleave", hide);
}
// Tables with several rows are sorted by the column whose heading is pressed; numbers as numbers, missing ones last.
const value = (row, column) => row.cells[column].textContent.trim();
const size = (text) => {
  const digits = text.replace(/^[^\d\u221e\u2212-]+/, "").replaceAll(",", "");
  return /^[-\u2212]?\u221e/.test(digits) ? (digits[0] === "\u221e" ? 1 : -1) * Infinity : parseFloat(digits);
};
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  if (!table.tHead || body.rows.length < 2) continue;
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const sort = () => {
      const up = heading.getAttribute("aria-sort") !== "ascending";
      const numeric = heading.classList.contains("number");
      const missing = (text) => numeric && Number.isNaN(size(text));
      const order = (a, b) => {
        const [first, second] = [value(a, column), value(b, column)];
        if (missing(first) || missing(second)) return missing(first) - missing(second);
        const before = numeric
          ? (size(first) === size(second) ? 0 : size(first) - size(second))
          : first.localeCompare(second, "en", { numeric: true });
        return up ? before : -before;
      };
      body.append(...[...body.rows].sort(order));
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    };
    heading.classList.add("sorts");
    heading.tabIndex = 0;
    heading.title = "Sort by this column";
    heading.addEventListener("click", sort);
    heading.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(); }
    });
  });
}
// A line at the right edge of a table that goes on beyond it.
const wide = [...document.querySelectorAll(".wide")];
const drawings = [...document.querySelectorAll(".drawing")];  // the keyboard scrolls those that are too wide
const goesOn = (box) => box.scrollWidth > box.clientWidth + 1;
const mark = () => {
  wide.forEach((box) => box.classList.toggle("more", goesOn(box)));
  drawings.forEach((box) => { box.tabIndex = goesOn(box) ? 0 : -1; });
};
addEventListener("resize", mark);
mark();
