import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAnonymiser } from '../../src/ai/anonymise.ts';

const fullWidth = (text: string) => text.replace(/[!-~]/g, (character) => String.fromCharCode(character.charCodeAt(0) + 0xfee0));
const spaced = (text: string) => [...text].join('\u200b');

/** What must not leave, by the placeholder that stands for it. */
const seeds: Record<string, string[]> = {
  EMAIL: ['ann.lee@example.org', "o'neil+tag@mail.example.co.uk", 'jörg@müller.example', 'ann (at) example (dot) org', 'ann at example dot org'],
  PHONE: ['+49 30 1234567', '(415) 555-0132', '0044 20 7946 0958', '07700 900123', '+1-202-555-0143', '030/12345678'],
  CARD: ['4111 1111 1111 1111', '5500-0000-0000-0004', '378282246310005'],
  ACCOUNT: ['DE89 3704 0044 0532 0130 00', 'GB29NWBK60161331926819', 'FR14 2004 1010 0505 0001 3M02 606'],
  IP: ['192.168.10.24', '2001:db8::ff00:42:8329', '::1'],
  ID: ['078-05-1120', 'AB 12 34 56 C', '12345678Z', '123.456.789-09', '850101-1234'],
  URL: ['https://example.org/reset?token=abcdef', 'https://example.org/u/a8Jd93kdLs02mXnZqP', 'ftp://user:pw@example.org/'],
};

describe('the anonymiser', () => {
  for (const [kind, values] of Object.entries(seeds))
    it(`puts ${kind} placeholders for identifiers, also in full-width letters and with invisible characters between`, () => {
      for (const value of values)
        for (const [how, spelled] of [['as it is', value], ['full-width', fullWidth(value)], ['zero-width', spaced(value)]] as const) {
          const masked = createAnonymiser()(`Reach me: ${spelled} , thanks`);
          assert.match(masked, /\[[A-Z]+_1\]/, `${value} ${how}: ${masked}`);
          const left = masked.replace(/\[[A-Z]+_\d+\]/g, '');
          assert.doesNotMatch(left, /\d{3}|@/, `${value} ${how}: ${masked}`);
          if (how === 'as it is') assert.match(masked, new RegExp(`\\[${kind}_1\\]`), `${value}: ${masked}`);
        }
    });

  it('takes digits of other scripts for what they are', () => {
    assert.match(createAnonymiser()('call ٠٣٠١٢٣٤٥٦٧٨'), /\[PHONE_1\]/);
  });

  it('hides person names that are introduced or begin with a common given name, and street addresses', () => {
    for (const [text, masked] of [
      ['My name is Ann-Marie van der Berg and I like it', 'My name is [PERSON_1] and I like it'],
      ['Dr. Okonkwo was rude', 'Dr. [PERSON_1] was rude'],
      ['Thanks to Sarah Connor at the desk', 'Thanks to [PERSON_1] at the desk'],
      ['ich heiße Jürgen Müller', 'ich heiße [PERSON_1]'],
      ['我叫王小明', '我叫[PERSON_1]'],
      ['I live at 12 Baker Street', 'I live at [ADDRESS_1]'],
      ['Hauptstraße 12a in Bonn', '[ADDRESS_1] in Bonn'],
    ] as const)
      assert.equal(createAnonymiser()(text), masked);
  });

  it('gives the same thing the same placeholder and another thing another', () => {
    const anonymise = createAnonymiser();
    assert.equal(anonymise('ann@example.org, bob@example.org, ANN@example.org'), '[EMAIL_1], [EMAIL_2], [EMAIL_1]');
    assert.equal(anonymise('again bob@example.org'), 'again [EMAIL_2]');
  });

  it('leaves ordinary answers alone', () => {
    for (const text of ['I paid 12.50 for 3 lunches in 2026', 'Since 2026-01-15 it is better', 'Open 9:30 to 17:00', 'See https://example.org/menu', 'The staff was Great and Friendly', 'Version 1.2.3', '100,000 people', 'Ich mag das Essen', 'It took 3 days all the way', 'Mr and Mrs nobody'])
      assert.equal(createAnonymiser()(text), text);
  });

  it('stays fast on long and hostile texts', () => {
    // By processor time: the clock on the wall also counts what else the machine does.
    const before = process.cpuUsage();
    for (const piece of ['1 ', 'a@', 'A ', ':', '1.', 'Mr ', 'a.', '-1', 'DE89 ']) createAnonymiser()(piece.repeat(10_000 / piece.length));
    const { user } = process.cpuUsage(before);
    assert.ok(user < 3_000_000, `${user} µs`);
  });
});
