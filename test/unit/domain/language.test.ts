import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { canonicalLanguage } from '../../../src/domain/language.ts';

describe('a language tag', () => {
  it('has one form, however it was written', () => {
    const pairs = [['EN', 'en'], ['en-us', 'en-US'], ['ZH-hans', 'zh-Hans'], ['zh-HANT-tw', 'zh-Hant-TW'], ['iw', 'he'], ['sv', 'sv'], ['xx', 'xx']] as const;
    assert.deepEqual(pairs.map(([given]) => canonicalLanguage(given)), pairs.map(([, form]) => form));
    for (const [, form] of pairs) assert.equal(canonicalLanguage(form), form);
  });

  it('is refused where it is none, or as long as a message', () => {
    for (const text of ['', 'e', 'engl', 'de_AT', 'de-', 'en-US-US', 'en\n', `en${'-abcdefgh'.repeat(4)}`]) assert.equal(canonicalLanguage(text), undefined, text);
  });
});
