"use strict";

// Two entries side by side: paired tests on the same questions, and their scores by stratum.

const MEASURES = [
  { name: ["Hits@1", "Hits@1"], of: ({ first }) => first, ranked: true },
  { name: ["精确率 P", "P"], of: ({ right, items }) => (items ? right / items : 0) },
  { name: ["召回率 R", "R"], of: ({ right, golds }) => right / golds },
  { name: ["F1", "F1"], of: ({ right, items, golds }) => (2 * right) / (items + golds) },
  { name: ["完全匹配", "EM"], of: ({ right, items, golds }) => Number(right === items && right === golds) },
];

const comparable = () => data.entries.filter((entry) => entry.standing === "ranked");

async function outcomesOf(entry) {
  const { outcomes } = await load(entryPath(entry.id));
  return { kinds: outcomes.kinds, codes: await unpack(outcomes.codes) };
}

/** The values of all questions under one measure. */
function measured(measure, { kinds, codes }, golds) {
  const values = new Float64Array(codes.length);
  for (let i = 0; i < codes.length; i += 1) {
    const [first, right, items] = kinds[codes[i]];
    values[i] = measure.of({ first, right, items, golds: golds[i] });
  }
  return values;
}

async function compareEntries(a, b) {
  const [one, other, questions] = await Promise.all([outcomesOf(a), outcomesOf(b), load("questions.js")]);
  const [golds, groups] = await Promise.all([unpack(questions.golds), unpack(questions.groups)]);
  const isRanked = ({ kinds }) => kinds.every(([first]) => first >= 0);
  const ranked = isRanked(one) && isRanked(other);
  const measures = MEASURES.filter((measure) => ranked || !measure.ranked);
  const [left, right] = [one, other].map((outcomes) => measures.map((measure) => measured(measure, outcomes, golds)));
  return { measures, ranked, tests: pairedTests(left, right, groups) };
}

const signed = (value) => `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(100 * value).toFixed(2)}`;
const pValue = (p) => (p < 0.0001 ? "<0.0001" : p.toFixed(4));

function testsTable({ measures, tests }) {
  const heads = [
    ["指标", "Metric"], ["甲 %", "A %"], ["乙 %", "B %"], ["甲－乙", "A − B"], ["95% 置信区间", "95% interval"],
    ["p（置换）", "p (permutation)"], ["p（Holm）", "p (Holm)"], ["p（McNemar）", "p (McNemar)"], ["胜／平／负", "wins / ties / losses"],
  ];
  const body = tests.map((test, m) => {
    const cells = [
      percent(test.a), percent(test.b), signed(test.delta),
      test.bounds ? `[${test.bounds.map(signed).join(", ")}]` : "–", pValue(test.p), pValue(test.holm),
      test.mcnemar === null ? "–" : pValue(test.mcnemar), [test.wins, test.ties, test.losses].map(count).join(" / "),
    ];
    const row = make("tr", {}, make("th", { scope: "row" }, word(measures[m].name)));
    cells.forEach((text, at) => {
      const cell = make("td", { className: "right" }, text);
      [cell.dataset.labelZh, cell.dataset.labelEn] = heads[at + 1];
      row.append(cell);
    });
    if (test.holm <= 0.05) row.classList.add("significant");
    return row;
  });
  const head = heads.map((name, at) => make("th", { scope: "col", className: at ? "right" : "" }, word(name)));
  return make("table", { className: "entries tests" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body));
}

/** What the tests of two entries say in one sentence. */
function verdict({ measures, tests }, a, b) {
  const at = measures.findIndex(({ name }) => name[1] === "F1");
  const { delta, holm: p } = tests[at];
  const better = delta > 0 ? a : b;
  if (p > 0.05) return word(["F1 之差不显著（5%，Holm 校正）。", "The difference in F1 is not significant (5 %, Holm)."]);
  const by = Math.abs(100 * delta).toFixed(2);
  return word([`${better.title} 的 F1 显著较高，高 ${by} 个百分点。`, `${better.title} has the higher F1 by ${by} points, significantly.`]);
}

function strataTable(a, b) {
  const at = Math.max(0, data.main.indexOf(data.ranked_by));
  const metric = data.metrics[data.main[at]];
  return data.dimensions.map(([, zh, en, places]) => {
    const rows = places.map((place) => {
      const [one, other] = [a, b].map((entry) => entry.strata[at]?.[place] ?? null);
      const [name, n] = [data.strata[place].slice(0, 2), data.strata[place][2]];
      const both = one !== null && other !== null;
      const cells = [one, other].map((units) => make("td", { className: "right" }, units === null ? "–" : share(units)));
      const delta = make("td", { className: "right number" }, both ? signed((one - other) * UNIT) : "–");
      return make("tr", {}, make("th", { scope: "row" }, word(name)), ...cells, delta, make("td", { className: "right n" }, n === null ? "" : count(n)));
    });
    const head = [[zh, en], ["甲", "A"], ["乙", "B"], ["甲－乙", "A − B"], ["题数", "n"]];
    const heads = head.map((name, i) => make("th", { scope: "col", className: i ? "right" : "" }, word(name)));
    const table = make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows));
    return make("div", { className: "panel" }, make("h3", {}, word([`${metric.name[0]} % · ${zh}`, `${metric.name[1]} % · ${en}`])), table);
  });
}

const COMPARE_NOTE = [
  `区间：按事实组自助重抽样 ${count(RESAMPLES)} 次；置换检验：整组交换两系统，${count(SWAPS)} 次；Holm 校正针对本表各指标。McNemar 检验视各题为独立。`,
  `Intervals: ${count(RESAMPLES)} bootstrap resamples of fact groups. Permutation: the two systems are swapped on whole fact groups, ${count(SWAPS)} times. Holm over the metrics of this table. McNemar takes questions as independent.`,
];

function chooser(id, label, chosen, changed) {
  const options = comparable().map((entry) => make("option", { value: entry.id }, `${entry.title} [${entry.backbone}] ${entry.id.slice(-12)}`));
  const select = make("select", { id }, ...options);
  select.value = chosen.id;
  select.addEventListener("change", () => changed(select.value));
  return make("label", { className: "choice" }, word(label), select);
}

/** The view of a comparison; `ids` are those of the address, if any. */
function drawComparison(ids) {
  const all = comparable();
  if (data.withheld) return [make("p", { className: "note limited" }, word(["本榜标准答案不公开，不提供逐题比较。", "The gold of this board is withheld, so nothing can be compared question by question."]))];
  if (all.length < 2) return [make("p", { className: "note limited" }, word(["至少要有两份全量提交才能比较。", "It takes two full runs to compare."]))];
  const known = ids.map((id) => all.find((entry) => entry.id === id));
  const a = known[0] ?? all.find((entry) => entry !== known[1]);
  const b = known[1] ?? all.find((entry) => entry !== a);
  const go = (one, other) => { location.hash = `#compare/${encodeURIComponent(one)}/${encodeURIComponent(other)}`; };
  const swap = make("button", { type: "button", id: "swap" }, word(["互换", "Swap"]));
  swap.addEventListener("click", () => go(b.id, a.id));
  const chosen = make("div", { className: "chosen" }, chooser("compare-a", ["甲", "A"], a, (id) => go(id, b.id)), chooser("compare-b", ["乙", "B"], b, (id) => go(a.id, id)), swap);
  const result = make("div", { id: "comparison" }, word(["正在计算……", "Computing …"], { className: "note" }));
  result.setAttribute("aria-live", "polite");
  result.setAttribute("aria-busy", "true");
  const drawn = a === b
    ? Promise.resolve([word(["请选两份不同的提交。", "Choose two different entries."], { className: "note" })])
    : compareEntries(a, b).then((found) => [
      make("p", { className: "verdict" }, verdict(found, a, b)),
      testsTable(found),
      make("p", { className: "note" }, word(COMPARE_NOTE)),
      ...(found.ranked ? [] : [make("p", { className: "note" }, word(["有一方的答案未排序，故无 Hits@1。", "One of the two does not rank its answers, so there is no Hits@1."]))]),
      make("div", { className: "columns" }, ...strataTable(a, b)),
    ], () => [word(["数据载入失败。", "The data could not be loaded."], { className: "note limited" })]);
  drawn.then((nodes) => {
    result.replaceChildren(...nodes);
    result.removeAttribute("aria-busy");
  });
  return [chosen, result];
}
