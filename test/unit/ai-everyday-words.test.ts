import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { openAnonymiser, type Anonymise } from '../../src/ai/anonymise.ts';

describe('given names in small letters', () => {
  let anonymise: Anonymise;
  before(async () => {
    anonymise = await openAnonymiser();
  });
  const left = (text: string): string => anonymise(text).replace(/\[PERSON_\d+\]/g, '[]');

  it('are people where they are no words of the language', () => {
    for (const line of [
      'I spoke with «leon»', 'i spoke with «toni» on the phone', '«flora» and «jack»', '«clara» helped', '«vera» was rude', 'Nurse «jo»', 'thanks «tim»', '«sam» was great', '«ben» was nice to me', 'i saw «nick» at the desk', 'my waiter «tom» was nice',
    ])
      assert.equal(left(line.replace(/[«»]/g, '')), line.replace(/«[^»]*»/g, '[]'));
  });

  it('are people behind words that stand before people, whatever else they mean', () => {
    for (const line of ['i spoke with «dan»', 'i was served by «heather»', 'i spoke with «ella» today', 'Ich sprach mit «klein»'])
      assert.equal(left(line.replace(/[«»]/g, '')), line.replace(/«[^»]*»/g, '[]'));
  });

  it('are words where the language has such a word', () => {
    for (const text of [
      'mark the trails', 'the rose garden', 'they drew a line', 'grant more holidays', 'the light was amber', 'heather in the garden', 'zu lang gewartet', 'te klein', 'klein', 'trop cher', 'la información es clara', 'la storia non era vera', 'la flora es muy variada',
      'het is beter dan vorig jaar', 'la camisa blanca', 'muy rico', 'ben çok memnunum', 'la casa mia', 'will you sue us', 'la crème est blanche', 'la réponse est claire', 'gott, ja, jo', 'he was curt',
    ])
      assert.equal(anonymise(text), text);
  });
});
