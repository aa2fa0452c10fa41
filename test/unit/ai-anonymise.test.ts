import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { createAnonymiser, openAnonymiser, type Anonymise } from '../../src/ai/anonymise.ts';
import { namedAnswers, namedInOtherScripts } from '../support/named-answers.ts';
import { remainder, seededAnswers, spellings } from '../support/seeded-identifiers.ts';

const withoutNames = (): Anonymise => createAnonymiser(() => []);

describe('the anonymiser and identifiers', () => {
  // All of them in all spellings: test/integration/ai-identifiers.
  for (const [turn, spelling] of Object.keys(spellings).entries())
    it(`leaves nothing of more than twenty different ones, ${spelling}`, () => {
      const some = seededAnswers.filter((candidate) => candidate.spelling === spelling).filter((_, index) => index % 9 === turn % 9);
      assert.ok(some.length > 20);
      for (const seed of some) {
        const masked = withoutNames()(seed.answer);
        assert.deepEqual(remainder(masked, seed), [], `${seed.text} in ${seed.answer} became ${masked}`);
        assert.match(masked, /\[[A-Z]+_1\]/);
      }
    });

  it('takes groups with other marks, gaps or line breaks between them for one number where they read as a telephone’s', () => {
    const written = [
      '415,555,0123', '415:555:0123', '415;555;0123', "415'555'0123", '415’555’0123', '415\\555\\0123', '415\n555\n0123', '415 \r\n 555 \r\n 0123', '0171, 2345, 678', '030; 1234567', '0171\n2345678',
      '415 - - 555 - - 0123', '415    555    0123',
    ];
    for (const text of written) assert.equal(withoutNames()(`Mine is ${text} thanks`), 'Mine is [PHONE_1] thanks', text);
  });

  it('leaves what cannot be told from a list or an amount', () => {
    for (const text of ['415, 555, 123', '100, 200, 3000', '001, 002, 003', '20,30,40,51', '08:30, 17:30', '1234567 kr', '100,000,000', 'Rooms 101\n102\n103\n104']) assert.equal(withoutNames()(text), text);
  });

  it('hides national ids, tokens, devices and addresses with secrets', () => {
    for (const text of [
      '078-05-1120', 'AB 12 34 56 C', '12345678Z', 'X1234567L', '123.456.789-09', '850101-1234', '131052-308T', 'RSSMRA85T10A562S', 'C01X00T47', '4b1de39c-87c7-4c5e-9d4e-0a4f1b1f3c55', '00:1b:44:11:3a:b7',
      'sk-live a1b2c3d4e5f60718', 'https://example.org/reset?token=abcdef', 'https://example.org/u/a8Jd93kdLs02mXnZqP', 'ftp://user:pw@example.org/', 'example.org/reset?token=abcdef', 'www.example.org/#me', '@ann_lee', '一三八零零一三八零零零',
    ])
      assert.match(withoutNames()(`Mine: ${text}`), /\[(?:ID|URL|PHONE|HANDLE)_1\]$/, text);
  });

  it('hides streets with a house number', () => {
    for (const [text, masked] of [['I live at 12 Baker Street', 'I live at [ADDRESS_1]'], ['Hauptstraße 12a in Bonn', '[ADDRESS_1] in Bonn'], ['5, calle de Alcalá 31', '5, [ADDRESS_1]']] as const) assert.equal(withoutNames()(text), masked);
  });

  it('gives the same thing the same placeholder, however it is spelled, and another thing another', () => {
    const anonymise = withoutNames();
    assert.equal(anonymise('ann@example.org, bob@example.org, ANN@example.org'), '[EMAIL_1], [EMAIL_2], [EMAIL_1]');
    assert.equal(anonymise('again ｂｏｂ＠ｅｘａｍｐｌｅ．ｏｒｇ'), 'again [EMAIL_2]');
    assert.equal(anonymise('+49 30 1234567 or +49-30-123-4567'), '[PHONE_1] or [PHONE_1]');
  });

  it('leaves ordinary answers as they were written, to the character', async () => {
    const anonymise = await openAnonymiser();
    for (const text of ordinary) assert.equal(anonymise(text), text);
  });

  it('replaces an identifier once where several rules find it, and where they overlap the whole of it', () => {
    const anonymise = createAnonymiser(() => []);
    assert.equal(anonymise('我叫王小明先生'), '我叫[PERSON_1]先生');
    assert.equal(anonymise('我是王小明，王小明先生'), '我是[PERSON_1]，[PERSON_1]先生');
    assert.equal(createAnonymiser(() => [{ kind: 'PERSON', start: 4, end: 9 }, { kind: 'PERSON', start: 0, end: 6 }, { kind: 'PERSON', start: 0, end: 2 }])('Ann Marie is here'), '[PERSON_1] is here');
  });
});

describe('the anonymiser and names', () => {
  let anonymise: Anonymise;
  before(async () => {
    anonymise = await openAnonymiser();
  });

  it('hides those that are introduced, in languages that the library does not know too', async () => {
    for (const [text, masked] of [
      ['My name is Ann-Marie van der Berg and I like it', 'My name is [PERSON_1] and I like it'],
      ['Dr. Okonkwo was rude', 'Dr. [PERSON_1] was rude'],
      ['Thanks to Sarah Connor at the desk', 'Thanks to [PERSON_1] at the desk'],
      ['ich heiße Jürgen Müller', 'ich heiße [PERSON_1]'],
      ['我叫王小明', '我叫[PERSON_1]'],
      ['我是学生', '我是学生'],
      ['Mr and Mrs nobody', 'Mr and Mrs nobody'],
      ['Will you open in May?', 'Will you open in May?'],
    ] as const)
      assert.equal((await openAnonymiser())(text), masked);
  });

  it('finds nine of ten names in labelled answers, and takes few other words for names', () => {
    const { names, found, others, mistaken } = counted(anonymise, Object.values(namedAnswers).flat(), /[\p{L}\p{M}]+/gu);
    assert.ok(names > 150 && found / names > 0.9, `${found} of ${names}`);
    assert.ok(others > 900 && mistaken / others < 0.03, `${mistaken} of ${others}`);
  });

  for (const [language, answers] of Object.entries(namedInOtherScripts))
    it(`finds names that nobody introduces in ${language}, by what stands beside them or how they end`, () => {
      const { names, found, others, mistaken } = counted(createAnonymiser(() => []), answers, /[\p{L}\p{M}]/gu);
      assert.ok(names > 20 && found / names > 0.9, `${found} of ${names} letters`);
      assert.ok(others > 80 && mistaken / others < 0.03, `${mistaken} of ${others} letters`);
    });
});

/** How much of what stands between guillemets becomes a placeholder, and how much of the rest, in parts that an expression tells apart. */
function counted(anonymise: Anonymise, answers: readonly string[], part: RegExp) {
  const count = { names: 0, found: 0, others: 0, mistaken: 0 };
  for (const line of answers) {
    // What is left stands in the order in which it stood.
    const left = (anonymise(line.replace(/[«»]/g, '')).replace(/\[[A-Z]+_\d+\]/g, ' ').match(part) ?? [])[Symbol.iterator]();
    let next = left.next();
    for (const piece of line.split(/(?=«)|(?<=»)/))
      for (const word of piece.match(part) ?? []) {
        const isLeft = !next.done && next.value === word;
        if (isLeft) next = left.next();
        if (piece.startsWith('«')) [count.names, count.found] = [count.names + 1, count.found + (isLeft ? 0 : 1)];
        else [count.others, count.mistaken] = [count.others + 1, count.mistaken + (isLeft ? 0 : 1)];
      }
  }
  return count;
}

const ordinary = [
  'I paid 12.50 for 3 lunches in 2026', 'Since 2026-01-15 it is better', 'Open 9:30 to 17:00', 'See https://example.org/menu', 'The staff was Great and Friendly', 'Version 1.2.3', '100,000 people', 'Ich mag das Essen',
  'It took 3 days all the way', 'On 12/05/2024 14:30 I waited 25 minutes.', 'From 2019-2023 prices rose by 18.5 %.', 'Between 08.30-17.30 nobody answers.', 'The budget was 1.500.000 € or 1 500 000 people.',
  '$1,250,000.00 is too much, 2500000 EUR too.', 'I gave 4/5 3/5 5/5 and 10/10 for the food.', '12.50 - 15.00 is a fair price', '1 2 3 4 5 6 7 8 9 10 is how I rank them', 'Rooms 101, 102, 103, 104, 105 are cold.',
  '10, 20, 30, 40, 50, 60, 70, 80', 'In 2019, 2020, 2021 and 2022 it was fine', '15.01.2024 - 20.02.2024 was the best period', 'Top 10, level 3, 100 %, 24/7, A4, B12, 5G, COVID-19, iPhone 15', 'I would give 9 out of 10; 99.9% uptime; 3.5 stars',
  'We are 4 adults and 2 children, aged 35-44', 'Size 42, 1920x1080, 2000mAh, 120 km/h, 100000 km', 'Lunch @ noon for 5 EUR @ the bar', 'Meet me at the station at 10.30', 'Look at example.org/menu and www.example.org', 'std::vector is C++',
  'Ratio 3:2:1, time 12:30:45', 'Phone support in 2019 was better', 'option (a) is better than (b)', 'Wir sind seit 01.04.2019 Kunde, Abteilung 4, Raum 2.15', 'Le 14 juillet 2023 à 19h30, 45 personnes', 'El 80% de los 1.200 empleados', '価格は１２００円です。',
  '2024年1月15日に来ました', 'من 2019 الى 2023', 'Section 1.2.3.4.5 of the manual', '#1 choice!', 'e.g. 5-7 days, 10-15 minutes, 2-3 times', 'https://example.org/our-christmas-menu/2024/winter', 'Q1 2024, H2 2025, FY2023/24', 'the 1990s and 2000s',
  '1:0, 2:1 and 3:3', '500 g, 1.5 l, 37.5 °C', 'Best. Day. Ever.', 'Windows 11 23H2', '食べ物は「とても」良い…でも高い。', 'Cafe\u0301 – très bon, naïve “quotes” and soft\u00adhyphens stay',
];
