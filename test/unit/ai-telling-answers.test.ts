import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAnonymiser } from '../../src/ai/anonymise.ts';
import { tellingNames, tellingNumbers, tellingSentences } from '../support/spelled-identifiers.ts';

const hidden = (text: string): string => createAnonymiser(() => [])(text).replace(/\[[A-Z]+_\d+\]/g, '').normalize('NFKC');
const sentence = (index: number, text: string): string => (tellingSentences[index % tellingSentences.length] ?? '#').replace('#', () => text);

describe('the anonymiser and what people tell of themselves in their own spelling', () => {
  it('leaves no digit of telephone numbers of thirty countries, accounts, cards, ids, addresses and dates of birth', () => {
    assert.ok(tellingNumbers.length > 1200);
    for (const [index, text] of tellingNumbers.entries()) assert.doesNotMatch(hidden(sentence(index, text)), /\p{N}|%3/u, sentence(index, text));
  });

  it('leaves nothing of e-mail addresses, names of accounts and pages of people', () => {
    for (const [turn, text] of tellingNames.entries())
      for (const index of [turn, turn + 5, turn + 9, turn + 14]) assert.doesNotMatch(hidden(sentence(index, text)), /x ?q|@|%/, sentence(index, text));
  });

  it('replaces an identifier once where several rules find it, and where they overlap the whole of it', () => {
    const anonymise = createAnonymiser(() => []);
    assert.equal(anonymise('我叫王小明先生'), '我叫[PERSON_1]先生');
    assert.equal(anonymise('我是王小明，王小明先生'), '我是[PERSON_1]，[PERSON_1]先生');
    assert.equal(createAnonymiser(() => [{ kind: 'PERSON', start: 4, end: 9 }, { kind: 'PERSON', start: 0, end: 6 }, { kind: 'PERSON', start: 0, end: 2 }])('Ann Marie is here'), '[PERSON_1] is here');
  });
});
