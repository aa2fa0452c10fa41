import { isPersonalNumber } from './number-cues.ts';

/** Times of the day tell nothing, and stand beside dates and numbers. */
const clockTimes = /(?<![\d:.])(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d)?(?!:?\d)/g;
const anotherTime = /^\s?[ -]\s?(?:[01]?\d|2[0-4])[:.h][0-5]\d(?!\d|[ .\-/:]{1,3}\d)/;
const range = /^\s?-\s?(?:[01]?\d|2[0-4]):[0-5]\d(?!\d|[.\-/:]\d| \d)/;
const date = /^[ ,]{1,2}\d{1,4}([./-])\d{1,2}\1\d{2,4}(?!\d)/;
/** So many digits that they and the time make a number of a telephone. */
const furtherDigits = /^[ .\-/]{1,3}\d(?:[ .\-/]{0,3}\d){4}|^([ -])\d\d\1\d\d(?!\d)/;
const stamp = '(?:19|20)\\d\\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\\d|3[01])T(?:[01]\\d|2[0-3])[0-5]\\d(?:[0-5]\\d)?Z?';
const timeStamps = new RegExp(`(?<![\\p{L}\\d])${stamp}(?![\\p{L}\\d])`, 'gu');
const wholeStamp = new RegExp(`^${stamp}$`);
const joint = /^[ .\-/]{1,3}$/;

export interface Times {
  /** Hours and minutes, also with a date before them. */
  times: { start: number; end: number }[];
  /** Where the colon of a number stands that only begins as a time does: "06:12 34 56 78". */
  colons: number[];
}

/** "20240315T0930" (ISO 8601, basic format). */
export const isTimeStamp = (word: string): boolean => wholeStamp.test(word);

/** Tells times from numbers with a colon in them. */
export function timesOf(text: string): Times {
  const found: Times = {
    times: [...text.matchAll(timeStamps)].map(({ 0: time, index }) => ({ start: index, end: index + time.length })),
    colons: [],
  };
  let numberEnd = -1;
  for (const { 0: time, index } of text.matchAll(clockTimes)) {
    const end = index + time.length;
    const after = text.slice(end, end + 30);
    const goesOn = numberEnd >= 0 && joint.test(text.slice(numberEnd, Math.min(index, numberEnd + 5)));
    const isNumber =
      goesOn ||
      (!range.test(after) &&
        !date.test(after) &&
        (isPersonalNumber(text, index) || (!anotherTime.test(after) && furtherDigits.test(after))));
    if (!isNumber) found.times.push({ start: index, end });
    else {
      for (const colon of time.matchAll(/:/g)) found.colons.push(index + colon.index);
      numberEnd = end;
    }
  }
  return found;
}
