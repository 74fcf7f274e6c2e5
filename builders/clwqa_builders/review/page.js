"use strict";

// The sheet of one reader: what is judged, the verdicts, and the file they are saved to.

const data = JSON.parse(document.getElementById("data").textContent);
const STORE = `clwqa-review ${data.review} ${data.role} ${data.annotator}`;
const WORDS = {
  answers: ["答案", "Answers"],
  paths: ["证据路径", "Evidence path"],
  passages: ["文段", "Passages"],
  node: ["待判节点", "The node to judge"],
  said: ["各人判断", "What others said"],
  done: ["已判", "judged"],
  noStore: ["浏览器不能保存进度，关闭前请先保存判断文件。", "This browser keeps no progress: save the verdict file before closing."],
  saved: ["判断文件已保存，请交回。", "Verdict file saved; send it back."],
  loaded: ["已载入判断：", "Verdicts loaded: "],
  notJson: ["不是判断文件，第几行：", "Not a verdict file, see line "],
  other: ["属于另一次审阅或另一位审阅人，第几行：", "Of another review or reader, see line "],
  nothing: ["还没有判断可保存。", "There is nothing to save yet."],
  keyVerdict: ["给出判断，并移到下一项", "give a verdict and go to the next criterion"],
  keyCriterion: ["换一项标准", "another criterion"],
  keyItem: ["上一条、下一条", "previous and next item"],
  keyOpen: ["下一条未判", "next item not judged"],
  keyComment: ["写备注，Esc 返回", "write a comment, Esc to return"],
};

// ---------------------------------------------------------------- what has been judged

let rulings = {}; // by item: { verdicts: { criterion: code }, comment }
const at = { item: 0, criterion: 0 };
let touched = false; // whether the reader has done anything on this page yet

const given = (id) => rulings[id] ?? { verdicts: {}, comment: "" };
const complete = (id) => data.criteria.every((criterion) => given(id).verdicts[criterion.id]);
const current = () => data.items[at.item];

// Each item has an entry of its own, written only when its reader acts: a page that opens while another one, or its own
// former self in a browser under load, is still writing can then lose nothing.

const entry = (id) => `${STORE} ${id}`;

function keep(key, value) {
  touched = true;
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    tell(WORDS.noStore);
  }
}

function restore() {
  try {
    const kept = (key) => JSON.parse(localStorage.getItem(key));
    const known = data.items.map(({ id }) => [id, kept(entry(id))]).filter(([, ruling]) => ruling);
    rulings = { ...rulings, ...Object.fromEntries(known) };
    if (!touched) at.item = Math.min(kept(STORE) ?? 0, data.items.length - 1);
  } catch {
    tell(WORDS.noStore);
  }
}

function tell(words, more = "") {
  const node = find("#message");
  node.hidden = false;
  say(node, words.map((word) => `${word}${more}`));
}

function rule(criterion, code) {
  const { id } = current();
  const { verdicts, comment } = given(id);
  rulings[id] = { verdicts: { ...verdicts, [data.criteria[criterion].id]: code }, comment };
  at.criterion = Math.min(criterion + 1, data.criteria.length - 1);
  keep(entry(id), rulings[id]);
  drawCriteria();
  drawProgress();
}

function remark(text) {
  const { id } = current();
  rulings[id] = { verdicts: given(id).verdicts, comment: text };
  keep(entry(id), rulings[id]);
}

// ---------------------------------------------------------------- drawing

function listed(key, texts) {
  if (!texts.length) return [];
  const list = make("ul", {}, ...texts.map((text) => make("li", { textContent: text })));
  return [make("section", { className: key }, say(make("h3"), WORDS[key]), list)];
}

function drawItem() {
  const item = current();
  find("#item").replaceChildren(
    make("h2", { textContent: item.question }),
    ...listed("node", item.node ? [item.node] : []),
    ...["answers", "paths", "passages", "said"].flatMap((key) => listed(key, item[key])),
    make("p", { className: "id", textContent: item.id }),
  );
  find("#comment").value = given(item.id).comment;
  find("#number").value = at.item + 1;
  find("#of").textContent = `/ ${data.items.length}`;
  find("#previous").disabled = at.item === 0;
  find("#next").disabled = at.item === data.items.length - 1;
}

function drawCriteria() {
  const { verdicts } = given(current().id);
  data.criteria.forEach((criterion, place) => {
    const box = find(`[data-criterion="${place}"]`);
    box.classList.toggle("active", place === at.criterion);
    for (const button of box.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(verdicts[criterion.id] === button.dataset.code));
    }
  });
}

function drawProgress() {
  const done = data.items.filter(({ id }) => complete(id)).length;
  find("#bar").value = done / data.items.length;
  find("#done").replaceChildren(`${done} / ${data.items.length} `, word(WORDS.done));
}

function makeCriteria() {
  const boxes = data.criteria.map((criterion, place) => {
    const choices = data.choices.map((choice) => {
      const name = word([choice.zh, choice.en]);
      const button = make("button", { type: "button" }, make("kbd", { textContent: choice.key }), name);
      button.dataset.code = choice.code;
      button.addEventListener("click", () => rule(place, choice.code));
      return button;
    });
    const box = make(
      "fieldset",
      {},
      say(make("legend"), [criterion.zh, criterion.en]),
      say(make("p"), [criterion.ask_zh, criterion.ask_en]),
      make("div", { className: "choices" }, ...choices),
    );
    box.dataset.criterion = place;
    return box;
  });
  find("#criteria").replaceChildren(...boxes);
}

function makeHelp() {
  const keys = data.choices.map(({ key }) => key).join(" ");
  const told = [[keys, "keyVerdict"], ["↑ ↓", "keyCriterion"], ["← →", "keyItem"], ["n", "keyOpen"], ["c", "keyComment"]];
  find("#keys dl").replaceChildren(
    ...told.flatMap(([key, word]) => [make("dt", {}, make("kbd", { textContent: key })), say(make("dd"), WORDS[word])]),
  );
  find("#rubric").hidden = !data.rubric.length;
  const rows = data.rubric.map(([band, rule, zh, en]) => {
    const [first, second] = [band, rule].map((text) => make("td", { textContent: text }));
    return make("tr", {}, first, second, say(make("td"), [zh, en]));
  });
  find("#rubric table").replaceChildren(...rows);
}

// ---------------------------------------------------------------- going about

function show() {
  const { verdicts } = given(current().id);
  at.criterion = Math.max(0, data.criteria.findIndex((criterion) => !verdicts[criterion.id]));
  drawItem();
  drawCriteria();
  drawProgress();
}

function go(place) {
  if (!(place >= 0 && place < data.items.length)) return;
  at.item = place;
  keep(STORE, place);
  show();
}

function goOpen() {
  const places = data.items.map((_, offset) => (at.item + 1 + offset) % data.items.length);
  go(places.find((place) => !complete(data.items[place].id)) ?? at.item);
}

function turnCriterion(by) {
  at.criterion = Math.max(0, Math.min(data.criteria.length - 1, at.criterion + by));
  drawCriteria();
  find(`[data-criterion="${at.criterion}"]`).scrollIntoView({ block: "nearest" });
}

const KEYS = {
  ArrowLeft: () => go(at.item - 1),
  ArrowRight: () => go(at.item + 1),
  ArrowUp: () => turnCriterion(-1),
  ArrowDown: () => turnCriterion(1),
  n: goOpen,
  c: () => find("#comment").focus(),
};
for (const { key, code } of data.choices) KEYS[key] = () => rule(at.criterion, code);

addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.activeElement.blur();
  if (event.target.matches("textarea, input, .scroll") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (Object.hasOwn(KEYS, event.key)) {
    event.preventDefault();
    KEYS[event.key]();
  }
});

// ---------------------------------------------------------------- the verdict file

function save() {
  const judged = data.items.filter(({ id }) => rulings[id]);
  if (!judged.length) return tell(WORDS.nothing);
  const lines = judged.map(({ id, shown }) => {
    const { review, dataset, annotator, role } = data;
    return `${JSON.stringify({ review, dataset, annotator, role, item: id, shown, ...rulings[id] })}\n`;
  });
  const address = URL.createObjectURL(new Blob(lines, { type: "application/jsonl" }));
  make("a", { href: address, download: `${data.annotator}-${data.review}.jsonl` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
  return tell(WORDS.saved);
}

function readLine(line, number) {
  let ruling;
  try {
    ruling = JSON.parse(line);
  } catch {
    throw { words: WORDS.notJson, number };
  }
  const ours = ["review", "dataset", "annotator", "role"].every((key) => ruling?.[key] === data[key]);
  const item = data.items.find(({ id, shown }) => id === ruling?.item && shown === ruling.shown);
  if (!ours || !item) throw { words: WORDS.other, number };
  const codes = new Set(data.choices.map(({ code }) => code));
  const verdicts = Object.entries(ruling.verdicts ?? {});
  if (!verdicts.every(([key, code]) => data.criteria.some(({ id }) => id === key) && codes.has(code))) {
    throw { words: WORDS.notJson, number };
  }
  return [item.id, { verdicts: Object.fromEntries(verdicts), comment: String(ruling.comment ?? "") }];
}

async function load(file) {
  try {
    const lines = (await file.text()).split("\n").map((line, place) => [line, place + 1]);
    const read = lines.filter(([line]) => line.trim()).map(([line, number]) => readLine(line, number));
    rulings = { ...rulings, ...Object.fromEntries(read) };
    for (const [id, ruling] of read) keep(entry(id), ruling);
    show();
    tell(WORDS.loaded, read.length);
  } catch (problem) {
    if (!problem.words) throw problem;
    tell(problem.words, problem.number);
  }
}

find("#save").addEventListener("click", save);
find("#load").addEventListener("change", (event) => load(event.target.files[0]).then(() => { event.target.value = ""; }));
find("#previous").addEventListener("click", KEYS.ArrowLeft);
find("#next").addEventListener("click", KEYS.ArrowRight);
find("#open").addEventListener("click", goOpen);
find("#number").addEventListener("change", (event) => go(Number(event.target.value) - 1));
find("#comment").addEventListener("input", (event) => remark(event.target.value));

function catchUp() {
  restore();
  show();
}

addEventListener("storage", ({ key }) => key?.startsWith(STORE) && catchUp());
addEventListener("pageshow", ({ persisted }) => persisted && catchUp()); // a page kept frozen was told of nothing

restore();
makeCriteria();
makeHelp();
show();
