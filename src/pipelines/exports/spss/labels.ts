import { headingOf } from '../columns.ts';
import { truncateToBytes } from './byte-buffer.ts';

/** Maximum bytes of the label of a variable, of that of a multiple response set, and of that of a value. */
export const maxLabelBytes = 255;
export const maxSetLabelBytes = 120;
const maxValueLabelBytes = 120;

const ellipsis = '…';
const ellipsisBytes = Buffer.byteLength(ellipsis);

/**
 * The heading of a variable or set in the author's wording, within a number of bytes. The wording of a question is cut
 * at its end, and that of its option or row in the middle, so that a label tells it from its neighbours. Half of the
 * bytes are for the option or row, more if the question leaves them.
 */
export function labelWithin(
  maxBytes: number,
  question: Parameters<typeof headingOf>[0],
  column: Parameters<typeof headingOf>[1],
): string {
  const room = maxBytes - Buffer.byteLength(headingOf({ text: '' }, { ...column, label: '' }));
  const label = cutInMiddle(column.label, Math.max(Math.floor(room / 2), room - Buffer.byteLength(question.text)));
  return headingOf({ text: cutAtEnd(question.text, room - Buffer.byteLength(label)) }, { ...column, label });
}

/**
 * The values of a variable with their labels within 120 bytes. Longer labels are cut in the middle, and have the value
 * in front where another label would be the same.
 */
export function valueLabels<Value extends number | string>(
  values: readonly { value: Value; label: string }[],
): { value: Value; label: string }[] {
  const within = (label: string): string => cutInMiddle(label, maxValueLabelBytes);
  const wholeLabels = values.map(({ label }) => label).filter((label) => within(label) === label);
  const taken = new Set(wholeLabels);
  const cutTo = new Map(wholeLabels.map((label) => [label, label]));
  for (const { value, label } of values) {
    if (cutTo.has(label)) continue;
    let cut = within(label);
    // This ends because values are short enough for the number to stand in the part of the label that is kept.
    for (let n = 1; taken.has(cut); n += 1) cut = within(`${n === 1 ? value : `${value}.${n}`}: ${label}`);
    taken.add(cut);
    cutTo.set(label, cut);
  }
  return values.map(({ value, label }) => ({ value, label: cutTo.get(label) ?? label }));
}

const cutAtEnd = (text: string, maxBytes: number): string =>
  Buffer.byteLength(text) <= maxBytes ? text : truncateToBytes(text, maxBytes - ellipsisBytes) + ellipsis;

function cutInMiddle(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  const half = Math.floor((maxBytes - ellipsisBytes) / 2);
  let start = bytes.length - half;
  // Bytes that continue a character.
  while (((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return truncateToBytes(text, half) + ellipsis + bytes.toString('utf8', start);
}
