import { isCountOrRanking } from './digit-chains.ts';
import { isPersonalNumber } from './ordinary-numbers.ts';
import { everyMatch, type Span } from './spans.ts';

/** The words for the digits 0 to 9 in nine languages. */
const digitWords = [
  'zero|null|zéro|cero|nul|ноль',
  'one|eins|un|uno|um|een|één|jeden|один',
  'two|zwei|zwo|deux|dos|due|dois|twee|dwa|два',
  'three|drei|trois|tres|tre|três|drie|trzy|три',
  'four|vier|quatre|cuatro|quattro|quatro|cztery|четыре',
  'five|fünf|cinq|cinco|cinque|vijf|pięć|пять',
  'six|sechs|seis|sei|zes|sześć|шесть',
  'seven|sieben|sept|siete|sette|sete|zeven|siedem|семь',
  'eight|acht|huit|ocho|otto|oito|osiem|восемь',
  'nine|neun|neuf|nueve|nove|negen|dziewięć|девять',
];
const digitOf = new Map(digitWords.flatMap((words, digit) => words.split('|').map((word) => [word, digit])));
const digit = `(?:(?:${digitWords.join('|')}|double|triple)(?!\\p{L})|\\d{1,12}(?![\\d\\p{L}]))`;
const spelledOut = new RegExp(`(?<![\\p{L}\\d])${digit}(?:[\\s,.-]{1,3}${digit})+`, 'giu');
const minDigits = 7;

/** Finds numbers spelled in words digit by digit ("four one five …"), but no counting that nothing announces. */
export function findSpelledOutNumbers(text: string): Span[] {
  return everyMatch(text, spelledOut).flatMap(({ 0: match, index }) => {
    const words = match.toLowerCase().match(/\p{L}+/gu) ?? [];
    const figures = match.match(/\d/g)?.length ?? 0;
    if (words.length < 3 || words.length + figures < minDigits) return [];
    const isCounting = figures === 0 && isCountOrRanking(words.map((word) => digitOf.get(word) ?? Number.NaN));
    return isCounting && !isPersonalNumber(text, index)
      ? []
      : [{ kind: 'PHONE', start: index, end: index + match.length }];
  });
}
