import { RE2JS } from 're2js';
import { createLruCache } from '../../platform/lru-cache.ts';

/**
 * Patterns that authors set for texts, in RE2 syntax. RE2 takes (instructions of the pattern) × (characters of the
 * text) steps at most, and compiling takes time for each instruction. Both are bounded before a pattern is compiled,
 * because compiling and matching hold the event loop.
 */

/** Upper bounds of a pattern, read from its text. */
export interface PatternSize {
  /** Instructions of the compiled pattern, with counted repeats expanded. */
  instructions: number;
  /** Characters (code points) of the longest text that it matches. */
  longestMatch: number;
  /**
   * Classes such as `\p{L}`, and ranges past ASCII where case is ignored, which count as two: compiling one takes as
   * long as hundreds of instructions.
   */
  unicodeClasses: number;
}

const maxInstructions = 1500;
const maxUnicodeClasses = 6;
/** Steps of one match: about 25 ns each where no state of the automaton comes twice. */
const maxSteps = 520_000;
/** Compiling, in steps of a match. */
const stepsToCompile = { instruction: 100, unicodeClass: 25_000 };

interface Part {
  instructions: number;
  longestMatch: number;
}

/** A group while it is read: finished alternatives, the present one, and its last item, which a quantifier repeats. */
interface Group {
  instructions: number;
  longestMatch: number;
  present: Part;
  last: Part;
}

const nothing: Part = { instructions: 0, longestMatch: 0 };
const oneCharacter: Part = { instructions: 1, longestMatch: 1 };
const add = (one: Part, other: Part): Part => ({
  instructions: one.instructions + other.instructions,
  longestMatch: one.longestMatch + other.longestMatch,
});
const times = (count: number, length: number): number => (length === 0 ? 0 : count * length);

// Sticky: they match at `lastIndex` only.
const counted = /\{(\d+)(,(\d*))?\}/y;
/** An escape: a class, a code point in one of its spellings, or one character. */
const escaped = /\\(?:[pP](?:\{[^}]*\}|.)|x\{[^}]*\}|[\s\S])/uy;
const groupHead = /\((?:\?(?:P?<[^>]*>|[a-zA-Z-]*[:)]))?/y;
const namedClass = /\[:\^?[a-z]+:\]/y;

function matchAt(form: RegExp, pattern: string, at: number): RegExpExecArray | undefined {
  form.lastIndex = at;
  return form.exec(pattern) ?? undefined;
}

/** Reads the bounds of a pattern of up to some hundred characters. It need not be valid; the bounds hold if it is. */
export function measurePattern(pattern: string): PatternSize {
  const outer: Group[] = [];
  // Without regard to case, every letter of a range is looked up.
  const ignoresCase = /\(\?[a-zA-Z]*i/.test(pattern);
  let unicodeClasses = 0;
  let group = newGroup();
  let at = 0;
  const take = (item: Part) => {
    group.present = add(group.present, group.last);
    group.last = item;
  };
  while (at < pattern.length) {
    const first = pattern[at] ?? '';
    const repeat = first === '{' ? matchAt(counted, pattern, at) : undefined;
    if (repeat) {
      const least = Number(repeat[1]);
      const most = repeat[2] === undefined ? least : repeat[3] === '' ? Infinity : Number(repeat[3]);
      group.last = repeated(group.last, least, most);
      at += repeat[0].length;
    } else if (first === '*' || first === '+' || first === '?') {
      group.last = repeated(group.last, first === '+' ? 1 : 0, first === '?' ? 1 : Infinity);
      at += 1;
    } else if (first === '(') {
      const head = matchAt(groupHead, pattern, at)?.[0] ?? first;
      // Flags such as (?i) are no group.
      if (!head.endsWith(')')) {
        outer.push(group);
        group = newGroup();
      }
      at += head.length;
    } else if (first === ')') {
      const { instructions, longestMatch } = wholeGroup(group);
      group = outer.pop() ?? newGroup();
      take({ instructions: instructions + 2, longestMatch });
      at += 1;
    } else if (first === '|') {
      group = { ...newGroup(), ...wholeGroup(group) };
      group.instructions += 2;
      at += 1;
    } else if (first === '[') {
      const end = classEnd(pattern, at);
      const inside = pattern.slice(at, end);
      unicodeClasses += occurrences(inside, /\\[pP]/g);
      if (ignoresCase) unicodeClasses += 2 * occurrences(inside, /-(?:\\|[^\0-\x7f])/g);
      take(oneCharacter);
      at = end;
    } else if (pattern.startsWith('\\Q', at)) {
      const end = pattern.indexOf('\\E', at + 2);
      const quoted = pattern.slice(at + 2, end < 0 ? undefined : end);
      for (const _ of quoted) take(oneCharacter);
      at = end < 0 ? pattern.length : end + 2;
    } else {
      const spelled = first === '\\' ? matchAt(escaped, pattern, at)?.[0] : undefined;
      if (spelled !== undefined && /^\\[pP]/.test(spelled)) unicodeClasses += 1;
      take(oneCharacter);
      at += spelled?.length ?? first.length;
    }
  }
  // Groups that are never closed are refused by the compiler.
  const whole = [...outer, group].map(wholeGroup).reduce(add, nothing);
  return { instructions: whole.instructions + 2, longestMatch: whole.longestMatch, unicodeClasses };
}

const occurrences = (text: string, form: RegExp): number => text.match(form)?.length ?? 0;

const newGroup = (): Group => ({ instructions: 0, longestMatch: 0, present: nothing, last: nothing });

/** The alternatives read so far and the present one, which takes an instruction also where it is empty. */
function wholeGroup(group: Group): Part {
  const present = add(group.present, group.last);
  return {
    instructions: group.instructions + Math.max(1, present.instructions),
    longestMatch: Math.max(group.longestMatch, present.longestMatch),
  };
}

function repeated(item: Part, least: number, most: number): Part {
  const copies = most === Infinity ? Math.max(1, least) : Math.max(1, most);
  // A star of an item that may be empty becomes an optional plus.
  const branches = most === Infinity ? 2 : most - least;
  return {
    // An item without instructions, as flags are, takes one for each copy.
    instructions: copies * Math.max(1, item.instructions) + branches,
    longestMatch: times(most, item.longestMatch),
  };
}

/** Index behind the class that opens at `start`. */
function classEnd(pattern: string, start: number): number {
  let at = start + 1;
  if (pattern[at] === '^') at += 1;
  if (pattern[at] === ']') at += 1;
  while (at < pattern.length && pattern[at] !== ']') {
    const named = matchAt(namedClass, pattern, at);
    at += named?.[0].length ?? (pattern[at] === '\\' ? 2 : 1);
  }
  return Math.min(pattern.length, at + 1);
}

interface KnownPattern {
  size: PatternSize;
  compiled: RE2JS | undefined;
}

/** A compiled pattern may hold several MB of cached automaton states. */
const known = createLruCache<KnownPattern>(100);
const find = (pattern: string): KnownPattern =>
  known.getOrCreate(pattern, () => ({ size: measurePattern(pattern), compiled: undefined }));

/** Longest text that a pattern of this size may be compared with. */
const longestText = ({ instructions }: PatternSize): number => Math.floor(maxSteps / instructions);

/** Error message if a pattern is invalid or too large, else undefined. It is compiled only if its bounds allow it. */
export function patternProblem(pattern: string): string | undefined {
  const { instructions, unicodeClasses } = measurePattern(pattern);
  if (instructions > maxInstructions) return 'repeats too much';
  if (unicodeClasses > maxUnicodeClasses) return `must have at most ${maxUnicodeClasses} Unicode classes`;
  try {
    RE2JS.compile(pattern);
    return undefined;
  } catch {
    return 'must be a regular expression in RE2 syntax';
  }
}

/** Error message if texts of `maxLength` characters are too long for a pattern, else undefined. */
export function patternLengthProblem(pattern: string, maxLength: number): string | undefined {
  const { size } = find(pattern);
  const longest = longestText(size);
  return Math.min(size.longestMatch, maxLength) > longest
    ? `is too large for texts of ${maxLength} characters: set maxLength to at most ${longest}, or repeat less`
    : undefined;
}

/** Steps (about 25 ns each) of compiling a pattern and comparing a text of `maxLength` characters with it, at most. */
export function patternSteps(pattern: string, maxLength: number): number {
  const { size } = find(pattern);
  return (
    size.instructions * (stepsToCompile.instruction + Math.min(size.longestMatch, maxLength, longestText(size))) +
    size.unicodeClasses * stepsToCompile.unicodeClass
  );
}

/** Whether a pattern matches a whole text. A text that would take too many steps does not match. */
export function matchesPattern(pattern: string, text: string): boolean {
  const entry = find(pattern);
  const { size } = entry;
  const most = Math.min(size.longestMatch, longestText(size));
  if (text.length > most && [...text].length > most) return false;
  entry.compiled ??= RE2JS.compile(pattern);
  return entry.compiled.matches(text);
}
