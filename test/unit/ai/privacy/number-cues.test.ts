import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAnonymiser } from '../../../../src/ai/privacy/anonymise.ts';

const masked = (text: string): string => createAnonymiser(() => [])(text);
const left = (text: string): string => masked(text).replace(/\[[A-Z]+_\d+\]/g, '');

describe('the anonymiser on numbers that look like lists, ranges or times', () => {
  it('hides numbers after a word for telephones, accounts or cards', () => {
    for (const text of [
      'tel. 20 30 40 50',
      'call me 40 50 60 70 please',
      'call 800 600 400',
      'mobile 1800 1900 2000',
      'My phone number is 2010 2015.',
      'tel 5 5 5 1 2 3 4',
      'tel 12-34 56-78',
      'tel 030-123 456-789',
      'my number is 12000000',
      'tel 12.30 14.45',
      'card number 5000 3000 2000 1000',
      'card 2010 2015 2012 2019',
      'account 10 20 30 40 50 60',
      'tel. Anna: 20 30 40 50',
      'reach me after work at 40 50 60 70',
      'Telefonnummer 20 30 40 50',
      'Kontonummer: 10 20 30 40 50 60',
      'meine Handynummer lautet 40 50 60 70',
      'call 212,555,1230',
      'call me: 212,555,4560',
      'tel 20, 30, 40, 50',
      'tel 1.50 2.50 3.50',
      'mon portable : 10 20 30 40 50',
      '我的电话 2010 2015',
      'My tel no. 20 30 40 50',
      'My mobile? 20 30 40 50',
      'tel\n20 30 40 50',
      'tél. 20 30 40 50',
      'tlf 20 30 40 50',
      'mob 20 30 40 50',
      'GSM: 20 30 40 50',
      'iban 10 20 30 40 50',
    ])
      assert.doesNotMatch(left(text), /\d/, `${text}: ${masked(text)}`);
  });

  it('hides numbers in words, also where no digit stands twice, but no counting or ranking', () => {
    for (const text of [
      'Call me on eight six seven five three zero nine',
      'My phone number is zero six five two one nine seven three',
      'null eins sieben sechs zwei fünf drei neun',
      'double zero one two three four five',
      'zéro six un deux trois quatre cinq sept',
      'cero seis uno dos nueve cuatro cinco siete',
      'zero tre quattro sette uno due cinque sei',
      'ноль шесть пять два один девять семь три',
      'call me on one two three four five six seven',
    ])
      assert.match(masked(text), /^(?:(?:Call me on|My phone number is) )?\[PHONE_1\]$/i, text);
    for (const text of [
      'one, two, three, four, five, six, seven, go',
      'nine eight seven six five four three two one zero',
      'uno due tre quattro cinque sei sette',
      'één, twee, drie, vier, vijf, zes, zeven',
      'three one two five four seven six',
    ])
      assert.equal(masked(text), text);
  });

  it('hides a second number that is joined to the first', () => {
    for (const text of [
      'tel 20 30 40 50 or 60 70 80 90',
      'my number is 20 30 40 50 and 60 70 80 90',
      'call 0171 234567 or 60 70 80 90',
      'mobile 40 50 60 70 (work) or 80 70 60 50 (home)',
      'Telefon 20 30 40 50 oder 60 70 80 90',
      'tél. 10 20 30 40 50 ou 60 70 80 90 10',
      'tel 20 30 40 50, or 60 70 80 90 or 30 40 50 60',
      'iban 10 20 30 40 50 und 20 30 40 50 60',
    ])
      assert.doesNotMatch(left(text), /\d/, `${text}: ${masked(text)}`);
    for (const text of [
      '20 30 40 50 or 60 70 80 90',
      'mobile app rated 5 4 4 3 5 4 5 or 4 3 4 5 4 4 3',
      'call me 09:00-12:00 or 14:00-16:00',
      'account for 100 200 300 or 400 500 600',
      'Contact me on 2024-01-15 or 2024-01-16',
      'the phone cost 1250000 EUR or 1350000 EUR',
      'call 5 people or 60 70 80 90',
    ])
      assert.equal(masked(text), text);
  });

  it('hides telephone numbers that look like ranges, and card numbers that look like marks out of five', () => {
    for (const text of [
      '020-123 456-789',
      '12-34 56-78',
      '4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1',
      '4,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1',
    ])
      assert.doesNotMatch(left(text), /\d/, `${text}: ${masked(text)}`);
  });

  it('hides numbers whose first digits could be a time of the day', () => {
    for (const text of [
      'tel 06:12 34 56 78',
      'contact: 15:30 20 30 40',
      'reach me 12:34 567 890',
      'mobile: 07:45 123 456',
      '06:12 34 56 78',
      '12:34 567 890',
      'tel 06:12 13:45 17:18',
      'tel. 06:12-34-56-78',
    ])
      assert.doesNotMatch(left(text), /\d/, `${text}: ${masked(text)}`);
  });

  it('leaves lists, times, dates and amounts, also after a word for telephones', () => {
    for (const text of [
      'phone support: 5 5 4 3 4 5 2',
      'phone bills 2018 2019 2020',
      'mobile app rated 5 4 4 3 5 4 5',
      'phone hours 9.00-17.30',
      'call me 09:00-12:00',
      'call me at 14:30, 15:45',
      'Contact me on 2024-01-15 14:30',
      'contact me 14:30 12/05/2024',
      'the phone cost 1250000 EUR',
      'account for 100 200 300',
      'gift card 100 200 300',
      'I tell them 100 200 300',
      'mobility 5 4 4 3 5 4 5',
      'at 12:30 150 people came',
      'um 08:30 1500 Leute',
      'from 10:30 15-20 people',
      '14:30 12/05/2024',
      '09:00-12:00 13:00-17:30',
      '50-99 100-149',
      '5-10 3-4 1-2 5-6',
      'Mobile 4/5 3/5 5/5 4/5',
    ])
      assert.equal(masked(text), text);
  });
});
