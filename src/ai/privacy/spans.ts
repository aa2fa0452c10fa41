/** A part of a text that identifies somebody: from `start` up to `end`, in UTF-16 units. */
export interface Span {
  /** First part of the placeholder. */
  kind: string;
  start: number;
  end: number;
}

/** Finds one family of identifiers in folded text. Spans may overlap: `mergeOverlaps` joins them. */
export type Finder = (text: string) => Span[];

/** Replaces found spans: neither letter, digit nor space, so that nothing is found across it. */
const blank = '\0';
const unblanked = /[^\0]+/g;

/**
 * Runs finders one after the other; each sees the text without what the earlier ones found. Returns spans sorted by
 * place, without overlaps.
 */
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

/**
 * Removes spans that begin inside another; one that reaches further extends the other, because half an identifier must
 * not remain.
 */
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

/**
 * Returns the parts of a span that are not blanked out: a name on both sides of a telephone number becomes two spans.
 */
export function uncoveredParts(span: Span, rest: string): Span[] {
  const parts = rest.slice(span.start, span.end).matchAll(unblanked);
  return [...parts].flatMap(({ 0: part, index }) =>
    part.trim() === '' ? [] : [{ ...span, start: span.start + index, end: span.start + index + part.length }],
  );
}

/** Blanks out spans; the text keeps its length. */
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

/** Creates a finder from an expression with the flag g. `isHit` may reject matches. */
export function patternFinder(kind: string, pattern: RegExp, isHit: (match: string) => boolean = () => true): Finder {
  return (text) =>
    everyMatch(text, pattern).flatMap(({ 0: match, index }) =>
      match !== '' && isHit(match) ? [{ kind, start: index, end: index + match.length }] : [],
    );
}

/** Like `matchAll`, without copying the expression for every text; the expression has the flag g. */
export function everyMatch(text: string, pattern: RegExp): RegExpExecArray[] {
  const matches: RegExpExecArray[] = [];
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    matches.push(match);
    if (match[0] === '') pattern.lastIndex += pattern.unicode && (text.codePointAt(match.index) ?? 0) > 0xffff ? 2 : 1;
  }
  return matches;
}

/** Creates a finder of people from expressions with the flags d and g, whose first group is the name. */
export function namePatternFinder(patterns: readonly RegExp[], isHit: (name: string) => boolean = () => true): Finder {
  return (text) =>
    patterns.flatMap((pattern) =>
      everyMatch(text, pattern).flatMap(({ 1: name, indices }) => {
        const [start, end] = indices?.[1] ?? [0, 0];
        return name !== undefined && isHit(name) ? [{ kind: 'PERSON', start, end }] : [];
      }),
    );
}
