import { everyMatch, type Span } from '../spans.ts';

const words = [
  'zero|one|two|three|four|five|six|seven|eight|nine|double|triple',
  'null|eins|zwei|zwo|drei|vier|fünf|sechs|sieben|acht|neun',
  'zéro|un|deux|trois|quatre|cinq|six|sept|huit|neuf',
  'cero|uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve',
  'due|tre|quattro|cinque|sei|sette|otto|nove',
  'um|dois|três|quatro|sete|oito',
  'nul|een|één|twee|drie|vijf|zes|zeven|acht|negen',
  'jeden|dwa|trzy|cztery|pięć|sześć|siedem|osiem|dziewięć',
  'ноль|один|два|три|четыре|пять|шесть|семь|восемь|девять',
].join('|');
const spoken = new RegExp(
  `(?<![\\p{L}\\d])(?:(?:${words})(?!\\p{L})|\\d{1,12}(?![\\d\\p{L}]))(?:[\\s,.-]{1,3}(?:(?:${words})(?!\\p{L})|\\d{1,12}(?![\\d\\p{L}])))+`,
  'giu',
);
const word = new RegExp(`(?:${words})`, 'giu');
const minDigits = 7;

const hanDigits = '〇一二三四五六七八九';
const formalDigits = '零壹贰叁肆伍陆柒捌玖';
const koreanDigits = '공일이삼사오육칠팔구';
const hanRun =
  /[0-9〇零一二三四五六七八九幺壹贰叁肆伍陆柒捌玖](?:[ 、,.ー-]{0,2}[0-9〇零一二三四五六七八九幺壹贰叁肆伍陆柒捌玖]){6,}/gu;
/** Its digits are syllables of words too; a telephone number begins with zero. */
const koreanRun = /[공영0][ -]?[일이삼사오육칠팔구1-9](?:[ -]?[공영일이삼사오육칠팔구0-9]){6,}/gu;

/** Digits that are told one by one in words: "four one five …". Counting is none of it. */
export function findSpelledOutNumbers(text: string): Span[] {
  return everyMatch(text, spoken).flatMap(({ 0: match, index }) => {
    const spelled = match.match(word)?.map((one) => one.toLowerCase()) ?? [];
    const count = spelled.length + (match.match(/\d/g)?.length ?? 0);
    return spelled.length >= 3 &&
      count >= minDigits &&
      new Set(spelled).size < spelled.length + (/\d/.test(match) ? 1 : 0)
      ? [{ kind: 'PHONE', start: index, end: index + match.length }]
      : [];
  });
}

/** East Asian digits, and the dash between them, as ASCII where many of them stand together, so that what reads numbers reads them; the text stays as long. */
export function withAsianDigits(text: string): string {
  if (!/[〇零一二三四五六七八九幺壹贰叁肆伍陆柒捌玖공영일이ー]/u.test(text)) return text;
  return text
    .replace(hanRun, digits)
    .replace(koreanRun, digits)
    .replace(/(?<=[\d)])ー(?=[\d(])/g, '-');
}

function digits(run: string): string {
  return [...run]
    .map((character) => {
      const value = [hanDigits, formalDigits, koreanDigits].map((row) => row.indexOf(character)).find((at) => at >= 0);
      return value === undefined ? character.replace('幺', '1').replace('영', '0') : String(value);
    })
    .join('');
}
