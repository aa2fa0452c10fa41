import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { placeholderDifferences, placeholdersOf } from '../../../../src/domain/translation/placeholders.ts';

describe('a URL in a text that is translated', () => {
  const source = 'Please read "https://example.org/privacy?v=1" (https://example.org/faq) before you begin.';

  it('is the same in languages that put no space behind it, or other marks around it', () => {
    for (const text of [
      '开始前请阅读https://example.org/privacy?v=1（https://example.org/faq）。',
      '开始前请阅读https://example.org/privacy?v=1(必读:https://example.org/faq)。',
      '開始前にhttps://example.org/privacy?v=1をお読みください、https://example.org/faqも。',
      '시작하기 전에 https://example.org/privacy?v=1를 읽어 주세요(https://example.org/faq).',
      'يرجى قراءة https://example.org/privacy?v=1، https://example.org/faq؟',
      'Bitte lesen Sie „https://example.org/privacy?v=1“ (https://example.org/faq).',
    ])
      assert.deepEqual(placeholderDifferences(source, text), [], text);
  });

  it('is missing where another one stands there, and reaches to a placeholder behind it', () => {
    assert.deepEqual(
      placeholderDifferences(source, '请阅读https://example.org/privacy?v=2和https://example.org/faq。').length,
      2,
    );
    assert.deepEqual(placeholdersOf('https://example.org/{{名}}を'), ['https://example.org/', '{{名}}']);
  });
});
