/** A part of a text that names or identifies somebody: from `start` up to `end`, in UTF-16 units. */
export interface Span {
  /** Becomes the first part of the placeholder. */
  kind: string;
  start: number;
  end: number;
}

/** Looks for one family of identifiers in folded text. */
export type Finder = (text: string) => Span[];

/** Stands where something was found already: no letter, no digit, no space, so that nothing is found across it. */
const found = '\0';

/** Runs finders one after the other; what one has found the next do not see. Sorted by place, never overlapping. */
export function findAll(text: string, finders: readonly Finder[]): Span[] {
  let rest = text;
  const spans: Span[] = [];
  for (const find of finders) {
    const more = find(rest);
    spans.push(...more);
    rest = without(rest, more);
  }
  return spans.sort((one, other) => one.start - other.start);
}

/** The text with spans blanked out, as long as before. */
export function without(text: string, spans: readonly Pick<Span, 'start' | 'end'>[]): string {
  let [result, from] = ['', 0];
  for (const { start, end } of [...spans].sort((one, other) => one.start - other.start)) {
    if (end <= from) continue;
    const begin = Math.max(start, from);
    result += text.slice(from, begin) + found.repeat(end - begin);
    from = end;
  }
  return result + text.slice(from);
}

/** A finder made of an expression with the flag g. Its matches count where `isHit` says so. */
export function byPattern(kind: string, pattern: RegExp, isHit: (match: string) => boolean = () => true): Finder {
  return (text) => [...text.matchAll(pattern)].flatMap(({ 0: match, index }) => (match !== '' && isHit(match) ? [{ kind, start: index, end: index + match.length }] : []));
}
