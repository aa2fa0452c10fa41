import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { themeKey } from '../../../../src/domain/analytics/theme-key.ts';

describe('the key of a theme’s name', () => {
  for (const spellings of [
    ['Price', 'price', ' PRICES ', 'ｐｒｉｃｅ', '“Price”', 'Price.'],
    ['Opening hours', 'opening  hours', 'Opening-Hours', 'opening\thour'],
    ['Delivery', 'deliveries'],
    ['Straße', 'STRASSE'],
    ['Café', 'Cafe\u0301s'],
    ['Цена', 'цена'],
    ['ﾌﾟﾗｲｽ', 'プライス'],
    ['Queue: time', 'queue time', 'Queue/Time'],
  ])
    it(`is the same for ${spellings.join(', ')}`, () =>
      assert.deepEqual([...new Set(spellings.map(themeKey))].length, 1));

  for (const [one, other] of [
    ['C#', 'C++'],
    ['Bus', 'Bu'],
    ['Gas', 'Ga'],
    ['Service', 'Self-service'],
    ['???', '!!!'],
    ['Staff', 'Stuff'],
    ['Schön', 'Schon'],
    ['100%', '100'],
    ['Pass', 'Pas'],
  ] as const)
    it(`differs for ${one} and ${other}`, () => assert.notEqual(themeKey(one), themeKey(other)));

  it('does not change when it is derived again', () => {
    for (const name of ['Prices', 'Deliveries', 'Opening-Hours', 'Straße', '???'])
      assert.equal(themeKey(themeKey(name)), themeKey(name));
  });
});
