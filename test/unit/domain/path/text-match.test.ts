import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import { containsText, folded } from '../../../../src/domain/path/text-match.ts';
import { compileSurvey } from '../../../../src/domain/submission/answers.ts';
import { createChance } from '../../../fuzz/chance.ts';
import { pathIn, surveyOf } from '../../../support/path-surveys.ts';

describe('texts that are compared', () => {
  for (const [one, other] of [
    ['Straße', 'STRASSE'],
    ['STRAẞE', 'strasse'],
    ['ΟΔΟΣ', 'οδος'],
    ['οδοσ', 'οδος'],
    ['Zoë', 'ZOE\u0308'],
    ['ﬁn', 'FIN'],
    ['\u212a', 'k'],
    ['ǰ', 'J\u030c'],
    ['Ꭰ', 'ꭰ'],
    ['İ', 'i\u0307'],
    ['ſ', 'S'],
    ['  Ant\u00a0', 'ANT'],
    ['ᾳ', 'ΑΙ'],
  ] as const)
    it(`are the same: ${one} and ${other}`, () => assert.equal(folded(one), folded(other)));

  for (const [one, other] of [
    ['ı', 'i'],
    ['I', 'ı'],
    ['e', 'é'],
    ['ant bee', 'antbee'],
    ['ο', 'o'],
  ] as const)
    it(`differ: ${one} and ${other}`, () => assert.notEqual(folded(one), folded(other)));

  it('are put in order by a few marks at a time, however many follow one another', (t) => {
    t.after(() => mock.restoreAll());
    const normalize = mock.method(String.prototype, 'normalize');
    const marks = `a${'\u0301'.repeat(5000)}${'\u0323'.repeat(5000)}`;
    assert.equal(folded(marks), folded(marks.toUpperCase()));
    assert.ok(folded(`${marks} Ant`).endsWith(' ant'));
    const runs = normalize.mock.calls.flatMap((call) => String(call.this).match(/(?:(?!\u034f)\p{M})+/gu) ?? []);
    assert.ok(runs.length > 0 && runs.every((run) => run.length <= 30));
  });

  it('of conditions are folded when they are first compared, as a survey may have many', (t) => {
    t.after(() => mock.restoreAll());
    const { survey, questions } = surveyOf([
      { type: 'SHORT_TEXT' },
      ([name]) => ({
        type: 'NPS',
        visibleIf: {
          any: [
            { questionId: name?.id ?? '', operator: 'equalsText', value: 'Zoë' },
            { metadata: 'source', operator: 'equalsText', value: 'Tür' },
          ],
        },
      }),
    ]);
    const normalize = mock.method(String.prototype, 'normalize');
    compileSurvey(survey);
    pathIn(survey, []);
    assert.equal(normalize.mock.callCount(), 0);
    pathIn(survey, [{ questionId: questions[0]?.id, textValue: 'Ann' }], { metadata: { source: 'poster' } });
    assert.ok(normalize.mock.callCount() > 0);
  });

  it('are the same however often they are folded', () => {
    for (let code = 0; code < 0x3000; code += 1) {
      const text = folded(String.fromCodePoint(code));
      assert.equal(folded(text), text, code.toString(16));
    }
  });
});

describe('a text that is searched for in another', () => {
  it('is found as the platform finds it, whatever its length', () => {
    let found = 0;
    for (let seed = 0; seed < 400; seed += 1) {
      const chance = createChance(seed);
      const letters = (length: number) => Array.from({ length }, () => (chance.is(0.98) ? 'a' : 'b')).join('');
      const text = letters(chance.below(2000));
      const from = chance.below(1000);
      const wanted = `${text.slice(from, from + 250 + chance.below(500))}${letters(chance.below(3))}`;
      assert.equal(containsText(text, wanted), text.includes(wanted), `seed ${seed}`);
      if (wanted.length > 250 && text.includes(wanted)) found += 1;
    }
    assert.ok(found > 50 && found < 350, `${found} were found`);
  });
});
