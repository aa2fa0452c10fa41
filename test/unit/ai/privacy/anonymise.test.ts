import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Anonymise, createAnonymiser } from '../../../../src/ai/privacy/anonymise.ts';
import { plainAnswers } from '../../../support/plain-answers.ts';
import { remainder, seededAnswers, spellings } from '../../../support/seeded-identifiers.ts';

const withoutNames = (): Anonymise => createAnonymiser(() => []);

describe('the anonymiser on identifiers', () => {
  // All of them in all spellings: test/integration/ai-identifiers.
  for (const [turn, spelling] of Object.keys(spellings).entries())
    it(`hides all of more than twenty different ones, ${spelling}`, () => {
      const some = seededAnswers
        .filter((candidate) => candidate.spelling === spelling)
        .filter((_, index) => index % 9 === turn % 9);
      assert.ok(some.length > 20);
      for (const seed of some) {
        const masked = withoutNames()(seed.answer);
        assert.deepEqual(remainder(masked, seed), [], `${seed.text} in ${seed.answer} became ${masked}`);
        assert.match(masked, /\[[A-Z]+_1\]/);
      }
    });

  it('joins groups across other marks, gaps or line breaks where they read like a telephone number', () => {
    const written = [
      '415,555,0123',
      '415:555:0123',
      '415;555;0123',
      "415'555'0123",
      '415’555’0123',
      '415\\555\\0123',
      '415\n555\n0123',
      '415 \r\n 555 \r\n 0123',
      '0171, 2345, 678',
      '030; 1234567',
      '0171\n2345678',
      '415 - - 555 - - 0123',
      '415    555    0123',
    ];
    for (const text of written)
      assert.equal(withoutNames()(`Mine is ${text} thanks`), 'Mine is [PHONE_1] thanks', text);
  });

  it('leaves numbers that read like a list or an amount', () => {
    for (const text of [
      '415, 555, 123',
      '100, 200, 3000',
      '001, 002, 003',
      '20,30,40,51',
      '08:30, 17:30',
      '1234567 kr',
      '100,000,000',
      'Rooms 101\n102\n103\n104',
    ])
      assert.equal(withoutNames()(text), text);
  });

  it('hides national ids, tokens, devices and addresses with secrets', () => {
    for (const text of [
      '078-05-1120',
      'AB 12 34 56 C',
      '12345678Z',
      'X1234567L',
      '123.456.789-09',
      '850101-1234',
      '131052-308T',
      'RSSMRA85T10A562S',
      'C01X00T47',
      '4b1de39c-87c7-4c5e-9d4e-0a4f1b1f3c55',
      '00:1b:44:11:3a:b7',
      'sk-live a1b2c3d4e5f60718',
      'https://example.org/reset?token=abcdef',
      'https://example.org/u/a8Jd93kdLs02mXnZqP',
      'ftp://user:pw@example.org/',
      'example.org/reset?token=abcdef',
      'www.example.org/#me',
      '@ann_lee',
      '一三八零零一三八零零零',
    ])
      assert.match(withoutNames()(`Mine: ${text}`), /\[(?:ID|URL|PHONE|HANDLE)_1\]$/, text);
  });

  it('hides streets with a house number', () => {
    for (const [text, masked] of [
      ['I live at 12 Baker Street', 'I live at [ADDRESS_1]'],
      ['Hauptstraße 12a in Bonn', '[ADDRESS_1] in Bonn'],
      ['5, calle de Alcalá 31', '5, [ADDRESS_1]'],
    ] as const)
      assert.equal(withoutNames()(text), masked);
  });

  it('hides an address behind the word "at" once, with its domain and without the words before it', () => {
    for (const [text, masked] of [
      ['Contact me at john.smith@1und1.de', 'Contact me at [EMAIL_1]'],
      ['please mail to us at max.muster@163.com', 'please mail to us at [EMAIL_1]'],
      ['reach me at anna.lee@gmx.de or at anna.lee@gmx.de', 'reach me at [EMAIL_1] or at [EMAIL_1]'],
      ['mail me at j.smith+tag@1und1.de', 'mail me at [EMAIL_1]'],
      ['reach me at john.smith @ 1und1.de', 'reach me at [EMAIL_1]'],
      ['look-at-john.smith@1und1.de', '[EMAIL_1]'],
      ['mail ann.lee at gmail.com @ann.lee', 'mail [EMAIL_1] [HANDLE_1]'],
      ['mail ann.lee at example.org @work', 'mail [EMAIL_1] @work'],
    ] as const)
      assert.equal(withoutNames()(text), masked);
  });

  it('gives the same thing one placeholder in any spelling, and another thing another', () => {
    const anonymise = withoutNames();
    assert.equal(anonymise('ann@example.org, bob@example.org, ANN@example.org'), '[EMAIL_1], [EMAIL_2], [EMAIL_1]');
    assert.equal(anonymise('again ｂｏｂ＠ｅｘａｍｐｌｅ．ｏｒｇ'), 'again [EMAIL_2]');
    assert.equal(anonymise('+49 30 1234567 or +49-30-123-4567'), '[PHONE_1] or [PHONE_1]');
  });

  // With names too: test/integration/ai-names.
  it('leaves plain answers unchanged', () => {
    for (const text of plainAnswers) assert.equal(withoutNames()(text), text);
  });

  it('replaces an identifier once if several rules find it, and the whole of overlapping ones', () => {
    const anonymise = createAnonymiser(() => []);
    assert.equal(anonymise('我叫王小明先生'), '我叫[PERSON_1]先生');
    assert.equal(anonymise('我是王小明，王小明先生'), '我是[PERSON_1]，[PERSON_1]先生');
    assert.equal(
      createAnonymiser(() => [
        { kind: 'PERSON', start: 4, end: 9 },
        { kind: 'PERSON', start: 0, end: 6 },
        { kind: 'PERSON', start: 0, end: 2 },
      ])('Ann Marie is here'),
      '[PERSON_1] is here',
    );
  });
});
