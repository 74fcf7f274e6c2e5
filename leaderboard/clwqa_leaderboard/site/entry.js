"use strict";

// The page of one entry: who made it and how, every number, and some questions it did not get right.

const SIGNS = { right: "✓", partly: "◐", wrong: "✗", failed: "–" };
const entryPath = (id) => `entries/${encodeURIComponent(id)}.js`;
const panel = (title, ...content) => make("section", { className: "panel" }, make("h3", {}, word(title)), ...content);

function definitions(rows) {
  const shown = rows.filter(([, value]) => value !== "" && value !== null);
  return make("dl", { className: "identity" }, ...shown.map(([name, value]) => make("div", {}, make("dt", {}, word(name)), make("dd", {}, value))));
}

function drawIdentity(entry, more) {
  const { manifest } = more;
  return definitions([
    [["系统", "System"], entry.system],
    [["基座模型", "Backbone"], entry.backbone],
    [["模型", "Model"], word(OPENNESS[entry.model])],
    [["代码", "Code"], word(OPENNESS[entry.code])],
    [["题数", "Questions"], `${count(entry.questions)} / ${count(data.questions)}`],
    [["代码版本", "Code version"], manifest.code_version],
    [["种子", "Seed"], String(manifest.seed)],
    [["由谁签名", "Signed by"], entry.signed],
  ]);
}

/** What must be known before any number: not the whole split, gold used, replaced by another entry. */
function drawStanding(entry, more) {
  const notes = [];
  if (entry.standing === "sample") notes.push(word([
    `抽样结果：只答了 ${count(data.questions)} 题中的 ${count(entry.questions)} 题，不与全量结果排名。`,
    `A sample: ${count(entry.questions)} of ${count(data.questions)} questions were asked. It is not ranked with full runs.`,
  ]));
  if (entry.standing === "reference") notes.push(word(["参照线，不参加排名。", "A reference line; it has no rank."]));
  if (more.manifest.oracle.length) notes.push(word([`部分阶段用了标准答案：${more.manifest.oracle.join("、")}`, `Gold was used for: ${more.manifest.oracle.join(", ")}`]));
  if (entry.rank) notes.push(word([
    `可能的名次：${ranks(entry.rank)}（5%，Holm 校正）`, `Possible ranks: ${ranks(entry.rank)} (5 %, Holm)`,
  ]));
  const linked = (text, id) => make("span", {}, word(text), " ", make("a", { href: `#entry/${encodeURIComponent(id)}` }, id));
  if (entry.successor) notes.push(linked(["已被取代：", "Superseded by"], entry.successor));
  const old = data.entries.find(({ successor }) => successor === entry.id);
  if (old) notes.push(linked(["取代：", "Supersedes"], old.id));
  return notes.map((note) => make("p", { className: "note limited" }, note));
}

function metricRows(entry, places) {
  const rows = places.filter((place) => entry.scores[place]).map((place) => {
    const cell = entry.scores[place];
    const { canonical, name } = data.metrics[place];
    return make("tr", {},
      make("th", { scope: "row", title: canonical }, word(name)),
      make("td", { className: "right" }, ...drawCell(cell, false, entry.questions)),
      make("td", { className: "wide" }, cellBar(cell)),
      make("td", { className: "right n" }, count(cell[3] ?? entry.questions)));
  });
  const heads = [[["指标", "Metric"], ""], [["%", "%"], "right"], [["", ""], "wide"], [["n", "n"], "right"]];
  const head = heads.map(([name, className]) => make("th", { className, scope: "col" }, word(name)));
  return make("table", { className: "metrics" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
}

function drawMetrics(entry, more) {
  const groups = data.groups.filter(([, , , places]) => places.some((place) => entry.scores[place]));
  const tables = groups.flatMap(([, zh, en, places]) => [make("h3", {}, word([zh, en])), metricRows(entry, places)]);
  const note = word(["细条为 95% 置信区间，按事实组自助重抽样；* 少于 30 题；§ 所有重抽样结果相同。",
    "The thin bar is the 95 % interval from a bootstrap of fact groups; * fewer than 30 questions, § all resamples agree."]);
  return make("section", { className: "panel" }, ...tables, make("p", { className: "note" }, note), ...drawNotes(more));
}

function drawNotes({ notes, left_out: leftOut }) {
  const lines = notes.map((pair) => make("li", {}, word(pair)));
  for (const [reason, metrics] of Object.entries(leftOut)) {
    const names = metrics.flatMap((metric, at) => [...(at ? [", "] : []), make("code", {}, metric)]);
    lines.push(make("li", {}, word(["未计算：", "Left out:"]), " ", ...names, `: ${reason}`));
  }
  return lines.length ? [make("ul", { className: "notes" }, ...lines)] : [];
}

/** A table of shares: [name, how many, per cent, whether that is good]. */
function sharesTable(rows) {
  return make("table", { className: "losses" }, make("tbody", {}, ...rows.map(([name, n, percentage, good]) => make("tr", {},
    make("th", { scope: "row" }, word(name)), make("td", { className: "right" }, count(n)),
    make("td", { className: "right n" }, `${percentage.toFixed(1)} %`),
    make("td", { className: "wide" }, bar("bar", [["track", 0, 100], [good ? "value" : "lost", 0, percentage]]))))));
}

function drawStages(entry, more) {
  const panels = [panel(["作答状态", "What became of the questions"], sharesTable(
    Object.entries(more.statuses).map(([status, n]) => [data.statuses[status] ?? [status, status], n, (100 * n) / entry.questions, status === "ok"])))];
  if (more.waterfall.length) panels.push(panel(["答案失于何处", "Where answers were lost"], sharesTable(
    more.waterfall.map(([stage, n, percentage]) => [data.stages[stage], n, percentage, data.stages[stage][1].startsWith("right")]))));
  const traced = [...data.indicators.keys()].filter((place) => entry.indicators[place]);
  if (traced.length) panels.push(panel(["分阶段指标", "Stage indicators"], make("table", { className: "metrics" }, make("tbody", {}, ...traced.map((place) => make("tr", {},
    make("th", { scope: "row" }, word(data.indicators[place])),
    make("td", { className: "right" }, ...drawCell(entry.indicators[place], false, entry.questions)),
    make("td", { className: "wide" }, cellBar(entry.indicators[place])),
    make("td", { className: "right n" }, count(entry.indicators[place][3] ?? entry.questions))))))));
  return panels;
}

function drawCost(entry) {
  const [calls, cached, tokensIn, tokensOut, seconds, cost] = entry.cost;
  return panel(["每题用量", "What a question takes"], definitions([
    [["模型调用", "Model calls"], figures(calls)],
    [["其中来自缓存", "Of them from a cache"], figures(cached)],
    [["词元入／出", "Tokens in / out"], `${figures(tokensIn)} / ${figures(tokensOut)}`],
    [["秒", "Seconds"], figures(seconds)],
    [["美元／千题", "US dollars / 1,000"], figures(1000 * cost)],
  ]));
}

const TEST_SEEN = { no: ["否", "no"], yes: ["是", "yes"], unknown: ["不详", "unknown"] };

function drawDisclosure(more) {
  const said = more.disclosure;
  const rows = Object.entries(data.disclosed).flatMap(([key, name]) => {
    const text = key === "test_seen" ? word(TEST_SEEN[said[key]]) : said[key];
    return text ? [make("dt", {}, word(name)), make("dd", {}, text)] : [];
  });
  if (/^https?:\/\//.test(said.url)) {
    const link = make("a", { href: said.url, rel: "nofollow noopener noreferrer", target: "_blank" }, said.url);
    rows.push(make("dt", {}, word(["论文或代码", "Paper or code"])), make("dd", {}, link));
  }
  return panel(["提交者的说明", "As the submitter says"], make("dl", { className: "form" }, ...rows));
}

function drawBundle(entry, more) {
  const name = `${entry.id}/${data.bundle}`;
  const address = `${data.bundles}/${encodeURIComponent(entry.id)}/${data.bundle}`;
  const file = /^https?:\/\//.test(data.bundles) ? make("a", { href: address, rel: "noopener" }, name) : make("code", {}, name);
  const { manifest } = more;
  const config = manifest.config ? [make("details", {}, make("summary", {}, word(["全部设置", "All settings"])),
    make("pre", { tabIndex: 0 }, manifest.config),
    ...(manifest.more_config ? [make("p", { className: "note" }, word(["此处未列全，余见提交包；未列字符数", "Cut here, the rest is in the bundle; characters not shown"]), ` ${count(manifest.more_config)}`)] : []))] : [];
  const remarks = more.remarks.map(([what, ids]) => make("li", {}, what, ids.length ? make("span", { className: "n" }, ` ${ids.join(", ")}`) : null));
  return panel(["提交包", "Bundle"],
    definitions([[["文件", "File"], file], [["文件 SHA-256", "SHA-256 of the file"], make("code", {}, more.sha256)], [["内容摘要", "Digest of the contents"], make("code", {}, more.contents)]]),
    ...(remarks.length ? [make("h3", {}, word(["核验备注", "Remarks of the verification"])), make("ul", { className: "notes" }, ...remarks)] : []),
    ...config);
}

function drawStrata(entry, more) {
  return data.dimensions.flatMap(([dimension, zh, en, places]) => {
    const present = places.filter((place) => more.strata.some((cells) => cells[place]));
    if (!present.length) return [];
    const heads = data.main.map((metric) => make("th", { scope: "col" }, word(data.metrics[metric].name), " ", make("span", { className: "interval" }, "%")));
    const rows = present.map((place) => make("tr", {},
      make("th", { scope: "row" }, word(data.strata[place].slice(0, 2))),
      ...more.strata.map((cells) => make("td", {}, ...drawCell(cells[place], true, entry.questions))),
      make("td", { className: "right n" }, count((more.strata.find((cells) => cells[place])[place])[3] ?? entry.questions))));
    const head = make("thead", {}, make("tr", {}, make("td"), ...heads, make("th", { scope: "col", className: "right" }, "n")));
    const open = dimension === "hops" || dimension === "category";
    return [make("details", { className: "panel", open }, make("summary", {}, make("h3", {}, word([zh, en]))), make("table", { className: "strata" }, head, make("tbody", {}, ...rows)))];
  });
}

function drawMiss([id, answers, kind, status, lost], questions) {
  const [text, gold, strata] = questions[id];
  const mark = make("span", { className: `${kind}-mark` }, SIGNS[kind]);
  const given = answers.length ? answers.join("；") : word(data.statuses[status] ?? [status, status]);
  const tags = make("p", { className: "tags" }, word(data.verdicts[kind]), ` · ${id}`);
  for (const [, zh, en, places] of data.dimensions) {
    const [nameZh, nameEn] = data.strata[places.find((place) => strata.includes(place))] ?? [];
    if (nameZh) tags.append(" · ", word([`${zh}：${nameZh}`, `${en}: ${nameEn}`]));
  }
  if (lost >= 0) tags.append(" · ", word([`失于：${data.stages[lost][0]}`, `lost at: ${data.stages[lost][1]}`]));
  return make("li", {},
    make("p", { className: "asked", lang: "zh-Hans" }, mark, " ", text),
    make("p", { lang: "zh-Hans" }, word(["标准答案：", "Gold: "], { className: "n" }), gold.join("；")),
    make("p", { lang: "zh-Hans" }, word(["系统答案：", "Answers: "], { className: "n" }), given),
    tags);
}

function drawMisses(more, questions) {
  if (data.withheld) return [];
  const list = more.misses.map((miss) => drawMiss(miss, questions.shown));
  const note = word(["各系统按同一次序取题，最多 20 题。", "Taken in the same order for every system, 20 at most."]);
  return [make("h2", {}, word(["未答对之例", "Questions not answered right"])),
    ...(list.length ? [make("p", { className: "note" }, note), make("ol", { className: "misses panel" }, ...list)]
      : [make("p", { className: "note" }, word(["没有。", "None."]))])];
}

/** The page of an entry, as soon as its data are there. */
function drawEntry(id) {
  const entry = data.entries.find((one) => one.id === id);
  if (!entry) return [make("p", { className: "note limited" }, word(["本榜没有这份提交：", "This board has no such entry:"]), ` ${id}`)];
  const rest = make("div", {}, word(["正在载入……", "Loading …"], { className: "note" }));
  rest.setAttribute("aria-busy", "true");
  const other = comparable().find((one) => one !== entry);
  const compare = entry.standing === "ranked" && !data.withheld && other
    ? [make("a", { className: "button", href: `#compare/${encodeURIComponent(id)}/${encodeURIComponent(other.id)}` }, word(["与另一份比较", "Compare with another"]))] : [];
  Promise.all([load(entryPath(id)), load("questions.js")]).then(([more, questions]) => [
    ...drawStanding(entry, more),
    drawIdentity(entry, more),
    make("div", { className: "columns" }, drawMetrics(entry, more), ...drawStages(entry, more), drawCost(entry), drawDisclosure(more), drawBundle(entry, more)),
    ...drawStrata(entry, more),
    ...drawMisses(more, questions),
  ], () => [word(["数据载入失败。", "The data could not be loaded."], { className: "note limited" })]).then((nodes) => {
    rest.replaceChildren(...nodes);
    rest.removeAttribute("aria-busy");
  });
  const back = make("p", { className: "back" }, make("a", { href: "#ranking" }, "← ", word(["排行", "Ranking"])));
  return [back, make("div", { className: "heading" }, make("h2", {}, entry.title, " ", make("small", {}, entry.id)), ...compare), rest];
}
