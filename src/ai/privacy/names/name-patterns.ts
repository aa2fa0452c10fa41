import { everyMatch, type Finder } from '../spans.ts';

/** A finder of people made of expressions with the flags d and g: their first group is the name. */
export function namePatternFinder(patterns: readonly RegExp[], isHit: (name: string) => boolean = () => true): Finder {
  return (text) =>
    patterns.flatMap((pattern) =>
      everyMatch(text, pattern).flatMap(({ 1: name, indices }) => {
        const [start, end] = indices?.[1] ?? [0, 0];
        return name !== undefined && isHit(name) ? [{ kind: 'PERSON', start, end }] : [];
      }),
    );
}
