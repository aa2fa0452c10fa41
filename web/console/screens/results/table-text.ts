import { delimitedText } from '../../../../src/platform/csv-text.ts';
import { unknownText } from '../../analytics/figures.ts';
import { type Group, type GroupedBlock, groupedBlocks } from '../../analytics/groups.ts';
import type { Question } from '../../data/questions.ts';

const cellText = (value: string | number, delimiter: string): string =>
  typeof value === 'string' ? delimitedText(value, delimiter) : String(value);

/** A mean is missing where nobody gave a rank; a count, where it is not known. */
const missingText = ({ measure }: GroupedBlock): string => (measure === 'Mean rank' ? '' : unknownText);

/** The figures of a question as lines without ends: an answer a line; count and percentage of each group, unrounded. */
export function tableLines(question: Question, groups: readonly Group[], delimiter: string): string[] {
  const rows = groupedBlocks(question, groups).flatMap((block) => [
    [
      block.title ?? question.text,
      ...groups.flatMap(({ label }) =>
        groups.length > 1 ? [`${label}: ${block.measure}`, `${label}: %`] : [block.measure, '%'],
      ),
    ],
    ...block.rows.map(({ label, figures }) => [
      label,
      ...groups.flatMap((_, index) => [figures[index]?.value ?? missingText(block), figures[index]?.percent ?? '']),
    ]),
    ['n', ...groups.flatMap((_, index) => [block.bases[index] ?? '', ''])],
  ]);
  return rows.map((cells) => cells.map((cell) => cellText(cell, delimiter)).join(delimiter));
}
