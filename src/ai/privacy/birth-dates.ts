import { everyMatch, type Finder } from './spans.ts';

const months = '\\p{L}{3,12}\\.?';
const day = '\\d{1,2}(?:st|nd|rd|th|er|º|\\.)?';
const dates = [
  '(?:\\d{1,4}[./ -]){2}\\d{1,4}',
  '(?:19|20)\\d{6}',
  `${day}\\s(?:of\\s|de\\s)?${months}(?:,?\\s(?:de\\s|of\\s)?(?:19|20)\\d\\d)?`,
  `${months}\\s\\d{1,2}(?:st|nd|rd|th)?(?:,?\\s(?:19|20)\\d\\d)?`,
  '(?:(?:昭和|平成|令和)?\\d{1,4}年)?\\d{1,2}月\\d{1,2}[日号]?',
  '(?:\\d{2,4}년\\s?)?\\d{1,2}월\\s?\\d{1,2}일',
].join('|');
const before = [
  'born(?: on| the)?|date of birth|birth ?date|birthday|d\\.?\\s?o\\.?\\s?b\\.?|b\\.',
  'geboren(?: am)?|geb\\.?(?: am)?|geburtsdatum|geburtstag',
  'née? le|date de naissance|anniversaire',
  'nac[íi](?:do|da)?(?: el)?|fecha de nacimiento|cumpleaños',
  'nat[oa] il|data di nascita|compleanno',
  'nasci(?:do|da)?(?: em| a)?|data de nascimento|aniversário',
  'geboren op|geboortedatum|verjaardag',
  'urodzon[ya]|ur\\.|data urodzenia|urodziny',
  'родил(?:ся|ась)|дата рождения|д\\.\\s?р\\.|день рождения',
  '出生日期|出生于|生日|生年月日|誕生日',
  '생년월일|생일',
  'تاريخ الميلاد|مواليد',
  'נולדתי ב-?|תאריך לידה|יום הולדת',
  'doğum tarihi(?:m)?|doğum günü(?:m)?',
  'जन्म तिथि|जन्मतिथि',
  '(?<!\\d)\\*(?=\\s?\\d{1,2}[./ ]\\d)',
].join('|');
const cueThenDate = new RegExp(
  `(?<![\\p{Script=Latin}\\p{Script=Cyrillic}*])(?:${before})(?!\\p{Script=Latin}|\\p{Script=Cyrillic})(?:\\s?(?:is|was|ist|war|est|es|è|é|to|on|am|the|le|el|il|op|em|:|=|是|は)){0,3}\\s{0,2}(${dates})(?![\\d])`,
  'giu',
);
const dateThenCue = new RegExp(
  `(?<![\\d])(${dates})(?:에|に|\\s)?\\s?(?:geboren|出生|生まれ|生(?!\\p{Script=Han})|년생|생(?!\\p{Script=Hangul}))`,
  'giu',
);

/** Dates of birth, where something says that they are. */
export const findBirthDates: Finder = (text) => {
  if (!/\d/.test(text)) return [];
  const after = everyMatch(text, cueThenDate).map(({ 0: match, 1: date = '', index }) => ({
    kind: 'BIRTH',
    start: index + match.length - date.length,
    end: index + match.length,
  }));
  return [
    ...after,
    ...everyMatch(text, dateThenCue).map(({ 1: date = '', index }) => ({
      kind: 'BIRTH',
      start: index,
      end: index + date.length,
    })),
  ];
};
