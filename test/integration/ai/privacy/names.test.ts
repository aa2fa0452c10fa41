import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type Anonymise, createAnonymiser, openAnonymiser } from '../../../../src/ai/privacy/anonymise.ts';
import { namedAnswers, namedInOtherScripts } from '../../../support/named-answers.ts';
import { plainAnswers } from '../../../support/plain-answers.ts';

/** Without the library. */
const introduced = (text: string): string => createAnonymiser(() => [])(text).replace(/\[PERSON_\d+\]/g, '[]');

describe('the anonymiser on names', () => {
  let anonymise: Anonymise;
  before(async () => {
    anonymise = await openAnonymiser();
  });

  it('hides introduced names, also in languages that the library does not know', async () => {
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

  it('hides introduced names whole that begin with initials or particles, or have no space before them', () => {
    for (const line of [
      'Dr.«Patel» did not listen',
      'Mr.«Adeyemi» helped me',
      'Mrs.«Thornbury» called back',
      'Sig.«Rossi» e la Sig.ra «Conti»',
      'Regards,«Peter Novak»',
      'Mrs. «T. Adeyemi» called',
      'Mrs «T Adeyemi» called',
      'Mr. «T. K. Okonkwo» left',
      'Mr. «John F. Kennedy» left',
      'Frau «A. Hrdlicka»',
      'Herr Dr. «A. Weber»',
      'my name is «T. Okonkwo»',
      'Herr «von Beust»',
      'mit Frau «von der Leyen»',
      'Monsieur «de Villepin»',
      'la señora «de la Torre»',
      'Doctora «de la Fuente»',
      "Signor «d'Amico»",
      "mijn naam is «van 't Hof»",
      "Mevr. «A.M.J. van 't Hof»",
      'Mevrouw «de Vries»',
      'Mr. «al-Fayed»',
      'Me llamo «María de los Santos»',
    ])
      assert.equal(introduced(line.replace(/[«»]/g, '')), line.replace(/«[^»]*»/g, '[]'));
  });

  it('hides names behind "M." and "Dra.", the French and Spanish titles', () => {
    for (const line of [
      'M. «Girard» était désagréable.',
      "j'ai vu M. «Garnier»",
      'le vendeur M. «Petit» est parfait',
      "J'ai parlé à M. «Dupont» hier.",
      'bonjour M. «Benali»',
      'Merci.\nM. «Dupont-Moretti» et MM. «Lopez» et Petit',
      'M. «de Villepin»',
      'M.«Girard» ne répond pas',
      'la Dra. «Pérez» fue amable',
      'la dra «Pérez» fue amable',
      'Dra. «Souza» me ajudou',
      'Dra. «de Souza» me ajudou',
      'Le vendeur, M. «Girard», était désagréable.',
      'Bonjour, M. «Girard»',
      'Merci, M. «Garnier» !',
      'Le directeur du magasin, M. «Benali», a refusé',
      'Mme & M. «Girard»',
      'Le 12 mars 2024, M. «Girard» a refusé',
      'Elle a pris M. «Girard» au téléphone',
      'À 14h30, M. «Girard» dormait',
      'M.«A. Girard» était désagréable',
      'Madame et MM. «Girard»',
      'Nurse MM. «Girard»',
      'Nurse Dra. «Souza»',
    ])
      assert.equal(introduced(line.replace(/[«»]/g, '')), line.replace(/«[^»]*»/g, '[]'));
  });

  it('hides names whole around an "M." that is an initial, and long ones behind "Dra."', async () => {
    for (const line of [
      'I met «Ngozi M. Smith»',
      '«Rose M. King»',
      'thanks «Priya M. Johnson»',
      '«Bill M. Johnson» helped me.',
      'Dra. «María del Carmen Pérez García López»',
    ])
      assert.equal((await openAnonymiser())(line.replace(/[«»]/g, '')), line.replace(/«[^»]*»/g, '[PERSON_1]'));
  });

  it('hides names behind words for people and "my name is" after a comma, a number or a sign', () => {
    for (const line of [
      'Hello, My name is «Nkechi»',
      'Hola, Me llamo «Nkechi»',
      'Hallo, Mein Name ist «Priyanka»',
      'Salve, Mi chiamo «Ndiaye»',
      'La vendeuse, Madame «Benkirane», était …',
      'Le vendeur, Monsieur «Girard», …',
      'At gate 4, Miss «Okonkwo»',
      'Nurse on ward 7, Mrs. «Okonkwo»',
      'Goedemiddag, Mevrouw «Jansma»',
      'Hallo, Meneer «Dijkhof»',
      'Madame & Monsieur «Girard»',
      'the Miss «Okonkwo» at gate 4/Mrs. «Okonkwo»',
    ])
      assert.equal(introduced(line.replace(/[«»]/g, '')), line.replace(/«[^»]*»/g, '[]'));
  });

  it('leaves what follows an "M." that is a size, a time, a line, or "dra" as a verb', () => {
    for (const text of [
      'M. was nice',
      'size M. Perfect fit',
      'I ordered M. Great shirt',
      'S, M. Both fit',
      'Taille M. Parfait',
      'Je prends du M. Parfait',
      'Größe M. Passt gut',
      'open till 9 P.M. Great',
      'line M. Trains are late',
      'it took 10 M. Never again',
      'M. The rest was fine',
      'Vi måtte dra. Ingen hjalp oss',
      'Size: M. Fits perfectly',
      'Size is M. Fits perfectly',
      'Taille : M. Parfaite',
      'Größe: M. Sitzt gut',
      'Gr. M. Sitzt gut',
      'talla: M. Muy bien',
      'Tamaño: M. Quedó bien',
      "j'ai commandé M. Parfait",
      "J'ai pris M. Parfait",
      'Je porte M. Parfait',
      'I chose M. Great fit',
      'I got M. Great fit',
      'S/M. Both fit',
      'taille 38, M. Parfait',
      '38/M. Both fit',
      'My degree is M.Sc. Physics',
      'My degree is M.A. Physics',
      'My degree is M.Ed. Physics',
      'I hold an M.A. Great course',
      'I have M.Phil. History',
    ])
      assert.equal(introduced(text), text);
  });

  it('leaves places and sentences behind a title', () => {
    for (const text of [
      'die Frau von der Kasse',
      'Die nette Frau von der Rezeption',
      'Der Herr von der Information',
      'meine Frau von Anfang an',
      'de mevrouw van de Albert Heijn',
      'la doctora de Urgencias',
      'la dra. de Urgencias fue amable',
      'la dra de Urgencias fue amable',
      'el doctor del Hospital Clínico',
      'a dona da Loja',
      'Madame la Directrice',
      'pan de Viena',
      'saludos de Madrid',
      'Schöne Grüße von der Nordsee',
      'please call me. P.S. The food was cold',
      'I asked the doctor.Then he left',
      'ta pani. W Warszawie jest lepiej',
      'la señora. A Madrid no vuelvo',
      'the nurse. I Think so',
    ])
      assert.equal(introduced(text), text);
  });

  it('finds nine of ten names in labelled answers, and takes few other words for names', () => {
    const { names, found, others, mistaken } = counted(
      anonymise,
      Object.values(namedAnswers).flat(),
      /[\p{L}\p{M}]+/gu,
    );
    assert.ok(names > 150 && found / names > 0.9, `${found} of ${names}`);
    assert.ok(others > 900 && mistaken / others < 0.03, `${mistaken} of ${others}`);
  });

  for (const [language, answers] of Object.entries(namedInOtherScripts))
    it(`finds names in ${language} that are not introduced, by their context or ending`, () => {
      const { names, found, others, mistaken } = counted(
        createAnonymiser(() => []),
        answers,
        /[\p{L}\p{M}]/gu,
      );
      assert.ok(names > 20 && found / names > 0.9, `${found} of ${names} letters`);
      assert.ok(others > 80 && mistaken / others < 0.03, `${mistaken} of ${others} letters`);
    });

  it('leaves plain answers unchanged', () => {
    for (const text of plainAnswers) assert.equal(anonymise(text), text);
  });

  it('hides names and secrets on both sides of another identifier', async () => {
    for (const [text, masked] of [
      ['John Smith 555-123-4567 Mary Jones', '[PERSON_1] [PHONE_1] [PERSON_2]'],
      ['Ask Peter Miller, 0151 23456789, Sarah Connor', 'Ask [PERSON_1], [PHONE_1], [PERSON_2]'],
      ['Anna (anna@x.de) Schmidt', '[PERSON_1] ([EMAIL_1]) [PERSON_2]'],
      ['Sarah @sconnor Connor', '[PERSON_1] [HANDLE_1] [PERSON_2]'],
      ['Sarah,sarah.connor.of.the.front.desk@mail.example.org', '[PERSON_1],[EMAIL_1]'],
      ['password: (ann@example.org)Secret12', 'password: [ID_1][EMAIL_1][ID_2]'],
      ['password: ann.of.the.front.desk.in.the.old.house@mail.example.org)Secret12', 'password: [EMAIL_1][ID_1]'],
    ] as const)
      assert.equal((await openAnonymiser())(text), masked);
    assert.equal((await openAnonymiser())('John Smith 555-123-4567 John Smith'), '[PERSON_1] [PHONE_1] [PERSON_1]');
  });
});

describe('given names in lower case', () => {
  let anonymise: Anonymise;
  before(async () => {
    anonymise = await openAnonymiser();
  });
  const left = (text: string): string => anonymise(text).replace(/\[PERSON_\d+\]/g, '[]');

  it('are people unless they are words of the language', () => {
    for (const line of [
      'I spoke with «leon»',
      'i spoke with «toni» on the phone',
      '«flora» and «jack»',
      '«clara» helped',
      '«vera» was rude',
      'Nurse «jo»',
      'thanks «tim»',
      '«sam» was great',
      '«ben» was nice to me',
      'i saw «nick» at the desk',
      'my waiter «tom» was nice',
    ])
      assert.equal(left(line.replace(/[«»]/g, '')), line.replace(/«[^»]*»/g, '[]'));
  });

  it('are people after words that stand before people, whatever else they mean', () => {
    for (const line of [
      'i spoke with «dan»',
      'i was served by «heather»',
      'i spoke with «ella» today',
      'Ich sprach mit «klein»',
    ])
      assert.equal(left(line.replace(/[«»]/g, '')), line.replace(/«[^»]*»/g, '[]'));
  });

  it('are people where somebody addresses, greets or introduces them, although they are words', () => {
    for (const line of [
      'I talked to «mark»',
      'i spoke to «mark» about it',
      'talk to «grace», she knows',
      'have spoken with «will» yesterday',
      'hi «mark»!',
      'dear «hope», thank you',
      'my boss «mark» and i agree',
      'our trainer «dawn» was late',
      'my colleague «faith»',
      'i was talking to «rose» in the lobby',
      'speak to «bill», please',
      'speak to «bill» or «pat»',
      'i talked with «will» and «drew» today',
      '«mark» was rude',
      'nice place. «pat» is always so helpful',
      'great food but «bill» was very unfriendly',
      '«heather» helped me, thanks',
      'long queue, «chuck» ignored us',
    ])
      assert.equal(left(line.replace(/[«»]/g, '')), line.replace(/«[^»]*»/g, '[]'));
  });

  it('stay words where they are used as words', () => {
    for (const text of [
      'up to mark',
      'not up to the mark',
      'i want to mark the date',
      'they talked to mark the occasion',
      'spoke to grant officers',
      'my boss will help',
      'ask if my boss will.',
      'my manager may',
      'by the grace of god',
      'hi hope you are well',
      'dear hope of mine',
      'i spoke to hope for more',
      'talked with joy in their eyes',
      'spoke with faith in us',
      'the mark was wrong',
      'mark is too low',
      'bill was huge',
      'the bill was rude',
      'they spoke with joy and hope.',
      'hope was lost and joy helped me',
      'dawn greeted us',
      'will is helpful to have',
      'grant helped us',
      'our partner grant is due',
      'our server curt and rude',
      'my coach drew and explained',
      'the design speaks to joy.',
      'it speaks to hope and to faith',
      'my friend rose to the occasion',
      'my boss may, or may not',
      'my doctor will, i think',
    ])
      assert.equal(anonymise(text), text);
  });

  it('are words where the language has such a word', () => {
    for (const text of [
      'mark the trails',
      'the rose garden',
      'they drew a line',
      'grant more holidays',
      'the light was amber',
      'heather in the garden',
      'zu lang gewartet',
      'te klein',
      'klein',
      'trop cher',
      'la información es clara',
      'la storia non era vera',
      'la flora es muy variada',
      'het is beter dan vorig jaar',
      'la camisa blanca',
      'muy rico',
      'ben çok memnunum',
      'la casa mia',
      'will you sue us',
      'la crème est blanche',
      'la réponse est claire',
      'gott, ja, jo',
      'he was curt',
    ])
      assert.equal(anonymise(text), text);
  });
});

/**
 * How much of what stands between guillemets becomes a placeholder, and how much of the rest, in parts that an
 * expression tells apart.
 */
function counted(anonymise: Anonymise, answers: readonly string[], part: RegExp) {
  const count = { names: 0, found: 0, others: 0, mistaken: 0 };
  for (const line of answers) {
    // What is left stands in the order in which it stood.
    const left = (anonymise(line.replace(/[«»]/g, ''))
      .replace(/\[[A-Z]+_\d+\]/g, ' ')
      .match(part) ?? [])[Symbol.iterator]();
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
