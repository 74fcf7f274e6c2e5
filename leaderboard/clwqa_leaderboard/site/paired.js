"use strict";

// Two systems on the same questions: the paired tests of `clwqa-bench compare`, worked out where they are asked for,
// because a thousand entries make half a million pairs.  No DOM here.

const SWAPS = 10_000; // of the permutation test
const RESAMPLES = 2_000; // of the bootstrap
const TIE = 1e-9; // relative: differences this close are the same number, rounded twice

/** A random generator of 32-bit words (sfc32); the same seed gives the same words. */
function generator(seed) {
  let [a, b, c, d] = [0, seed | 0, 0x9e3779b9 | 0, 1];
  const next = () => {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + t) | 0;
    return t >>> 0;
  };
  for (let i = 0; i < 16; i += 1) next();
  return next;
}

/** Exact two-sided p of McNemar's test for so many questions that only one of two systems gets right. */
function mcnemar(onlyA, onlyB) {
  const n = onlyA + onlyB;
  let term = -n * Math.LN2; // log of C(n, k) / 2^n
  let tail = 0;
  for (let k = 0; k <= Math.min(onlyA, onlyB); k += 1) {
    tail += Math.exp(term);
    term += Math.log((n - k) / (k + 1));
  }
  return Math.min(1, 2 * tail);
}

/** p values of one family adjusted by Holm (1979), in the given order. */
function holm(p) {
  const adjusted = new Array(p.length);
  let largest = 0;
  [...p.keys()].sort((i, j) => p[i] - p[j]).forEach((index, rank) => {
    largest = Math.max(largest, Math.min(1, (p.length - rank) * p[index]));
    adjusted[index] = largest;
  });
  return adjusted;
}

/** Sums of values by fact group. */
function groupSums(values, groups, number) {
  const sums = new Float64Array(number);
  for (let i = 0; i < values.length; i += 1) sums[groups[i]] += values[i];
  return sums;
}

/**
 * p of a sum of group differences under random swaps of the two systems on whole groups: the share of all ways at
 * least as extreme if there are at most `SWAPS`, else (b + 1) / (B + 1) of random ones.
 */
function permutationP(differences, random) {
  const moved = differences.filter((d) => d !== 0);
  const scale = moved.reduce((sum, d) => sum + Math.abs(d), 0);
  const seen = Math.abs(moved.reduce((sum, d) => sum + d, 0)) - TIE * scale;
  const blocks = signedSums(moved);
  const ways = 2 ** moved.length;
  const exact = ways <= SWAPS;
  let extreme = 0;
  for (let way = 0; way < (exact ? ways : SWAPS); way += 1) {
    let sum = 0;
    let signs = way;
    for (let block = 0; block < blocks.length; block += 1) {
      if (!exact && block % 4 === 0) signs = random();
      sum += blocks[block][signs & 255];
      signs >>>= 8;
    }
    if (Math.abs(sum) >= seen) extreme += 1;
  }
  return exact ? extreme / ways : (extreme + 1) / (SWAPS + 1);
}

/** For every eight values their sums under all 256 choices of signs, so that a byte of random bits signs eight. */
function signedSums(values) {
  const blocks = [];
  for (let start = 0; start < values.length; start += 8) {
    const block = values.subarray(start, start + 8);
    blocks.push(Float64Array.from({ length: 256 }, (_, signs) => block.reduce((sum, value, i) => sum + ((signs >> i) & 1 ? value : -value), 0)));
  }
  return blocks;
}

/** 95 % percentile intervals of mean differences, groups drawn with replacement; null for fewer than two groups. */
function intervals(differences, sizes, random) {
  const groups = sizes.length;
  if (groups < 2) return differences.map(() => null);
  const columns = [...differences, sizes];
  const width = columns.length;
  const rows = new Float64Array(groups * width); // a group's numbers side by side, as they are drawn together
  columns.forEach((column, at) => column.forEach((value, group) => { rows[group * width + at] = value; }));
  const values = differences.map(() => new Float64Array(RESAMPLES));
  const sums = new Float64Array(width);
  for (let resample = 0; resample < RESAMPLES; resample += 1) {
    sums.fill(0);
    for (let i = 0; i < groups; i += 1) {
      const drawn = Math.floor((random() / 2 ** 32) * groups) * width;
      for (let at = 0; at < width; at += 1) sums[at] += rows[drawn + at];
    }
    values.forEach((column, at) => { column[resample] = sums[at] / sums[width - 1]; });
  }
  return values.map((drawn) => {
    drawn.sort();
    return [quantile(drawn, 0.025), quantile(drawn, 0.975)];
  });
}

function quantile(sorted, at) {
  const place = at * (sorted.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

/**
 * Paired tests of two systems under several measures, one family for Holm.  `a` and `b` hold, by measure, the values
 * of all questions; `groups` the fact group of each question.
 */
function pairedTests(a, b, groups) {
  const random = generator(20_000);
  const number = groups.reduce((most, group) => Math.max(most, group), -1) + 1;
  const sizes = groupSums(new Uint8Array(groups.length).fill(1), groups, number);
  const differences = a.map((values, m) => groupSums(values.map((value, i) => value - b[m][i]), groups, number));
  const bounds = intervals(differences, sizes, random);
  const p = differences.map((sums) => permutationP(sums, random));
  const corrected = holm(p);
  return a.map((values, m) => {
    const wins = values.filter((value, i) => value > b[m][i]).length;
    const losses = values.filter((value, i) => value < b[m][i]).length;
    const binary = [...values, ...b[m]].every((value) => value === 0 || value === 1);
    const mean = (all) => all.reduce((sum, value) => sum + value, 0) / all.length;
    return {
      a: mean(values), b: mean(b[m]), delta: mean(values) - mean(b[m]), bounds: bounds[m], p: p[m], holm: corrected[m],
      mcnemar: binary ? mcnemar(wins, losses) : null, wins, ties: values.length - wins - losses, losses,
    };
  });
}
