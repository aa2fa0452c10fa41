import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { directionOf } from '../../../../src/domain/translation/languages.ts';

describe('the direction of a language', () => {
  it('is that of its script, whatever the language', () => {
    const rightToLeft = ['ar', 'he', 'fa', 'ur', 'ps', 'ckb', 'yi', 'dv', 'syr', 'nqo', 'ug', 'sd', 'ks', 'uz-AF'];
    for (const language of [...rightToLeft, 'AR-EG', 'ff-Adlm', 'pa-Arab', 'rhg-Rohg', 'ur-Aran'])
      assert.equal(directionOf(language), 'rtl', language);
    for (const language of ['en', 'th', 'ku', 'uz', 'az', 'fa-Latn', 'ar-Latn', 'pa', 'zh-Hant', 'xx'])
      assert.equal(directionOf(language), 'ltr', language);
  });

  it('is that of the first part of a tag which Intl does not take', () => {
    assert.deepEqual(['ar-arb', 'zh-min-nan', 'no-bok'].map(directionOf), ['rtl', 'ltr', 'ltr']);
  });
});
