import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAnonymiser, openAnonymiser } from '../../../../src/ai/privacy/anonymise.ts';
import { ordinaryAnswers } from '../../../support/ordinary-answers.ts';
import { remainder, seededAnswers, seeds, spellings } from '../../../support/seeded-identifiers.ts';
import { disclosingSentences, identifyingNames, identifyingNumbers } from '../../../support/spelled-identifiers.ts';

const masked = (text: string): string => createAnonymiser(() => [])(text);

describe('the anonymiser on thousands of identifiers', () => {
  for (const spelling of Object.keys(spellings))
    it(`hides all of 200 different ones, ${spelling}`, () => {
      assert.equal(new Set(seeds.map(({ text }) => text)).size, 200);
      for (const seed of seededAnswers.filter((candidate) => candidate.spelling === spelling)) {
        const left = masked(seed.answer);
        assert.deepEqual(remainder(left, seed), [], `${seed.text} in ${seed.answer} became ${left}`);
        assert.match(left, /\[[A-Z]+_1\]/);
      }
    });

  it('names the kind of each in its placeholder', () => {
    for (const { kind, text } of seeds) {
      const left = masked(`Reach me: ${text} , thanks`);
      // Some telephone numbers pass the check of cards.
      assert.match(
        left,
        kind === 'PHONE' ? /^Reach me: \[(?:PHONE|CARD)_1\] , thanks$/ : new RegExp(`\\[${kind}_1\\]`),
        `${text}: ${left}`,
      );
    }
  });

  it('hides numbers however they are grouped', () => {
    const marks = [' ', '-', '.', '/', ' - ', '  ', '_', ') ', ' (', '*', '\u2013', '\u00a0'];
    for (let index = 0; index < 2000; index += 1) {
      const digits = String(BigInt(index + 3) * 7_919_351_234_567n)
        .slice(-(7 + (index % 9)))
        .replace(/^0/, '4');
      const cut = [1 + (index % 3), 4 + (index % 2), 6];
      const written = cut.reduceRight(
        (text, at) => text.slice(0, at) + (marks[(index + at) % marks.length] ?? '') + text.slice(at),
        digits,
      );
      assert.doesNotMatch(masked(`Mine is ${written}.`).replace(/\[[A-Z]+_\d\]/g, ''), /\d/, written);
    }
  });

  it('leaves more than 400 ordinary answers unchanged', async () => {
    const anonymise = await openAnonymiser();
    assert.ok(new Set(ordinaryAnswers).size > 400);
    for (const text of ordinaryAnswers) assert.equal(anonymise(text), text);
  });
});

const hidden = (text: string): string =>
  masked(text)
    .replace(/\[[A-Z]+_\d+\]/g, '')
    .normalize('NFKC');
const sentence = (index: number, text: string): string =>
  (disclosingSentences[index % disclosingSentences.length] ?? '#').replace('#', () => text);

describe('the anonymiser on personal data in unusual spellings', () => {
  it('hides every digit of telephone numbers of thirty countries, accounts, cards, ids, addresses and dates of birth', () => {
    assert.ok(identifyingNumbers.length > 1200);
    for (const [index, text] of identifyingNumbers.entries())
      assert.doesNotMatch(hidden(sentence(index, text)), /\p{N}|%3/u, sentence(index, text));
  });

  it('hides e-mail addresses, account names and profile pages completely', () => {
    for (const [turn, text] of identifyingNames.entries())
      for (const index of [turn, turn + 5, turn + 9, turn + 14])
        assert.doesNotMatch(hidden(sentence(index, text)), /x ?q|@|%/, sentence(index, text));
  });
});
