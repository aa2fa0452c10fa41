import { safeText } from '../../../../src/platform/csv-text.ts';
import { unknownText } from '../../analytics/figures.ts';
import { type Group, type GroupedBlock, groupedBlocks } from '../../analytics/groups.ts';
import type { Question } from '../../data/questions.ts';

/** A cell of a text with delimiters, quoted where it must be (RFC 4180), and never a formula. */
function cellText(value: string | number, delimiter: string): string {
  const text = typeof value === 'string' ? safeText(value) : String(value);
  return text.includes(delimiter) || /["\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A mean is missing where nobody gave a rank; a count, where it is not known. */
const missingText = ({ measure }: GroupedBlock): string => (measure === 'Mean rank' ? '' : unknownText);

/** The figures of a question as lines: an answer a line; count and percentage of each group, unrounded. */
export function delimitedTable(question: Question, groups: readonly Group[], delimiter: string): string {
  const lines = groupedBlocks(question, groups).flatMap((block) => [
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
  return lines.map((line) => `${line.map((cell) => cellText(cell, delimiter)).join(delimiter)}\r\n`).join('');
}
