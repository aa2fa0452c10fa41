import type { SlicedWork } from '../../../platform/slices.ts';
import { percentText } from '../printed-numbers.ts';
import type { QuestionTable } from '../tables.ts';
import { drawChart } from './charts.ts';
import { contentWidth, page, type Sheet } from './sheet.ts';
import type { Words } from './words.ts';

const quiet = '#52606d';
const ruleColor = '#cbd2d9';

/** Draws one question: wording, chart and table. Begins a new page if the wording would be alone on its page. */
export function* drawQuestion(
  sheet: Sheet,
  table: QuestionTable,
  place: { number: number; words: Words },
): SlicedWork<void> {
  const { number, words } = place;
  sheet.ensure(190);
  sheet.write(`${number}. ${table.question.text}`, { size: 12.5, weight: 'bold' });
  if (table.question.description) sheet.write(table.question.description, { size: 9, color: quiet });
  sheet.flow(
    [
      { text: `${words.answered}: ${table.answered}` },
      { text: `${words.skipped}: ${table.skipped}` },
      ...(table.notAsked > 0 ? [{ text: `${words.notAsked}: ${table.notAsked}` }] : []),
    ],
    { size: 9, color: quiet },
  );
  sheet.gap(6);
  if (table.answered === 0) sheet.write(words.nobody, { size: 9, color: quiet });
  else {
    yield* drawChart(sheet, table, words);
    drawMeasures(sheet, table, words);
    yield* drawTable(sheet, table, words);
  }
  sheet.gap(26);
}

function drawMeasures(sheet: Sheet, { measures }: QuestionTable, words: Words): void {
  if (measures.length === 0) return;
  sheet.flow(
    measures.map(({ name, of, printed }) => ({
      text: `${of === undefined ? words[name] : `${words[name]}, ${of}`}: ${printed}`,
    })),
    { size: 8.5, color: quiet },
  );
  sheet.gap(4);
}

interface Column {
  x: number;
  width: number;
}

/** Labels with counts and percentages; a grid if the question has rows or items. */
function* drawTable(sheet: Sheet, { lines, heading }: QuestionTable, words: Words): SlicedWork<void> {
  const [first] = lines;
  if (!first || first.cells.length === 0) return;
  const isGrid = lines.length > 1 || first.label !== '';
  const name = heading === 'Word' ? words.word : heading === 'Rank' ? words.rank : words.answer;
  const areShares = first.cells.every(({ percent }) => percent !== null);
  const shareOf = (percent: number | null) => (percent === null ? [] : [percentText(percent)]);
  const heads = isGrid
    ? [name, ...first.cells.map(({ label }) => label)]
    : areShares
      ? [name, words.count, words.percent]
      : [name, words.mentions];
  const rows = isGrid
    ? lines.map(({ label, cells }) => [
        label,
        ...cells.map(({ count, percent }) => `${count} (${shareOf(percent).join('')})`),
      ])
    : first.cells.map(({ label, count, percent }) => [label, String(count), ...shareOf(percent)]);
  // A grid that is too wide is drawn in parts, each with the row labels.
  const columnsAtOnce = 7;
  for (let from = 1; from < heads.length; from += columnsAtOnce) {
    const part = (row: readonly string[]) => [row[0] ?? '', ...row.slice(from, from + columnsAtOnce)];
    yield* drawPart(sheet, part(heads), rows.map(part));
    sheet.gap(4);
  }
}

function* drawPart(sheet: Sheet, heads: readonly string[], rows: readonly (readonly string[])[]): SlicedWork<void> {
  const others = heads.length - 1;
  const firstWidth = Math.max(contentWidth * 0.3, contentWidth - others * 90);
  const columns = heads.map((_, index): Column => {
    const width = (contentWidth - firstWidth) / others;
    return index === 0
      ? { x: page.left, width: firstWidth }
      : { x: page.left + firstWidth + (index - 1) * width, width };
  });
  const head = () => drawRow(sheet, { cells: heads, columns, isHead: true });
  sheet.ensure(60);
  head();
  for (const row of rows) {
    drawRow(sheet, { cells: row, columns, isHead: false, onNewPage: head });
    yield;
  }
}

interface TableRow {
  cells: readonly string[];
  columns: readonly Column[];
  isHead: boolean;
  onNewPage?: () => void;
}

const maxCellLines = 12;

function drawRow(sheet: Sheet, { cells, columns, isHead, onNewPage }: TableRow): void {
  const blocks = cells.map((text, index) =>
    sheet.set(text, (columns[index]?.width ?? 0) - 8, { size: 8.5, weight: isHead ? 'bold' : 'regular' }, maxCellLines),
  );
  const height = Math.max(...blocks.map((block) => block.height)) + 5;
  if (onNewPage && sheet.y + height > page.bottom) {
    sheet.nextPage();
    onNewPage();
  }
  for (const [index, block] of blocks.entries()) {
    const column = columns[index];
    if (column)
      sheet.draw(block, column.x + 4, sheet.y + 2, {
        width: column.width - 8,
        ...(index > 0 && { align: 'right' as const }),
      });
  }
  sheet.gap(height);
  sheet.doc
    .moveTo(page.left, sheet.y)
    .lineTo(page.right, sheet.y)
    .lineWidth(isHead ? 0.9 : 0.4)
    .stroke(ruleColor);
}
