"use strict";

// Sortable tables of entries: the ranking, and the views in which columns are strata, stages or evidence.

const STEP = 100; // rows that are drawn at a time
const collator = new Intl.Collator("zh-Hans", { numeric: true });

/** A link to the page of an entry, with what must be known of it. */
function entryLink(entry) {
  const link = make("a", { href: `#entry/${encodeURIComponent(entry.id)}`, className: "title" }, entry.title);
  const marks = make("span", { className: "marks" });
  if (entry.standing === "reference") marks.append(" ", word(["参照线", "reference"], { className: "mark" }));
  if (entry.successor) marks.append(" ", word(["已被取代", "superseded"], { className: "mark" }));
  if (entry.signed) marks.append(" ", word(["已签名", "signed"], { className: "mark" }));
  return [link, marks, make("span", { className: "id" }, entry.system)];
}

const OPENNESS = { none: ["无", "none"], open: ["开放", "open"], closed: ["封闭", "closed"] };

const NAME = {
  key: "name", name: ["系统", "System"], value: (entry) => entry.title, text: true, draw: (value, entry) => entryLink(entry),
};

const openness = (key, name) => ({
  key, name, value: (entry) => entry[key], text: true, draw: (value) => [word(OPENNESS[value])],
});

const costColumn = (key, name, value, title) => ({ key, name, value, title, draw: (number) => [figures(number)], up: true });

/** A share with its interval below, and a bar if there is room for one. */
function drawCell(cell, barred, questions) {
  if (!cell) return ["–"];
  const n = cell[3] ?? questions;
  const small = n < data.small ? [make("abbr", { title: `n = ${n}` }, "*")] : [];
  return [
    make("span", { className: "number" }, share(cell[0])), ...small, " ",
    make("span", { className: "interval" }, spread(cell)), ...(barred ? [cellBar(cell)] : []),
  ];
}

const metricColumn = (metric, barred = false) => {
  const { canonical, name, direction } = data.metrics[metric];
  return {
    key: `metric-${metric}`, name, title: canonical, up: direction < 0,
    value: (entry) => entry.scores[metric]?.[0] ?? null,
    draw: (value, entry) => drawCell(entry.scores[metric], barred, entry.questions),
  };
};

/** A column of coloured cells; `cell` gives [value, ...] or null, `worse` says that less is better. */
const heatColumn = (key, name, cell, options = {}) => ({
  key, name, ...options, up: options.worse, heat: true,
  value: (entry) => cell(entry)?.[0] ?? null,
  draw: (value, entry) => {
    const found = cell(entry);
    const n = options.n ?? found?.[3] ?? entry.questions;
    return found ? [share(value), ...(n < data.small ? [make("abbr", { title: `n = ${n}` }, "*")] : [])] : ["–"];
  },
});

function tokens(entry) {
  return entry.cost[2] + entry.cost[3];
}

/** Columns of the ranking; samples have a size in place of a rank. */
function rankingColumns(sample) {
  const place = sample
    ? { key: "size", name: ["抽样", "Sample"], value: (entry) => entry.questions, draw: (n) => [`${count(n)} / ${count(data.questions)}`] }
    : { key: "rank", name: ["名次", "Rank"], title: data.metrics[data.ranked_by]?.canonical, up: true,
      value: (entry) => entry.rank?.[0] ?? null, draw: (value, entry) => [ranks(entry.rank)] };
  return [
    place,
    NAME,
    { key: "backbone", name: ["后端", "Back-end"], value: (entry) => entry.backbone, text: true, draw: (value) => [value] },
    openness("model", ["模型", "Model"]),
    openness("code", ["代码", "Code"]),
    ...data.ranking.map((metric) => metricColumn(metric, metric === data.ranked_by)),
    costColumn("calls", ["调用", "Calls"], (entry) => entry.cost[0], ["每题模型调用次数", "model calls per question"]),
    costColumn("tokens", ["词元", "Tokens"], tokens, ["每题词元，入与出", "tokens per question, in and out"]),
    costColumn("seconds", ["秒", "Seconds"], (entry) => entry.cost[4], ["每题秒数", "seconds per question"]),
    costColumn("cost", ["$／千题", "$ / 1,000"], (entry) => 1000 * entry.cost[5], ["每千题费用，美元", "US dollars per 1,000 questions"]),
  ];
}

/** The table of some entries.  `sort` is shared by the tables of a view: { key, down }. */
class EntryTable {
  constructor(columns, sort, className) {
    this.columns = columns;
    this.sort = sort;
    this.rows = new Map(); // by entry id, made when first shown
    this.heads = columns.map((column) => this.head(column));
    this.body = make("tbody");
    const head = make("thead", {}, make("tr", {}, ...this.heads));
    this.limit = STEP;
    this.more = make("tfoot", {}, make("tr", {}, make("td", { colSpan: columns.length }, this.moreButton())));
    this.node = make("table", { className: `entries ${className}` }, head, this.body, this.more);
  }

  moreButton() {
    const button = make("button", { type: "button" }, word(["再列一百", "Show 100 more"]));
    button.addEventListener("click", () => {
      this.limit += STEP;
      this.sort.changed();
    });
    return button;
  }

  head(column) {
    const sorter = make("button", { type: "button", className: "quiet" }, word(column.name));
    sorter.addEventListener("click", () => this.sort.by(column));
    const head = make("th", { scope: "col", className: column.text ? "" : "right" }, sorter);
    if (column.title) head.title = [column.title].flat().join(" · ");
    head.dataset.column = column.key;
    return head;
  }

  row(entry) {
    const row = make("tr", { className: entry.standing + (entry.successor ? " replaced" : "") });
    for (const column of this.columns) row.append(this.cell(column, entry));
    return row;
  }

  cell(column, entry) {
    const value = column.value(entry);
    const cell = make(column.key === "name" ? "th" : "td", {}, ...(value === null ? ["–"] : column.draw(value, entry)));
    if (column.key === "name") cell.scope = "row";
    cell.classList.add(column.text ? "text" : "right");
    if (column.heat && value !== null) {
      cell.classList.add("heat", ...(column.worse ? ["worse"] : []));
      cell.style.setProperty("--heat", `${(100 * UNIT * value).toFixed(1)}%`);
    }
    [cell.dataset.labelZh, cell.dataset.labelEn] = column.name;
    cell.dataset.column = column.key;
    return cell;
  }

  show(entries) {
    const column = this.columns.find(({ key }) => key === this.sort.key);
    const sorted = column ? sortedBy(entries, column, this.sort.down) : entries;
    this.more.hidden = sorted.length <= this.limit;
    this.body.replaceChildren(...sorted.slice(0, this.limit).map((entry) => {
      if (!this.rows.has(entry.id)) this.rows.set(entry.id, this.row(entry));
      return this.rows.get(entry.id);
    }));
    for (const head of this.heads) {
      const on = head.dataset.column === this.sort.key;
      if (on) head.setAttribute("aria-sort", this.sort.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
  }
}

/** Entries by a column; those without a value come last either way, and equal ones by the ranking. */
function sortedBy(entries, column, down) {
  const sign = down ? -1 : 1;
  return [...entries].sort((one, other) => {
    const [a, b] = [column.value(one), column.value(other)];
    if (a === null || b === null) return (a === null) - (b === null) || one.place - other.place;
    return sign * (column.text ? collator.compare(a, b) : a - b) || one.place - other.place;
  });
}

/** By which column, and in which direction; `changed` is called after each change. */
class Sort {
  constructor(key, down, changed) {
    Object.assign(this, { key, down, changed });
  }

  by(column) {
    this.down = column.key === this.key ? !this.down : !column.text && !column.up;
    this.key = column.key;
    this.changed();
  }
}
