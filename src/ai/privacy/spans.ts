/** A part of a text that names or identifies somebody: from `start` up to `end`, in UTF-16 units. */
export interface Span {
  /** Becomes the first part of the placeholder. */
  kind: string;
  start: number;
  end: number;
}

/** Looks for one family of identifiers in folded text. What it finds may overlap: the first stands, of two that begin together the longer. */
export type Finder = (text: string) => Span[];

/** Stands where something was found already: no letter, no digit, no space, so that nothing is found across it. */
const blank = '\0';
const unblanked = /[^\0]+/g;

/** Runs finders one after the other; what one has found the next do not see. Sorted by place, never overlapping. */
export function runFinders(text: string, finders: readonly Finder[]): Span[] {
  let rest = text;
  const spans: Span[] = [];
  for (const find of finders) {
    const more = mergeOverlaps(find(rest)).flatMap((span) => uncoveredParts(span, rest));
    if (more.length === 0) continue;
    spans.push(...more);
    rest = blankOut(rest, more);
  }
  return spans.sort((one, other) => one.start - other.start);
}

/** Without those that begin inside another. A second that reaches further than the first lengthens it: half an identifier is one too. */
export function mergeOverlaps(spans: readonly Span[]): Span[] {
  const result: Span[] = [];
  for (const span of [...spans].sort((one, other) => one.start - other.start || other.end - one.end)) {
    const before = result.at(-1);
    if (span.start >= span.end) continue;
    if (!before || span.start >= before.end) result.push({ ...span });
    else before.end = Math.max(before.end, span.end);
  }
  return result;
}

/** The parts of a span that nothing was found in yet: a name on both sides of a telephone number is hidden on both. Spaces between hide nothing. */
export function uncoveredParts(span: Span, rest: string): Span[] {
  const parts = rest.slice(span.start, span.end).matchAll(unblanked);
  return [...parts].flatMap(({ 0: part, index }) =>
    part.trim() === '' ? [] : [{ ...span, start: span.start + index, end: span.start + index + part.length }],
  );
}

/** The text with spans blanked out, as long as before. */
export function blankOut(text: string, spans: readonly Pick<Span, 'start' | 'end'>[]): string {
  if (spans.length === 0) return text;
  const parts: string[] = [];
  let from = 0;
  for (const { start, end } of [...spans].sort((one, other) => one.start - other.start)) {
    if (end <= from) continue;
    const begin = Math.max(start, from);
    parts.push(text.slice(from, begin), blank.repeat(end - begin));
    from = end;
  }
  return parts.join('') + text.slice(from);
}

/** A finder made of an expression with the flag g. Its matches count where `isHit` says so. */
export function patternFinder(kind: string, pattern: RegExp, isHit: (match: string) => boolean = () => true): Finder {
  return (text) =>
    everyMatch(text, pattern).flatMap(({ 0: match, index }) =>
      match !== '' && isHit(match) ? [{ kind, start: index, end: index + match.length }] : [],
    );
}

/** As `matchAll`, which makes a copy of the expression for every text; the expression has the flag g. */
export function everyMatch(text: string, pattern: RegExp): RegExpExecArray[] {
  const matches: RegExpExecArray[] = [];
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    matches.push(match);
    if (match[0] === '') pattern.lastIndex += pattern.unicode && (text.codePointAt(match.index) ?? 0) > 0xffff ? 2 : 1;
  }
  return matches;
}
