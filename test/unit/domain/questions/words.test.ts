import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  commonLetters,
  commonSigns,
  commonWordPattern,
  uncommonPattern,
  wordsIn,
} from '../../../../src/domain/questions/words.ts';
import { spelledWords } from '../../../support/spelled-words.ts';

describe('words of a text', () => {
  for (const [text, words] of spelledWords)
    it(`of “${text}” are ${words.length}`, () => assert.deepEqual(wordsIn(text), words));
});

/** All characters of the inside of a character class. */
const membersOf = (inside: string): string[] => {
  const points = inside.match(/.-.|./gsu) ?? [];
  return points.flatMap((item) => {
    const [first = 0, last = first] = [...item].filter((_, at) => at !== 1).map((sign) => sign.codePointAt(0) ?? 0);
    return Array.from({ length: last - first + 1 }, (_, index) => String.fromCodePoint(first + index));
  });
};

describe('the common word pattern', () => {
  it('covers letters and digits that NFC leaves unchanged, and signs that belong to no word', () => {
    const [letters, signs] = [membersOf(commonLetters), membersOf(commonSigns)];
    assert.ok(letters.length > 30_000 && signs.length > 1000);
    assert.deepEqual(
      letters.filter((letter) => !/^[\p{L}\p{N}]$/u.test(letter) || letter.normalize('NFC') !== letter),
      [],
    );
    assert.deepEqual(
      signs.filter((sign) => /[\p{L}\p{M}\p{N}’·׳״\u200c\u200d]/u.test(sign.normalize('NFC'))),
      [],
    );
  });

  it('does not match texts in which the full pattern would find other words', () => {
    const usual = (text: string): string[] =>
      (text.match(new RegExp(commonWordPattern, 'gu')) ?? [])
        .filter((word) => [...word].length >= 2)
        .map((word) => word.replaceAll('’', "'"));
    const signs = [
      ...membersOf(commonSigns).filter((_, at) => at % 40 === 0),
      '’',
      "'",
      ' ',
      '-',
      '_',
      '2',
      'a',
      'é',
      'ß',
      'я',
      'ω',
      'ש',
      'م',
      '漢',
      'の',
      '가',
      'e\u0301',
      'İ',
      '·',
      '\u200d',
      '❤️',
      '²',
      'ไ',
      '𝒳',
    ];
    let understood = 0;
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...signs), { maxLength: 12 }), (pieces) => {
        const text = pieces.join('');
        const lower = text.replaceAll("'", '’').toLowerCase();
        if (new RegExp(uncommonPattern, 'u').test(lower)) return;
        understood += 1;
        assert.deepEqual(usual(lower), wordsIn(text));
      }),
      { numRuns: 500 },
    );
    assert.ok(understood > 50, `${understood} texts`);
  });
});
