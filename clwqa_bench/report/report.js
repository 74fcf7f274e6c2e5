"use strict";

// The questions of a report: which are listed, one of them in full, and the choice of run.

const data = JSON.parse(document.getElementById("data").textContent);
const PAGE = 50;
const SIGNS = ["✓", "◐", "✗", "–"];
const WORDS = {
  gold: ["标准答案", "Gold answers"],
  answers: ["系统答案", "Answers given"],
  goldPath: ["标准路径", "Gold path"],
  evidence: ["系统出示的证据", "Evidence shown"],
  others: ["其他系统", "Other runs"],
  raw: ["原始输出", "Raw answer"],
  error: ["错误信息", "Error"],
  usage: ["用量", "Usage"],
  flags: ["标记", "Flags"],
  close: ["关闭", "Close"],
  previous: ["上一题", "Previous"],
  next: ["下一题", "Next"],
  status: ["状态", "Status"],
  lost: ["失于", "Lost at"],
  any: ["不限", "any"],
  all: ["全部", "all"],
  credited: ["判对，对应：", "credited to"],
  notCredited: ["未判对", "not credited"],
  ambiguous: ["未判对：多个实体同名，且答案未带标准答案的编号", "not credited: several entities bear this name and the answer has no id of a gold"],
  repeated: ["重复，不计", "said before, not counted"],
  missed: ["未答出", "not found"],
  noAnswer: ["没有答案", "no answer"],
  noEvidence: ["没有出示证据", "no evidence shown"],
  more: ["其余未列出：", "more, not listed:"],
  unknown: ["图谱中没有", "not in the graph"],
  calls: ["次调用", "calls"],
  cached: ["次来自缓存", "from the cache"],
  tokens: ["词元 入/出", "tokens in/out"],
  copied: ["已复制", "Copied"],
};

const number = (n) => n.toLocaleString("en-US");

// ---------------------------------------------------------------- which questions

const state = { run: 0, verdict: -1, status: "", lost: "", strata: [], text: "", page: 0 };
let matching = []; // positions in data.questions

const searchable = data.questions.map(() => []); // by question, by run: lower-case text, made when first needed

function textOf(place) {
  return (searchable[place][state.run] ??= JSON.stringify([
    data.questions[place].id,
    data.questions[place].text,
    data.questions[place].gold.map(([label]) => label),
    (data.runs[state.run][place].answers ?? []).map(([text]) => text),
  ]).toLowerCase());
}

function passes(place, withVerdict) {
  const item = data.runs[state.run][place];
  if (withVerdict && state.verdict >= 0 && item.verdict !== state.verdict) return false;
  if (state.status && item.status !== state.status) return false;
  if (state.lost && item.lost !== state.lost) return false;
  if (!state.strata.every((stratum) => data.questions[place].strata.includes(stratum))) return false;
  return !state.text || textOf(place).includes(state.text);
}

function refilter() {
  const others = [...data.questions.keys()].filter((place) => passes(place, false));
  matching = others.filter((place) => passes(place, true));
  state.page = 0;
  drawVerdicts(others);
  drawList();
}

function readFilters() {
  const chosen = every("#selects select[data-dimension]").map((select) => select.value);
  state.strata = chosen.filter((value) => value !== "").map(Number);
  state.status = find("#status").value;
  state.lost = find("#lost")?.value ?? "";
  state.text = JSON.stringify(find("#text").value.trim().toLowerCase()).slice(1, -1);
  refilter();
}

// ---------------------------------------------------------------- the list

function drawVerdicts(places) {
  const counts = [0, 0, 0, 0];
  for (const place of places) counts[data.runs[state.run][place].verdict] += 1;
  const chip = (verdict, name, count) => {
    const button = make("button", { type: "button" }, verdict < 0 ? "" : `${SIGNS[verdict]} `, word(name));
    button.append(` ${number(count)}`);
    button.dataset.verdict = verdict;
    button.setAttribute("aria-pressed", String(state.verdict === verdict));
    return button;
  };
  const focused = document.activeElement?.dataset?.verdict;
  find("#verdicts").replaceChildren(
    chip(-1, WORDS.all, places.length),
    ...data.verdicts.map((_, verdict) => chip(verdict, data.verdict_names[verdict], counts[verdict])),
  );
  if (focused !== undefined) find(`#verdicts [data-verdict="${focused}"]`)?.focus();
}

function sign(item) {
  const name = data.verdict_names[item.verdict];
  const mark = make("span", { className: `${data.verdicts[item.verdict]}-mark`, title: name.join(" · ") }, SIGNS[item.verdict]);
  mark.setAttribute("aria-label", name[language === "zh" ? 0 : 1]);
  mark.setAttribute("role", "img");
  return mark;
}

function row(place) {
  const question = data.questions[place];
  const item = data.runs[state.run][place];
  const given = item.answers?.map(([text]) => text).join("；");
  const answers = make("span", { className: "answers", lang: "zh-Hans" }, question.gold.map(([label]) => label).join("；"), " ← ");
  answers.append(given ?? word(data.status_names[item.status]));
  const score = make("span", { className: "n" }, item.f1 === undefined ? "" : (100 * item.f1).toFixed(0));
  const text = make("span", { lang: "zh-Hans" }, question.text);
  return make("li", {}, make("a", { href: `#${encodeURIComponent(question.id)}` }, sign(item), text, score, answers));
}

function drawList() {
  const first = state.page * PAGE;
  const pages = Math.max(1, Math.ceil(matching.length / PAGE));
  find("#list").replaceChildren(...matching.slice(first, first + PAGE).map(row));
  say(find("#found"), [
    `${number(matching.length)} 题，共 ${number(data.questions.length)} 题；行末为 F1`,
    `${number(matching.length)} of ${number(data.questions.length)} questions; F1 at the end of the row`,
  ]);
  find("#page").textContent = `${number(state.page + 1)} / ${number(pages)}`;
  find("#previous").disabled = state.page === 0;
  find("#next").disabled = state.page + 1 >= pages;
}

function turn(by) {
  state.page += by;
  drawList();
  find("#found").scrollIntoView();
}

// ---------------------------------------------------------------- one question

const block = (title, ...content) => [make("h3", {}, word(WORDS[title])), ...content];
const list = (rows) => make("ul", {}, ...rows);

function drawGold(question, item) {
  const credited = new Set((item.answers ?? []).map(([, , gold]) => gold));
  return question.gold.map(([label, entity, ...aliases], place) => {
    const line = make("li", { lang: "zh-Hans" }, label, make("span", { className: "remark" }, aliases.length ? `（${aliases.join("；")}）` : ""));
    line.append(make("span", { className: "id" }, ` ${data.entities[entity][0]} `));
    if (!credited.has(place)) line.append(word(WORDS.missed, { className: "wrong-mark" }));
    return line;
  });
}

function drawAnswer(question, [text, entity, gold, remark]) {
  const mark = make("span", { className: gold >= 0 ? "right-mark" : "wrong-mark" }, gold >= 0 ? "✓ " : "✗ ");
  const line = make("li", { lang: "zh-Hans" }, mark, text);
  line.append(make("span", { className: "id" }, entity >= 0 ? ` ${data.entities[entity][0]} ` : " "));
  const why = gold >= 0 ? "credited" : ["notCredited", "ambiguous", "repeated"][remark];
  line.append(word(WORDS[why], { className: "remark" }));
  if (gold >= 0) line.append(make("span", { className: "remark" }, ` ${question.gold[gold][0]}`));
  return line;
}

// An edge read in the direction it is stored, so that two walks over it are seen to be the same.
function edge(path, at) {
  const ends = [path[at - 1], path[at + 1]];
  return [path[at] - (path[at] % 3), ...(path[at] % 3 === 1 ? ends.reverse() : ends)].join(" ");
}

function drawPath(path, goldEdges, goldEntities) {
  const line = make("div", { className: "path" });
  path.forEach((code, at) => {
    if (at % 2 === 0) {
      const [id, label, known] = data.entities[code];
      const style = `node${goldEntities.has(code) ? " gold" : ""}${known ? "" : " unknown"}`;
      line.append(make("span", { className: style, title: known ? id : `${id}: ${WORDS.unknown.join(" · ")}`, lang: "zh-Hans" }, label));
      return;
    }
    const [name, zh, en] = data.relations[Math.floor(code / 3)];
    const [before, after] = [["—", "→"], ["←", "—"], ["—", "—"]][code % 3];
    const on = goldEdges.has(edge(path, at));
    line.append(make("span", { className: `step${on ? " on" : ""}`, title: name }, `${before} `, word([zh, en]), ` ${after}`));
  });
  return line;
}

function drawPaths(question, item) {
  const goldEntities = new Set(question.gold.map(([, entity]) => entity));
  const goldEdges = new Set(question.paths.flatMap((path) => path.map((_, at) => at).filter((at) => at % 2).map((at) => edge(path, at))));
  const draw = (path) => drawPath(path, goldEdges, goldEntities);
  const texts = (item.texts ?? []).map((text) => make("pre", { lang: "zh-Hans" }, text));
  const shown = [...(item.paths ?? []).map(draw), ...texts];
  return [
    ...block("goldPath", ...question.paths.map(draw)),
    ...block("evidence", ...(shown.length ? shown : [word(WORDS.noEvidence, { className: "remark" })]), more(item.more_evidence)),
  ];
}

const more = (count) => (count ? make("p", { className: "note" }, word(WORDS.more), ` ${number(count)}`) : "");

function drawUsage([calls, cached, tokensIn, tokensOut, seconds]) {
  return make("p", { className: "remark" }, `${number(calls)} `, word(WORDS.calls), `, ${number(cached)} `, word(WORDS.cached), ", ",
    word(WORDS.tokens), ` ${number(tokensIn)} / ${number(tokensOut)}, ${seconds} s`);
}

function drawOthers(place) {
  const others = data.runs.map((items, run) => [items[place], run]).filter(([, run]) => run !== state.run);
  return others.map(([item, run]) => {
    const said = item.answers?.map(([text]) => text).join("；") ?? word(data.status_names[item.status]);
    return make("li", { lang: "zh-Hans" }, sign(item), ` ${find(`#tab-${run}`).textContent}: `, said);
  });
}

function drawDetail(place) {
  const question = data.questions[place];
  const item = data.runs[state.run][place];
  const answers = (item.answers ?? []).map((answer) => drawAnswer(question, answer));
  const tags = make("p", { className: "tags" }, sign(item), " ", word(data.status_names[item.status]), ` · ${question.id}`);
  for (const { name, strata } of data.dimensions) {
    const [, zh, en] = strata.find(([stratum]) => question.strata.includes(stratum)) ?? [];
    if (zh) tags.append(" · ", word([`${name[0]}：${zh}`, `${name[1]}: ${en}`]));
  }
  const stage = data.stages.find(([stage]) => stage === item.lost);
  if (stage) tags.append(" · ", word([`${WORDS.lost[0]}：${stage[1]}`, `${WORDS.lost[1]}: ${stage[2]}`]));
  find("#detail").replaceChildren(
    drawBar(place),
    make("p", { className: "question", id: "detail-question", lang: "zh-Hans" }, question.text),
    tags,
    ...block("gold", list(drawGold(question, item))),
    ...block("answers", answers.length ? list(answers) : word(WORDS.noAnswer, { className: "remark" }), more(item.more_answers)),
    ...drawPaths(question, item),
    ...(data.runs.length > 1 ? block("others", list(drawOthers(place))) : []),
    ...(item.raw ? block("raw", make("pre", {}, item.raw)) : []),
    ...(item.error ? block("error", make("pre", {}, item.error)) : []),
    ...(item.flags ? block("flags", make("p", { className: "remark" }, item.flags.join(", "))) : []),
    ...(item.usage ? block("usage", drawUsage(item.usage)) : []),
  );
}

function drawBar(place) {
  const at = matching.indexOf(place);
  const go = (key, to) => {
    const button = make("button", { type: "button", disabled: to === undefined, onclick: () => open(to) }, word(WORDS[key]));
    button.dataset.go = key;
    return button;
  };
  const steps = at < 0 ? [undefined, undefined] : [matching[at - 1], matching[at + 1]];
  const close = make("button", { type: "button", onclick: () => find("#detail").close() }, word(WORDS.close));
  return make("div", { className: "detail-bar" }, make("div", {}, go("previous", steps[0]), go("next", steps[1])), close);
}

function open(place) {
  const key = document.activeElement?.dataset?.go;
  history.replaceState(null, "", `#${encodeURIComponent(data.questions[place].id)}`);
  drawDetail(place);
  const detail = find("#detail");
  if (!detail.open) detail.showModal();
  detail.scrollTop = 0;
  if (key) find(`[data-go="${key}"]`, detail).focus();
}

function openFromAddress() {
  const id = decodeURIComponent(location.hash.slice(1));
  const place = data.questions.findIndex((question) => question.id === id);
  if (place >= 0) open(place);
}

// ---------------------------------------------------------------- wiring

function makeFilters() {
  const select = (title, options, properties) => {
    const choice = make("select", properties, say(make("option", { value: "" }), WORDS.any));
    choice.append(...options.map(([value, zh, en]) => say(make("option", { value }), [zh, en])));
    return make("label", {}, word(title), choice);
  };
  const statuses = Object.entries(data.status_names).map(([status, name]) => [status, ...name]);
  const selects = data.dimensions.map(({ name, strata }) => {
    const label = select(name, strata, {});
    find("select", label).dataset.dimension = name[1];
    return label;
  });
  const lost = data.stages.length ? [select(WORDS.lost, data.stages, { id: "lost" })] : [];
  find("#selects").append(select(WORDS.status, statuses, { id: "status" }), ...lost, ...selects);
}

function choose(select, value) {
  find("#filters").reset();
  state.verdict = -1;
  select.value = value;
  readFilters();
  find("#questions").scrollIntoView();
  select.focus({ preventScroll: true });
}

function chooseStratum(name) {
  const stratum = String(data.strata.indexOf(name));
  const select = every("#selects select[data-dimension]").find((s) => [...s.options].some((o) => o.value === stratum));
  if (select) choose(select, stratum);
}

function chooseRun(run) {
  state.run = run;
  for (const section of every("[data-run]")) section.hidden = Number(section.dataset.run) !== run;
  for (const tab of every("[data-tab]")) tab.setAttribute("aria-pressed", String(Number(tab.dataset.tab) === run));
  refilter();
}

async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  const word = find("span", button);
  const before = [word.dataset.zh, word.dataset.en];
  try {
    await navigator.clipboard.writeText(source.textContent);
  } catch {
    getSelection().selectAllChildren(source); // no permission: leave it selected for Ctrl-C
    return;
  }
  say(word, WORDS.copied);
  setTimeout(() => say(word, before), 1500);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const { status, lost, stratum, tab, verdict } = button.dataset;
  if (status !== undefined) choose(find("#status"), status);
  if (lost !== undefined) choose(find("#lost"), lost);
  if (stratum !== undefined) chooseStratum(stratum);
  if (tab !== undefined) chooseRun(Number(tab));
  if (button.dataset.copy) copy(button);
  if (verdict !== undefined) {
    state.verdict = Number(verdict);
    refilter();
  }
});
find("#filters").addEventListener("input", readFilters);
find("#filters").addEventListener("submit", (event) => event.preventDefault());
find("#filters").addEventListener("reset", () => setTimeout(() => { state.verdict = -1; readFilters(); }));
find("#previous").addEventListener("click", () => turn(-1));
find("#next").addEventListener("click", () => turn(1));
find("#detail").addEventListener("close", () => history.replaceState(null, "", location.pathname + location.search));
find("#detail").addEventListener("keydown", (event) => {
  const step = { ArrowLeft: "previous", ArrowRight: "next" }[event.key];
  if (step) find(`[data-go="${step}"]`, event.currentTarget)?.click();
});
addEventListener("hashchange", openFromAddress);

makeFilters();
chooseRun(0);
openFromAddress();
