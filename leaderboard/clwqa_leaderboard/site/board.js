"use strict";

// The page of a board: which view the address names, and the filters that the tables share.

let data = null;
const view = { name: "", tables: [] }; // tables: [table, entries that may stand in it]

const ENTRIES_PER_VIEW = {
  all: (entry) => entry.standing !== "sample",
  samples: (entry) => entry.standing === "sample",
};

// ---------------------------------------------------------------- views

function table(columns, sort, className, holds) {
  const made = new EntryTable(columns, sort, className);
  view.tables.push([made, holds]);
  return made;
}

const scroll = (node) => make("div", { className: "scroll", tabIndex: 0 }, node);

function drawRanking() {
  const sort = new Sort(data.ranked_by < 0 ? "name" : `metric-${data.ranked_by}`, data.ranked_by >= 0, refresh);
  const full = table(rankingColumns(false), sort, "cards", ENTRIES_PER_VIEW.all);
  offerSort(full.columns, sort);
  const nodes = [full.node, make("p", { className: "note" }, word(rankingNote()))];
  if (data.entries.some(ENTRIES_PER_VIEW.samples)) {
    const samples = table(rankingColumns(true), sort, "cards", ENTRIES_PER_VIEW.samples);
    nodes.push(make("section", { id: "samples" }, make("h2", {}, word(["抽样结果", "Samples"])),
      make("p", { className: "note" }, word(["只答了部分题目，与全量结果不可比，也不参加排名。", "Only a part of the questions was asked: not comparable with full runs, and never ranked with them."])),
      samples.node));
  }
  return nodes;
}

function rankingNote() {
  const name = data.metrics[data.ranked_by]?.name[1] ?? "F1";
  const ranks = data.withheld
    ? ["本榜标准答案不公开，故不计名次区间。", "The gold of this board is withheld, so there are no rank intervals."]
    : [`名次区间按 ${name}：与多少系统有显著差异（5%，两两配对检验，Holm 校正）。`,
      `Rank intervals are under ${name}: how many systems are significantly better and worse (5 %, paired tests of all pairs, Holm).`];
  return [
    `百分数；方括号为 95% 置信区间。${ranks[0]}调用、词元、秒与费用为每题平均。* 少于 30 题；§ 所有重抽样结果相同。`,
    `Per cent, with 95 % intervals in brackets. ${ranks[1]} Calls, tokens, seconds and cost are means per question. * fewer than 30 questions, § all resamples agree.`,
  ];
}

/** A table of coloured cells. */
function heat(title, columns, note) {
  if (!columns.length) return [];
  const sort = new Sort("", false, refresh); // in the order of the ranking
  const made = table([NAME, ...columns], sort, "heats", ENTRIES_PER_VIEW.all);
  return [make("h2", {}, word(title)), scroll(made.node), ...(note ? [make("p", { className: "note" }, word(note))] : [])];
}

function drawStrataView() {
  if (!data.dimensions.length) return [make("p", { className: "note" }, word(["还没有提交。", "There are no entries yet."]))];
  const chosen = view.metric ?? Math.max(0, data.main.indexOf(data.ranked_by));
  const options = data.main.map((metric, at) => say(make("option", { value: at }), data.metrics[metric].name));
  const select = make("select", { id: "metric" }, ...options);
  select.value = chosen;
  select.addEventListener("change", () => { view.metric = Number(select.value); route(); });
  const { name } = data.metrics[data.main[chosen]] ?? { name: ["", ""] };
  const label = make("label", { className: "choice" }, word(["指标", "Metric"]), select);
  return [label, ...data.dimensions.flatMap(([dimension, zh, en, places]) => heat(
    [`${name[0]} % · ${zh}`, `${name[1]} % · ${en}`],
    places.map((place) => {
      const [shortZh, shortEn, n] = data.strata[place];
      const cell = (entry) => (entry.strata[chosen]?.[place] === null ? null : [entry.strata[chosen]?.[place]]);
      return heatColumn(`${dimension}-${place}`, [shortZh, shortEn], cell, { n: n ?? undefined, title: n === null ? undefined : `n = ${count(n)}` });
    })))];
}

function drawStagesView() {
  const indicators = data.indicators.map((name, at) => heatColumn(`indicator-${at}`, name, (entry) => entry.indicators[at]));
  const losses = data.stages.map((name, at) => heatColumn(`stage-${at}`, name,
    (entry) => (entry.losses[at] === undefined || entry.losses[at] === null ? null : [Math.round(1000 * entry.losses[at])]),
    { worse: !name[1].startsWith("right") }));
  if (!indicators.length && !losses.length) return [make("p", { className: "note" }, word(["没有一份提交记录了各阶段。", "No entry recorded its stages."]))];
  return [
    ...heat(["分阶段指标 %", "Stage indicators, %"], indicators, ["– 表示该系统没有记录这一阶段。", "– means that the system did not record this stage."]),
    ...heat(["答案失于何处 %", "Where answers were lost, %"], losses, ["每题只归一处，各行合计 100%。", "Every question has one place; a row sums to 100 %."]),
  ];
}

function drawEvidenceView() {
  const places = (data.groups.find(([key]) => key === "evidence") ?? [])[3] ?? [];
  const columns = places.map((place) => {
    const { name, direction, canonical } = data.metrics[place];
    return heatColumn(`metric-${place}`, name, (entry) => entry.scores[place], { worse: direction < 0, title: canonical });
  });
  if (!columns.length) return [make("p", { className: "note" }, word(["没有一份提交给出了证据。", "No entry shows evidence."]))];
  return heat(["证据指标 %", "Evidence, %"], columns, ["↓ 越低越好；– 表示没有出示证据。", "↓ lower is better; – means that no evidence was shown."]);
}

const VIEWS = { ranking: drawRanking, strata: drawStrataView, stages: drawStagesView, evidence: drawEvidenceView };

// ---------------------------------------------------------------- filters

function passes(entry) {
  const chosen = (id) => find(id).value;
  if (entry.successor && !find("#old").checked) return false;
  if (entry.standing === "reference") return true; // a line to hold others against
  if (chosen("#model") && entry.model !== chosen("#model")) return false;
  if (chosen("#code") && entry.code !== chosen("#code")) return false;
  if (chosen("#backbone") && entry.backbone !== chosen("#backbone")) return false;
  const text = chosen("#text").trim().toLowerCase();
  return !text || [entry.title, entry.id, entry.backbone, entry.authors].some((said) => said.toLowerCase().includes(text));
}

function refresh() {
  const own = (entries) => entries.filter((entry) => entry.standing !== "reference").length;
  const passing = data.entries.filter(passes);
  for (const [made, holds] of view.tables) made.show(passing.filter(holds));
  say(find("#found"), [`${count(own(passing))} 份提交，共 ${count(own(data.entries))} 份`, `${count(own(passing))} of ${count(own(data.entries))} entries`]);
  if (view.name === "ranking") find("#sort").value = view.tables[0][0].sort.key;
}

function offerSort(columns, sort) {
  const select = find("#sort");
  select.replaceChildren(...columns.map(({ key, name }) => say(make("option", { value: key }), name)));
  select.onchange = () => sort.by(columns.find(({ key }) => key === select.value));
}

function fillFilters() {
  const numbers = new Map();
  for (const { backbone } of data.entries) numbers.set(backbone, (numbers.get(backbone) ?? 0) + 1);
  const names = [...numbers.keys()].sort(collator.compare);
  find("#backbone").append(...names.map((name) => make("option", { value: name }, `${name} (${numbers.get(name)})`)));
  find("#replaced").hidden = !data.entries.some((entry) => entry.successor);
}

// ---------------------------------------------------------------- addresses

/** Draw the view that the address names: #ranking, #strata, ..., #compare/A/B, #entry/ID. */
function route() {
  const [name, ...ids] = location.hash.slice(1).split("/").map(decoded);
  const focused = document.activeElement?.id;
  const isTable = Object.hasOwn(VIEWS, name);
  const known = isTable || name === "entry" || name === "compare" ? name : "ranking";
  const turned = known !== view.name;
  Object.assign(view, { name: known, tables: [] });
  const nodes = known === "entry" ? drawEntry(ids[0] ?? "") : known === "compare" ? drawComparison(ids) : VIEWS[known]();
  find("#view").replaceChildren(...nodes);
  for (const id of ["#filters", "#found"]) find(id).hidden = !Object.hasOwn(VIEWS, known);
  find("#filters .phone").hidden = known !== "ranking";
  for (const tab of every("#tabs a")) {
    if (tab.hash === `#${known}`) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  if (Object.hasOwn(VIEWS, known)) refresh();
  if (known === "entry") find("#main").focus({ preventScroll: true });
  else if (focused) document.getElementById(focused)?.focus();
  if (known === "entry" || (turned && scrollY > 0)) scrollTo(0, 0);
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // an address typed by hand
  }
}

function start() {
  data = received;
  if (!data) {
    find("#view").append(word(["数据载入失败。", "The data could not be loaded."], { className: "note limited" }));
    return;
  }
  const value = (entry) => entry.scores[data.ranked_by]?.[0] ?? -1;
  data.entries.sort((a, b) => value(b) - value(a) || collator.compare(a.title, b.title));
  data.entries.forEach((entry, place) => { entry.place = place; });
  fillFilters();
  find("#text").addEventListener("input", refresh);
  for (const id of ["#model", "#code", "#backbone", "#old"]) find(id).addEventListener("change", refresh);
  find("#filters").addEventListener("submit", (event) => event.preventDefault());
  find("#filters").addEventListener("reset", () => setTimeout(refresh));
  addEventListener("hashchange", route);
  route();
}

addEventListener("DOMContentLoaded", start);
