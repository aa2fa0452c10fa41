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

  it('are people where somebody speaks to them, greets them or says who they are, although they are words', () => {
    for (const line of [
      'I talked to «mark»', 'i spoke to «mark» about it', 'talk to «grace», she knows', 'have spoken with «will» yesterday', 'hi «mark»!', 'dear «hope», thank you', 'my boss «mark» and i agree', 'our trainer «dawn» was late', 'my colleague «faith»', 'i was talking to «rose» in the lobby', 'speak to «bill», please',
    ])
      assert.equal(left(line.replace(/[«»]/g, '')), line.replace(/«[^»]*»/g, '[]'));
  });

  it('stay words where they do what words do', () => {
    for (const text of [
      'up to mark', 'not up to the mark', 'i want to mark the date', 'they talked to mark the occasion', 'spoke to grant officers', 'my boss will help', 'ask if my boss will.', 'my manager may', 'by the grace of god', 'hi hope you are well', 'dear hope of mine', 'i spoke to hope for more', 'talked with joy in their eyes', 'spoke with faith in us',
      'our partner grant is due', 'our server curt and rude', 'my coach drew and explained', 'the design speaks to joy.', 'it speaks to hope and to faith',
      'my friend rose to the occasion', 'my boss may, or may not', 'my doctor will, i think',
    ])
      assert.equal(anonymise(text), text);
  });

  it('are words where the language has such a word', () => {
    for (const text of [
      'mark the trails', 'the rose garden', 'they drew a line', 'grant more holidays', 'the light was amber', 'heather in the garden', 'zu lang gewartet', 'te klein', 'klein', 'trop cher', 'la información es clara', 'la storia non era vera', 'la flora es muy variada',
      'het is beter dan vorig jaar', 'la camisa blanca', 'muy rico', 'ben çok memnunum', 'la casa mia', 'will you sue us', 'la crème est blanche', 'la réponse est claire', 'gott, ja, jo', 'he was curt',
    ])
      assert.equal(anonymise(text), text);
  });
});
