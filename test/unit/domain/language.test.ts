import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { canonicalLanguage } from '../../../src/domain/language.ts';

describe('a language tag', () => {
  it('has one canonical form, however it was written', () => {
    const pairs = [
      ['EN', 'en'],
      ['en-us', 'en-US'],
      ['ZH-hans', 'zh-Hans'],
      ['zh-HANT-tw', 'zh-Hant-TW'],
      ['iw', 'he'],
      ['sv', 'sv'],
      ['xx', 'xx'],
    ] as const;
    assert.deepEqual(
      pairs.map(([given]) => canonicalLanguage(given)),
      pairs.map(([, form]) => form),
    );
    for (const [, form] of pairs) assert.equal(canonicalLanguage(form), form);
  });

  it('may name a language by its group, or be an irregular old one', () => {
    const pairs = [
      ['ZH-YUE', 'zh-yue'],
      ['zh-cmn-hans', 'zh-cmn-Hans'],
      ['zh-CMN-hant-tw', 'zh-cmn-Hant-TW'],
      ['sgn-ase', 'sgn-ase'],
      ['SGN-be-fr', 'sgn-BE-FR'],
      ['en-gb-OED', 'en-GB-oed'],
      ['zh-min-nan', 'zh-min-nan'],
      ['no-bok', 'no-bok'],
      ['zh-yue-419-1994', 'zh-yue-419-1994'],
    ] as const;
    assert.deepEqual(
      pairs.map(([given]) => canonicalLanguage(given)),
      pairs.map(([, form]) => form),
    );
    for (const [, form] of pairs) assert.equal(canonicalLanguage(form), form);
    for (const text of [
      'zh-yue-cmn-nan-hak',
      'zh-yue-US-US',
      'zh-yue-Hans-Hant',
      'zh-yue-1994-1994',
      'sl-nedis-nedis',
      'en-gb-oed-oed',
      'zh-yue-ab1',
    ])
      assert.equal(canonicalLanguage(text), undefined, text);
  });

  it('is refused if it is malformed or too long', () => {
    for (const text of ['', 'e', 'engl', 'de_AT', 'de-', 'en-US-US', 'en\n', `en${'-abcdefgh'.repeat(4)}`])
      assert.equal(canonicalLanguage(text), undefined, text);
  });
});
