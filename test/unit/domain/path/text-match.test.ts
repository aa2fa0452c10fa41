import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { folded } from '../../../../src/domain/path/text-match.ts';

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

  it('are the same however often they are folded', () => {
    for (let code = 0; code < 0x3000; code += 1) {
      const text = folded(String.fromCodePoint(code));
      assert.equal(folded(text), text, code.toString(16));
    }
  });
});
