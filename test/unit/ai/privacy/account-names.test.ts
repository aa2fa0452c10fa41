import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAnonymiser } from '../../../../src/ai/privacy/anonymise.ts';

const masked = (text: string): string => createAnonymiser(() => [])(text);

describe('the anonymiser on account names', () => {
  it('hides account names that begin like an everyday word, and leaves the words', () => {
    for (const name of ['@theresa', '@thelma', '@theo_b', '@Themba'])
      assert.equal(masked(`ask ${name} please`), 'ask [HANDLE_1] please');
    for (const text of ['see you @the office', 'meet @theatre', 'meet @there', 'us @them', 'lunch @noon', '@theater'])
      assert.equal(masked(text), text);
  });

  it('labels a code that begins like the name of a service as a code', () => {
    for (const [text, expected] of [
      ['QQ123456C', '[ID_1]'],
      ['passport QQ1234567', 'passport [ID_1]'],
      ['my QQ 123456', 'my QQ [HANDLE_1]'],
      ['QQ: 123456789', 'QQ: [HANDLE_1]'],
      ['icq number 123456', 'icq number [HANDLE_1]'],
      ['QQ号123456', 'QQ号[HANDLE_1]'],
      ['qq 123456c', 'qq [HANDLE_1]'],
      ['QQ12345', 'QQ[HANDLE_1]'],
      ['IG xq_anna', 'IG [HANDLE_1]'],
    ] as const)
      assert.equal(masked(text), expected);
  });

  it('hides names of Skype as a whole where they begin with “live:”', () => {
    for (const [text, expected] of [
      ['skype: live:ann.lee', 'skype: [HANDLE_1]'],
      ['Skype live:annlee', 'Skype [HANDLE_1]'],
      ['skype id live:ann_lee1', 'skype id [HANDLE_1]'],
      ['my skype name is live:annlee', 'my skype name is [HANDLE_1]'],
      ['skype: live:ann.com', 'skype: [HANDLE_1]'],
      ['Skype: live:.cid.1a2bcd3ef4a5b6c7', 'Skype: [HANDLE_1]'],
      ['skype went live: 3 of 5', 'skype went live: 3 of 5'],
    ] as const)
      assert.equal(masked(text), expected);
  });
});
