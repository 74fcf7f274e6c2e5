"use strict";

// What every page has, before its own script: languages, light and dark, and nodes made without markup.  No page builds
// markup from strings: whatever a dataset, a system, a reader or a submitter wrote becomes a text node.

const find = (selector, root = document) => root.querySelector(selector);
const every = (selector, root = document) => [...root.querySelectorAll(selector)];

function make(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children.filter((child) => child !== null));
  return node;
}

// ---------------------------------------------------------------- kept in this browser, if it keeps anything

function remembered(key) {
  try {
    return localStorage.getItem(`clwqa-${key}`);
  } catch {
    return null; // storage is blocked: nothing is remembered
  }
}

function remember(key, value) {
  try {
    localStorage.setItem(`clwqa-${key}`, value);
  } catch {
    // as above
  }
}

// ---------------------------------------------------------------- languages and themes

let language = remembered("language") ?? (navigator.language.startsWith("zh") ? "zh" : "en");

function say(node, [zh, en]) {
  Object.assign(node.dataset, { zh, en });
  node.textContent = node.dataset[language];
  return node;
}

const word = (pair, properties = {}) => say(make("span", properties), pair);

function speak(chosen) {
  language = chosen === "zh" ? "zh" : "en";
  document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
  for (const node of every("[data-zh]")) node.textContent = node.dataset[language];
  const other = find("#language");
  other.textContent = language === "zh" ? "English" : "中文";
  other.lang = language === "zh" ? "en" : "zh-Hans";
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function setTheme(theme) {
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  say(find("#theme span"), isDark() ? ["浅色", "Light"] : ["深色", "Dark"]);
}

// ---------------------------------------------------------------- wiring

find("#language").addEventListener("click", () => {
  speak(language === "zh" ? "en" : "zh");
  remember("language", language);
});
find("#theme").addEventListener("click", () => {
  setTheme(isDark() ? "light" : "dark");
  remember("theme", document.documentElement.dataset.theme);
});
setTheme(remembered("theme"));
speak(language);
