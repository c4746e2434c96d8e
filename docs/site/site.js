"use strict";
// The keyboard scrolls a table that is wider than the page.
const boxes = [...document.querySelectorAll(".table-wrapper")];
const mark = () => boxes.forEach((box) => { box.tabIndex = box.scrollWidth > box.clientWidth ? 0 : -1; });
addEventListener("resize", mark);
mark();
