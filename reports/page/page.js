"use strict";
// The table of transitions: filtered, sorted; only visible rows are in the document.
(() => {
  const found = document.getElementById("data");
  const view = document.getElementById("view");
  if (!found || !view) return;
  const { columns, texts, outcomes, reasons, words, arrows } = JSON.parse(found.textContent);
  const names = ["instance", "before", "input", "answers", "rules", "after"];
  const HIGH = 27;
  const $ = (id) => document.getElementById(id);
  const grid = $("grid"), body = $("rows"), count = $("count"), transition = $("transition");
  const search = $("search"), byInstance = $("by-instance"), byKind = $("by-kind"), byArrow = $("by-arrow");
  const lower = Object.fromEntries(names.map((name) => [name, texts[name].map((text) => text.toLowerCase())]));
  const passes = texts.arrows.map((text) => new Set(text.split(" ").filter(Boolean)));
  let rows = [], sorted = { by: null, down: false }, chosen = -1;

  const text = (name, row) => texts[name][columns[name][row]];

  // Every word has to be in some column. Each text is searched once, not once for each row.
  function matching() {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const has = wanted.map((word) => names.map((name) => lower[name].map((each) => each.includes(word))));
    const result = [];
    for (let row = 0; row < outcomes.length; row++) {
      if (byKind.value && !byKind.value.includes(outcomes[row])) continue;
      if (byInstance.value && text("instance", row) !== byInstance.value) continue;
      if (byArrow.value && !passes[columns.arrows[row]].has(byArrow.value)) continue;
      if (has.every((each) => each.some((column, at) => column[columns[names[at]][row]]))) result.push(row);
    }
    return result;
  }

  function ranks(name) {
    const order = texts[name].map((_, at) => at).sort((a, b) => (texts[name][a] < texts[name][b] ? -1 : 1));
    const rank = [];
    order.forEach((at, place) => { rank[at] = place; });
    return (row) => rank[columns[name][row]];
  }

  function update() {
    rows = matching();
    if (sorted.by) {
      const key = sorted.by === "kind" ? (row) => outcomes.charCodeAt(row) : ranks(sorted.by);
      const way = sorted.down ? -1 : 1;
      rows.sort((a, b) => way * (key(a) - key(b)) || a - b);
    }
    chosen = -1;
    transition.replaceChildren();
    count.textContent = `${rows.length.toLocaleString("en")} of ${outcomes.length.toLocaleString("en")} transitions`;
    body.style.height = `${rows.length * HIGH}px`;
    grid.setAttribute("aria-rowcount", rows.length + 1);
    view.scrollTop = 0;
    draw();
  }

  function draw() {
    const first = Math.max(Math.floor(view.scrollTop / HIGH) - 5, 0);
    const last = Math.min(Math.ceil((view.scrollTop + view.clientHeight) / HIGH) + 5, rows.length);
    const drawn = [];
    for (let place = first; place < last; place++) drawn.push(line(place));
    body.replaceChildren(...drawn);
    const active = $(`row-${chosen}`);
    if (active) grid.setAttribute("aria-activedescendant", active.id);
    else grid.removeAttribute("aria-activedescendant");
  }

  function line(place) {
    const row = rows[place], made = document.createElement("div");
    made.className = place === chosen ? "row chosen" : "row";
    made.id = `row-${place}`;
    made.style.top = `${place * HIGH}px`;
    made.setAttribute("role", "row");
    made.setAttribute("aria-rowindex", place + 2);
    made.setAttribute("aria-selected", place === chosen);
    made.append(cell(words[outcomes[row]], `kind-${outcomes[row]}`), ...names.map((name) => cell(text(name, row))));
    made.addEventListener("click", () => choose(place));
    return made;
  }

  function cell(what, kind) {
    const made = document.createElement("div");
    made.setAttribute("role", "gridcell");
    made.textContent = made.title = what;
    if (kind) made.className = kind;
    return made;
  }

  function choose(place) {
    chosen = Math.min(Math.max(place, 0), rows.length - 1);
    if (chosen < 0) return;
    const top = chosen * HIGH;
    if (top < view.scrollTop) view.scrollTop = top;
    if (top + HIGH > view.scrollTop + view.clientHeight) view.scrollTop = top + HIGH - view.clientHeight;
    draw();
    const row = rows[chosen], list = document.createElement("dl");
    const rules = text("rules", row).split(", ").map((rule) => `${rule}: ${reasons[rule] || ""}`);
    const passed = [...passes[columns.arrows[row]]].map((at) => arrows[at]);
    for (const [term, lines] of [
      [words[outcomes[row]], [text("instance", row)]], ["before", [text("before", row)]], ["input", [text("input", row)]],
      ["Kafka's answers", [text("answers", row)]], ["rules applied", rules], ["after", [text("after", row)]],
      ["group transitions", passed.length ? passed : ["none"]],
    ]) {
      const name = document.createElement("dt");
      name.textContent = term;
      list.append(name, ...lines.map((each) => {
        const made = document.createElement("dd");
        made.textContent = each;
        return made;
      }));
    }
    transition.replaceChildren(list);
  }

  view.addEventListener("scroll", draw, { passive: true });
  grid.addEventListener("keydown", (event) => {
    const page = Math.floor(view.clientHeight / HIGH);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -rows.length, End: rows.length };
    if (!(event.key in moves)) return;
    event.preventDefault();
    choose(chosen + moves[event.key]);
  });
  for (const each of [search, byInstance, byKind, byArrow]) each.addEventListener("input", update);
  for (const button of document.querySelectorAll("[data-sort]")) {
    button.addEventListener("click", () => {
      const by = button.dataset.sort;
      sorted = { by, down: sorted.by === by && !sorted.down };
      for (const other of document.querySelectorAll("[data-sort]")) other.parentElement.removeAttribute("aria-sort");
      button.parentElement.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
      update();
    });
  }
  for (const button of document.querySelectorAll("[data-transitions-of]")) {
    button.addEventListener("click", () => {
      byArrow.value = button.dataset.transitionsOf;
      update();
      $("transitions").scrollIntoView();
      grid.focus({ preventScroll: true });
    });
  }
  update();
})();

// The graph: a click or Enter on an arrow opens its rules and their witnesses.
(() => {
  const arrows = document.querySelectorAll(".graph .arrow");
  const show = (arrow) => {
    for (const other of document.querySelectorAll(".chosen.arrow, details.chosen")) other.classList.remove("chosen");
    const details = document.getElementById(`arrow-${arrow.dataset.arrow}`);
    arrow.classList.add("chosen");
    details.classList.add("chosen");
    details.open = true;
    details.scrollIntoView({ block: "nearest" });
    details.querySelector("summary").focus({ preventScroll: true });
  };
  for (const arrow of arrows) {
    arrow.setAttribute("tabindex", "0");
    arrow.setAttribute("role", "button");
    arrow.setAttribute("aria-controls", `arrow-${arrow.dataset.arrow}`);
    arrow.addEventListener("click", () => show(arrow));
    arrow.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      show(arrow);
    });
  }
  const graph = document.querySelector(".graph");
  if (graph) graph.setAttribute("role", "group");
  addEventListener("beforeprint", () => {
    for (const each of document.querySelectorAll("details")) each.open = true;
  });
})();

// The code: a click or Enter on a line lists the transitions that execute it.
(() => {
  const found = document.getElementById("ran");
  if (!found) return;
  const { transitions, sets } = JSON.parse(found.textContent);
  const show = (line) => {
    for (const other of document.querySelectorAll(".source .transitions-of-line, .source .chosen")) {
      if (other.classList.contains("transitions-of-line")) other.remove();
      else other.classList.remove("chosen");
    }
    const row = document.createElement("tr"), list = document.createElement("ul"), place = document.createElement("td");
    row.className = "transitions-of-line";
    place.colSpan = 3;
    list.append(...sets[line.dataset.set].map((number) => {
      const made = document.createElement("li");
      made.textContent = transitions[number];
      return made;
    }));
    place.append(list);
    row.append(place);
    line.classList.add("chosen");
    line.after(row);
  };
  for (const table of document.querySelectorAll(".source")) {
    table.addEventListener("click", (event) => {
      const line = event.target.closest("tr[data-set]");
      if (line) show(line);
    });
    table.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.target.matches("tr[data-set]")) show(event.target);
    });
  }
})();
