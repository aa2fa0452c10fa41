import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAnonymiser } from '../../../../src/ai/privacy/anonymise.ts';

const masked = (text: string): string => createAnonymiser(() => [])(text);

describe('the anonymiser on codes', () => {
  it('does not take digits of a number for the code of a control character', () => {
    for (const text of [
      '100%12345678',
      '100\\x12345678',
      '50%09876543',
      '10%7F1234567',
      '100%21234567',
      '5&#18;3456789',
    ])
      assert.doesNotMatch(masked(text), /\d{4}/, `${text}: ${masked(text)}`);
    assert.doesNotMatch(masked('mine%09xq@example.org'), /xq|@/);
  });

  it('hides a letter and a date’s digits as a whole, but no time stamp', () => {
    assert.equal(masked('K19850304 is my passport'), '[ID_1] is my passport');
    assert.equal(masked('passport no. PA20010203'), 'passport no. [ID_1]');
    for (const text of ['20200101T1234', '20200101T123456Z', 'at 20240315T0930']) assert.equal(masked(text), text);
    assert.equal(masked('20209901T1234'), '[ID_1]');
  });

  it('hides a date of birth whose month is a word between dashes, dots or strokes', () => {
    for (const text of [
      'DOB 12-Mar-1980',
      'date of birth 12-Mar-80',
      'fecha de nacimiento: 12-mar-1980',
      'born 3/May/1980',
      'DOB Mar-12-1980',
      'DOB: mar.12.80',
      'DOB 1980-Mar-12',
      'fecha de nacimiento: 1980/mar/12',
      'May-3-1980 geboren',
    ])
      assert.doesNotMatch(masked(text), /mar|may|\d\d/i, `${text}: ${masked(text)}`);
    for (const date of ['12-Mar-1980', 'Mar-12-1980', '1980-Mar-12'])
      assert.equal(masked(`delivered ${date}`), `delivered ${date}`);
  });

  it('hides a date of birth whole where articles, weekdays, forms or places stand beside it', () => {
    for (const line of [
      'Mein Geburtsdatum ist der «12.03.1980»',
      'Mein Geburtstag ist der «12. März 1980»',
      'Geburtsdatum: den «12.03.1980»',
      'Geburtsdatum lautet «12.03.1980», danke',
      'Geburtsdatum (TT.MM.JJJJ): «12.03.1980»',
      'Geb.-Datum: «12.03.1980»',
      'Geburtstag: Mittwoch, den «12. März 1980»',
      'nací el día «12 de marzo de 1980»',
      'mi fecha de nacimiento es el día «12/03/1980»',
      'meu aniversário é dia «12/03/1980»',
      'nasci no dia «12 de março de 1980»',
      'sono nata il giorno «12/03/1980»',
      'sono nato a Roma il «12/03/1980»',
      'Date of birth (DD/MM/YYYY): «12/03/1980»',
      'date of birth - «12.03.1980»',
      'date of birth «reads 12. 03. 1980»',
      'birth date: Wednesday, «12 March 1980»',
      'birth date: Wednesday, «March 12, 1980»',
      "my birthday's «March 12, 1980»",
      '«12/03/1980» is my date of birth',
      'Le «12/03/1980» est ma date de naissance',
      'I was born in London on «12 March 1980»',
      'born in Stoke-on-Trent, «12/03/1980»',
      'Ich wurde am «12.03.1980» in Köln geboren',
      'geboren in Bad Homburg am «12. März 1980»',
      'urodziłam się «12 marca 1980»',
      'urodziłem się w Krakowie «12.03.1980»',
      'né(e) le «12/03/1980»',
      'née à Aix le «12 mars 1980»',
      'я родилась в Москве «12 марта 1980»',
      'Geburtsdatum «offiziell 12-Mar-1980»',
      'birthday falls «12.Mar.1980»',
      'my birthday falls on «12-Mar-1980»',
      'Mein Geburtsdatum ist der «12.3.»',
      'Mein Geburtsdatum ist Mittwoch der «12. März 1980»',
      'Date of birth? «12.03.1980»',
      'Date of birth (DD/MM/YY): «12/03/80»',
      'Date of birth (optional): «12/03/1980»',
      'date of birth (mine) «12/03/80»',
      'né au Maroc le «12/03/1980»',
      'née aux Pays-Bas le «12 mars 1980»',
      'geb. in Köln am «12.03.1980»',
      'geboren zu Köln am «12.03.1980»',
      'geboren bei Köln am «12. März 1980»',
      'Ich wurde am «12.03.1980» bei Köln geboren',
      'nació en Madrid el «12 de marzo de 1980»',
      'nació el «12/03/1980»',
      'born in St. Albans on «12/03/80»',
      'born in the U.S. on «12-Mar-1980»',
      'born in the United Kingdom on «12 March 1980»',
      'born in London, England, on «12 March 1980»',
      'i was born in london, england on «12 march 1980»',
      'born in Trinidad and Tobago on «12 March 1980»',
      'geboren in Frankfurt a. M. am «12.03.1980»',
      'nací en Castilla y León el «12 de marzo de 1980»',
    ])
      assert.equal(masked(line.replace(/[«»]/g, '')), line.replace(/«[^»]*»/g, '[BIRTH_1]'));
  });

  it('hides a number whole that is no date, also behind a birth, its place or the word for its date', () => {
    for (const line of [
      'Born in Berlin, Tel. «0171-555-12-34»',
      'née à Lyon, Tél. «06.12.34.56.78»',
      'Geburtsdatum: Handy «0171-555-12-34»',
      'Date de naissance - tel «06.12.34.56.78»',
      'born in Leeds, card «4111-1111-1111-1111»',
      'date of birth - customer «12-34-5678-99»',
      '«06.12.34.56.78» is my birthday number',
      '«0171-555-12-34» in Köln geboren',
    ])
      assert.match(
        masked(line.replace(/[«»]/g, '')).replace(/\[(?:PHONE|CARD|ID)_1\]/, '[]'),
        new RegExp(`^${line.replace(/[.]/g, '\\.').replace(/«[^»]*»/g, '\\[\\]')}$`),
        line,
      );
  });

  it('hides a number whole whose first or last groups read as a date of birth', () => {
    for (const line of [
      'geboren te Gent, «85.07.30 033.61»',
      'Born in Malmö, «19800312 1234»',
      'Born in Oslo, «12.03.80 12345»',
      'Born in Leeds, «20-12-34 567890»',
      'nací en Madrid, «01.42.68 53 00»',
      'Date of birth (DD/MM/YYYY) «4111 1111 1111 1111»',
      'Date of birth (DD/MM/YYYY): «0171-555-12-34»',
      '«0171 55 12.03.80» in Köln geboren',
      'my birthday is the «12/3/4444555»',
      'DOB «12/03/1980\n0171 23456»',
    ])
      assert.equal(
        masked(line.replace(/[«»]/g, '')).replace(/\[(?:PHONE|CARD|ID|BIRTH)_1\]/, '[]'),
        line.replace(/«[^»]*»/g, '[]'),
      );
  });

  it('hides a day of birth behind an article, with its month or alone', () => {
    for (const line of [
      'My birthday is the «12th»',
      'My birthday is the «12».',
      'My birthday is on the «12/3»',
      'my birthday is the «12.3.»',
      'cumpleaños el día «12»',
      'compleanno il giorno «12»',
      'Mein Geburtstag ist der «12»',
    ])
      assert.equal(masked(line.replace(/[«»]/g, '')), line.replace(/«[^»]*»/g, '[BIRTH_1]'));
  });

  it('leaves numbers and dates beside a word for births that are none of birth', () => {
    for (const text of [
      'I was born in London and moved here 12 years ago',
      'born in Köln, 12 Jahre hier',
      'né à Paris, 12 ans ici',
      'Our son was born in this hospital, room 12',
      'My birthday dinner for 12 was perfect',
      'Mein Geburtstag war schön, 10 von 10',
      'el cumpleaños de 12 niños',
      'my birthday party on 12.05.2024',
      'a birthday - 5 stars',
      'my anniversary (5 years) was great',
      'Visited on 12/03/2024, my birthday present was late',
      'At birth 12 people were in the room',
      'I was born in London. Visited 12/03/2024',
      'I was born in Rome. Visited 12/03/2024',
      'I was born in Paris and joined on 3 March 2015',
      'I was born in Paris and I joined on 3 March 2015',
      'né à Paris et arrivé le 3 mars 2015',
      'Baby born in hospital, discharged 14/03/2024',
      'geboren in Köln, eingezogen am 12.03.2024',
      'Born in Oslo. Pay 1.234.567 kr',
      'born in the fire of 1.000.000 reviews',
      'date of birth - version 1.2.3 crashes',
      'birthday (kids) 10/12/14 came',
      'Is it your birthday? 12 people came',
      'my birthday is the 12-345 code',
      'my birthday was the 120 km drive',
    ])
      assert.equal(masked(text), text);
  });

  it('hides plates behind a word for them, with and without spaces', () => {
    for (const [word, plate] of [
      ['number plate', 'AB12CDE'],
      ['licence plate', 'AB12CDE'],
      ['license plate:', '7ABC123'],
      ['license plate number:', '7ABC123'],
      ['targa', 'AB123CD'],
      ['my number plate is', 'AB12 CDE'],
      ['Kennzeichen', 'MÜ-AB 1234'],
      ['kenteken', '12-AB-34'],
      ['matrícula', '1234 BCD'],
      ['matrícula', '2015 bcd'],
      ['matrícula', '1987-bcd'],
      ['госномер', 'А123ВС77'],
      ['number plate', 'ab12cde'],
      ['number plate', 'ab12 cde'],
      ['license plate', 'abc 123'],
      ['number plate', 'A1 ABC'],
      ['Kennzeichen', 'B-AB 1'],
      ['Nummernschild', 'B-AB 123'],
      ['my car reg is', 'AB12 CDE'],
      ['номер машины', 'А123ВС77'],
      ['Kennzeichen', 'la ab 123'],
    ] as const)
      assert.equal(masked(`${word} ${plate}, thanks`), `${word} [ID_1], thanks`);
    assert.equal(masked('plate AB12 CDE was lost'), 'plate [ID_1] was lost');
    assert.equal(masked('plate 1234 in Berlin'), 'plate [ID_1] in Berlin');
  });

  it('leaves measures, years and scores behind a word for plates', () => {
    for (const text of [
      'plate of 300 g',
      'plate 300 g',
      'the plate was 25cm wide',
      'plates 1000 kr',
      'plate 100% clean',
      'the plate for 150 kr',
      'THE PLATE WAS 3 CM TOO BIG',
      'PLATE 5 OUT OF 10',
      'license plate 2019',
      'targa 2015 bella',
      'number plate missing',
      'the plate cost 25',
      'the plate cost 250',
      'plate #1 was best',
      'plate 20x30cm',
    ])
      assert.equal(masked(text), text);
  });

  it('hides IP addresses after a number, and takes no telephone number for one', () => {
    assert.equal(masked('my ip: 01 8.8.8.8'), 'my ip: 01 [IP_1]');
    assert.equal(masked('1) 0100 10.1.2.3'), '1) 0100 [IP_1]');
    for (const text of ['01 23.45.67.89', '+33 1.23.45.67.89', '0171 23.45.67.89'])
      assert.equal(masked(text), '[PHONE_1]');
  });

  it('hides IPv6 and hardware addresses, however their parts are joined', () => {
    for (const text of [
      '0xC0.0xA8.0x00.0x01',
      '0xc0.0xa8.0.1',
      'my ip address is C0.A8.00.01',
      'ip c0.a8.0.1',
      '2001-0db8-0000-0000-0000-ff00-0042-8329',
      'fe80-0-0-0-1ff-fe23-4567-890a',
      '2001-db8--1.ipv6-literal.net',
      '2001 : db8 : 0 : 0 : 8a2e : 370 : 7334 : 1',
      '2001: db8: 85a3: 0: 0: 8a2e: 370: 7334',
      'fe80 :: 1ff : fe23',
      '2001:db8 :: 1',
      'fe80--1s4.ipv6-literal.net',
      'b.a.9.8.7.6.5.0.4.0.0.0.3.0.0.0.2.0.0.0.1.0.0.0.0.0.0.0.1.2.3.4.ip6.arpa',
      '1.0.0.127.in-addr.arpa',
    ])
      assert.match(masked(text), /^[a-z ]*\[IP_1\]$/, `${text}: ${masked(text)}`);
    for (const text of [
      'a-b-c-d-e-f-a-b',
      '5-4-3-2-1-5-4-3',
      'a.b.c.d',
      'on the trip c.d.e.f',
      'we see 1-2 a-b',
      'version 1a.2b.3c.4d',
    ])
      assert.equal(masked(text), text);
  });

  it('hides IPv6 addresses with spaces around their colons beside another colon', () => {
    const [whole, short] = ['2001 : db8 : 85a3 : 0 : 0 : 8a2e : 370 : 7334', '2001 : db8 :: 8a2e : 370 : 7334'];
    for (const address of [whole, short, whole.toUpperCase()]) {
      for (const before of ['IP:', 'IP: ', 'IPv6:', 'IPv6 : ', 'My ip add: ', 'add:', 'Dec : ', '12 : '])
        assert.match(
          masked(`${before}${address} is mine`),
          /^[^\d]*6?[^\d]*\[IP_1\] is mine$/,
          `${before}${address}: ${masked(`${before}${address} is mine`)}`,
        );
      for (const behind of [' : it was slow', ': slow', ' :', ' : bad', ' : 5 stars', ' : 5 : 4'])
        assert.match(
          masked(`at ${address}${behind}`),
          /^at \[IP_1\]( ?: ?(it was )?slow| :| stars|)$/,
          `${address}${behind}: ${masked(`at ${address}${behind}`)}`,
        );
    }
    for (const text of ['fe80 :: 1', 'fd00 :: 12', '2a02 :: 15', '64 :: a1'])
      assert.equal(masked(text), '[IP_1]', text);
  });

  it('hides German pension numbers as they are printed', () => {
    for (const text of ['65 170839 J 008', '65 170839 J008', '65170839J008']) assert.equal(masked(text), '[ID_1]');
  });

  it('hides national insurance numbers in small letters, and no words beside numbers', () => {
    for (const text of ['ab 12 34 56 c', 'ab-12-34-56-c', 'Ab 12 34 56 C', 'jg 10 30 20 a'])
      assert.equal(masked(text), '[ID_1]');
    for (const text of ['at 12 10 20 a day', 'is 10 20 30 a lot', 'by 10 20 30 b', 'or 10 20 30 a', 'pm 10 20 30 a'])
      assert.equal(masked(text), text);
  });
});
