import { type Column, type Row, valuesOf } from './table.ts';

const timeName =
  /^(?:timestamp|zeitstempel|(?:answered|submitted|completed)(?: ?at)?|(?:submit|end|recorded) ?(?:date|time)(?: \(utc\))?|date submitted)$/i;
const dateAndTime = /^(?:\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2\d{4})[T ,]+\d{1,2}:\d{2}/;

/** Whether a column is named as the time of the answer and all its cells begin with a date and a time of day. */
export function isAnswerTime({ question, part, index }: Column, rows: readonly Row[]): boolean {
  const values = valuesOf(rows, index);
  return part === '' && timeName.test(question) && values.length > 0 && values.every((cell) => dateAndTime.test(cell));
}
