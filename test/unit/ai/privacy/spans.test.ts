import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAnonymiser } from '../../../../src/ai/privacy/anonymise.ts';
import { everyMatch, type Finder, runFinders, type Span } from '../../../../src/ai/privacy/spans.ts';

/** Numbers below a limit, the same ones in every run. */
function draws(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

describe('spans of several finders', () => {
  it('are hidden to the last character, however they overlap, and the rest stays', () => {
    const text = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
    for (let seed = 1; seed <= 500; seed += 1) {
      const draw = draws(seed);
      const given: Span[][] = Array.from({ length: 1 + draw(4) }, () =>
        Array.from({ length: 1 + draw(4) }, () => {
          const start = draw(text.length);
          return { kind: 'ID', start, end: Math.min(text.length, start + draw(20)) };
        }),
      );
      const spans = runFinders(
        text,
        given.map(
          (found): Finder =>
            () =>
              found,
        ),
      );
      const masked = spans
        .reduceRight((rest, { start, end }) => `${rest.slice(0, start)}#${rest.slice(end)}`, text)
        .replace(/#/g, '');
      const expected = [...text]
        .filter((_, at) => !given.flat().some(({ start, end }) => start <= at && at < end))
        .join('');
      assert.equal(masked, expected, JSON.stringify(given));
      for (const [index, { start }] of spans.entries())
        assert.ok(start >= (spans[index - 1]?.end ?? 0), JSON.stringify(spans));
    }
  });

  it('are hidden on both sides of an identifier within a name', () => {
    const masked = createAnonymiser((text) => [{ kind: 'PERSON', start: 0, end: text.length }])(
      'Ann +49 30 1234567 Lee ann@example.org Fox',
    );
    assert.equal(masked, '[PERSON_1][PHONE_1][PERSON_2][EMAIL_1][PERSON_3]');
  });
});

describe('matches of an expression', () => {
  it('are those of matchAll, with empty matches and surrogate pairs, however the expression was used before', () => {
    for (const pattern of [/\p{L}*/gu, /(?=[a😀])/gu, /x*/g, /(?<first>\S)(\s)?/dgu, /nothing/g])
      for (const text of ['', '😀a😀😀 b\ud83d', 'xx 𝒳x😀x', 'a b']) {
        pattern.lastIndex = 1;
        const found = everyMatch(text, pattern).map(({ index, indices, groups, ...parts }) => ({
          ...parts,
          index,
          groups: { ...groups },
          indices: indices && [...indices],
        }));
        pattern.lastIndex = 0;
        assert.deepEqual(
          found,
          [...text.matchAll(pattern)].map(({ index, indices, groups, ...parts }) => ({
            ...parts,
            index,
            groups: { ...groups },
            indices: indices && [...indices],
          })),
          `${pattern} in ${text}`,
        );
        assert.equal(pattern.lastIndex, 0);
      }
  });
});
