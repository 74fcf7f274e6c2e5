"use strict";

// The values that `values.py` wrote: how a page gets them, and how it shows numbers.

// ---------------------------------------------------------------- data, which come as scripts

let received = null;

function receive(value) {
  received = value;
}

const loads = new Map();

/** The value that a data script hands over; asked for once. */
function load(path) {
  if (!loads.has(path)) loads.set(path, new Promise((resolve, reject) => {
    const script = make("script", { src: path });
    script.addEventListener("load", () => {
      resolve(received); // a script's load event follows its run at once
      script.remove();
    });
    script.addEventListener("error", () => {
      loads.delete(path);
      script.remove();
      reject(new Error(path));
    });
    document.head.append(script);
  }));
  return loads.get(path);
}

/** Whole numbers that were packed as `packed` of values.py packs them. */
async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const content = await new Response(plain).arrayBuffer();
  const [width] = new Uint8Array(content, 0, 1);
  const Numbers = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array }[width];
  return new Numbers(content.slice(1));
}

// ---------------------------------------------------------------- numbers

const UNIT = 1e-5; // of a share
const count = (n) => n.toLocaleString("en-US");

/** A share in per cent; 0.0 and 100.0 are written only for exactly these values. */
function percent(value) {
  if (value > 0 && value < 0.0005) return "<0.1";
  if (value >= 0.9995 && value < 1) return ">99.9";
  return (100 * value).toFixed(1);
}

const share = (units) => percent(units * UNIT);

/** [60.2, 62.4] of a cell; nothing where the spread is not known, § where all resamples agree. */
function spread([, low, high]) {
  if (low === null || high === null) return "";
  return low === high ? "§" : `[${share(low)}, ${share(high)}]`;
}

/** A quantity with three figures, or all those before the point. */
function figures(value) {
  if (value >= 100) return count(Math.round(value));
  return value > 0 && value < 0.001 ? "<0.001" : String(Number(value.toPrecision(3)));
}

/** The ranks that an entry may have: "2", or "2–5". */
const ranks = ([best, worst]) => (best === worst ? String(best) : `${best}–${worst}`);

const SVG = "http://www.w3.org/2000/svg";

function bar(className, parts) {
  const svg = document.createElementNS(SVG, "svg");
  const attributes = { class: className, viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" };
  for (const [key, value] of Object.entries(attributes)) svg.setAttribute(key, value);
  for (const [kind, x, width, y = 0, height = 10] of parts) {
    const rect = document.createElementNS(SVG, "rect");
    for (const [key, value] of Object.entries({ class: kind, x, width, y, height })) rect.setAttribute(key, value);
    svg.append(rect);
  }
  return svg;
}

/** The bar of a cell, with its interval. */
function cellBar([value, low, high]) {
  const scale = 100 * UNIT;
  const parts = [["track", 0, 100], ["value", 0, value * scale]];
  if (low !== null) parts.push(["spread", low * scale, (high - low) * scale, 3.5, 3]);
  return bar("bar", parts);
}
