import type { ChartKind } from '../../../domain/questions/contract.ts';
import type { SlicedWork } from '../../../platform/slices.ts';
import { percentText, printedScore } from '../printed-numbers.ts';
import type { QuestionTable, TableCell } from '../tables.ts';
import type { FileThemes } from '../writer.ts';
import { barColor, ink, partColors } from './part-colors.ts';
import { contentWidth, page, type Sheet } from './sheet.ts';
import type { Words } from './words.ts';

const quiet = '#7b8794';
const rail = '#eef1f4';

/** Draws the question's chart at the current position. */
export function* drawChart(sheet: Sheet, table: QuestionTable, words: Words): SlicedWork<void> {
  if (table.answered === 0 || !table.lines.some(({ cells }) => cells.length > 0)) return;
  yield* drawers[table.chart](sheet, table, words);
  sheet.gap(8);
}

const drawers: Record<ChartKind, (sheet: Sheet, table: QuestionTable, words: Words) => SlicedWork<void>> = {
  *bars(sheet, { lines }) {
    for (const { label, cells } of lines) {
      if (label !== '') {
        sheet.ensure(40);
        sheet.write(label, { size: 9, weight: 'bold' });
      }
      // A bar for all other words would make every bar small.
      drawBars(
        sheet,
        cells.filter(({ isRest }) => !isRest),
      );
      if (label !== '') sheet.gap(6);
      yield;
    }
  },
  *columns(sheet, { timeline, lines }) {
    drawColumns(sheet, timeline ?? lines[0]?.cells ?? []);
    yield;
  },
  share: (sheet, { lines }) => drawShares(sheet, lines),
  lines: (sheet, { lines }) => drawShares(sheet, lines),
  *gauge(sheet, table, words) {
    if (table.nps) drawGauge(sheet, table.nps, words);
    drawColumns(sheet, table.lines[0]?.cells ?? []);
    yield;
  },
};

const barHeight = 12;
const labelWidth = 170;
const valueWidth = 92;

/** Horizontal bars; the full width is 100 %, or the greatest count if counts have no percentage. */
export function drawBars(sheet: Sheet, cells: readonly (TableCell & { color?: string })[]): void {
  const room = contentWidth - labelWidth - valueWidth - 16;
  const most = Math.max(1, ...cells.map(({ count }) => count));
  for (const { label, percent, count, color = barColor } of cells) {
    const name = sheet.set(label, labelWidth, { size: 8.5 }, 4);
    const height = Math.max(name.height, barHeight) + 4;
    sheet.ensure(height);
    const middle = sheet.y + height / 2;
    sheet.draw(name, page.left, middle - name.height / 2, { width: labelWidth });
    const left = page.left + labelWidth + 8;
    sheet.shapes((doc) => {
      doc.rect(left, middle - barHeight / 2, room, barHeight).fill(rail);
      if (count > 0)
        doc
          .rect(
            left,
            middle - barHeight / 2,
            room * (percent === null ? count / most : Math.min(1, percent / 100)),
            barHeight,
          )
          .fill(color);
    });
    const value = sheet.set(
      percent === null ? String(count) : `${count}  (${percentText(percent)})`,
      valueWidth,
      { size: 8, color: quiet },
      1,
    );
    sheet.draw(value, left + room + 8, middle - value.height / 2, { width: valueWidth, align: 'left' });
    sheet.gap(height);
  }
}

const columnsHeight = 90;
const maxNames = 24;
const maxNameWidth = 80;

/** Vertical columns on an ordered scale; the highest takes the full height. */
export function drawColumns(sheet: Sheet, cells: readonly Pick<TableCell, 'label' | 'count'>[]): void {
  if (cells.length === 0) return;
  const most = Math.max(1, ...cells.map(({ count }) => count));
  const step = contentWidth / cells.length;
  const nameOf = (label: string, width: number) =>
    sheet.set(label.replace('–', '–\n'), width, { size: 7, color: quiet }, 2);
  const widest = Math.max(...cells.flatMap(({ label }) => nameOf(label, maxNameWidth).lines.map(({ width }) => width)));
  const nameEvery = Math.max(Math.ceil(cells.length / maxNames), Math.ceil((widest + 3) / step));
  const names = cells.map(({ label }, index) =>
    index % nameEvery === 0 ? nameOf(label, step * nameEvery - 2) : undefined,
  );
  const namesHeight = Math.max(...names.map((name) => name?.height ?? 0));
  sheet.ensure(columnsHeight + namesHeight + 18);
  const base = sheet.y + 12 + columnsHeight;
  const width = Math.min(36, step * 0.7);
  for (const [index, { count }] of cells.entries()) {
    const center = page.left + step * (index + 0.5);
    const height = (columnsHeight * count) / most;
    if (count > 0) sheet.shapes((doc) => doc.rect(center - width / 2, base - height, width, height).fill(barColor));
    if (count > 0 && step >= 16)
      sheet.draw(sheet.set(String(count), step, { size: 7 }, 1), center - step / 2, base - height - 10, {
        width: step,
        align: 'center',
      });
    const name = names[index];
    if (name)
      sheet.draw(name, center - (step * nameEvery - 2) / 2, base + 3, { width: step * nameEvery - 2, align: 'center' });
  }
  sheet.doc.moveTo(page.left, base).lineTo(page.right, base).lineWidth(0.7).stroke(quiet);
  sheet.gap(columnsHeight + namesHeight + 20);
}

/** One bar of 100 % for each line, divided into its parts, with a common legend. */
function* drawShares(sheet: Sheet, lines: QuestionTable['lines']): SlicedWork<void> {
  const labels = (lines[0]?.cells ?? []).map(({ label }) => label);
  const colors = partColors(labels.length);
  sheet.flow(
    labels.map((text, index) => ({ text, mark: colors[index]?.fill ?? barColor })),
    { size: 8 },
  );
  sheet.gap(4);
  const isNamed = lines.some(({ label }) => label !== '');
  const left = isNamed ? page.left + labelWidth + 8 : page.left;
  const room = page.right - left;
  for (const { label, cells } of lines) {
    const name = sheet.set(label, labelWidth, { size: 8.5 }, 3);
    const height = Math.max(isNamed ? name.height : 0, 18) + 5;
    sheet.ensure(height);
    const top = sheet.y + (height - 18) / 2;
    if (isNamed) sheet.draw(name, page.left, sheet.y + (height - name.height) / 2, { width: labelWidth });
    sheet.shapes((doc) => doc.rect(left, top, room, 18).fill(rail));
    let at = left;
    for (const [index, { percent: share }] of cells.entries()) {
      const percent = share ?? 0;
      const width = (room * percent) / 100;
      const color = colors[index];
      if (width <= 0 || !color) continue;
      const x = at;
      sheet.shapes((doc) => doc.rect(x, top, width, 18).fill(color.fill));
      if (width > 34)
        sheet.draw(
          sheet.set(percentText(percent), width, { size: 7.5, color: color.text, weight: 'bold' }, 1),
          at,
          top + 4,
          { width, align: 'center' },
        );
      at += width;
    }
    sheet.gap(height);
    yield;
  }
}

const moods = { positive: '#009e73', negative: '#d55e00', mixed: '#e69f00', neutral: '#7a7a7a' } as const;

/** Themes of open answers, as percentages of the analysed responses. */
export function drawThemes(sheet: Sheet, { found, analysedResponses }: FileThemes, words: Words): void {
  sheet.flow(
    (['positive', 'negative', 'mixed', 'neutral'] as const).map((mood) => ({ text: words[mood], mark: moods[mood] })),
    { size: 8 },
  );
  sheet.gap(4);
  drawBars(
    sheet,
    found.map(({ name, count, sentiment }) => ({
      label: name,
      count,
      percent: (count / Math.max(1, analysedResponses)) * 100,
      color: moods[sentiment],
    })),
  );
}

const zones = [
  { to: 0, color: '#d55e00' },
  { to: 50, color: '#e69f00' },
  { to: 100, color: '#009e73' },
] as const;

/** The net promoter score on a semicircle from −100 to 100, beside its three groups. */
function drawGauge(
  sheet: Sheet,
  { score, promoters, passives, detractors }: NonNullable<QuestionTable['nps']>,
  words: Words,
): void {
  const radius = 70;
  sheet.ensure(radius + 40);
  const [x, y] = [page.left + 100, sheet.y + radius + 12];
  const angle = (value: number) => Math.PI * (1 - (value + 100) / 200);
  const point = (value: number, distance: number) =>
    [x + distance * Math.cos(angle(value)), y - distance * Math.sin(angle(value))] as const;
  let from = -100;
  for (const { to, color } of zones) {
    const [[ax, ay], [bx, by], [cx, cy], [dx, dy]] = [
      point(from, radius),
      point(to, radius),
      point(to, radius - 18),
      point(from, radius - 18),
    ];
    sheet.shapes((doc) =>
      doc
        .path(
          `M ${ax} ${ay} A ${radius} ${radius} 0 0 1 ${bx} ${by} L ${cx} ${cy} A ${radius - 18} ${radius - 18} 0 0 0 ${dx} ${dy} Z`,
        )
        .fill(color),
    );
    from = to;
  }
  if (score !== null) {
    const [tipX, tipY] = point(score, radius - 4);
    sheet.shapes((doc) => {
      doc.moveTo(x, y).lineTo(tipX, tipY).lineWidth(2.5).stroke(ink);
      doc.circle(x, y, 4).fill(ink);
    });
  }
  for (const [value, dx] of [
    [-100, -radius],
    [100, radius],
  ] as const)
    sheet.draw(sheet.set(String(value), 40, { size: 7, color: quiet }, 1), x + dx - 20, y + 3, {
      width: 40,
      align: 'center',
    });
  sheet.draw(
    sheet.set(score === null ? '–' : printedScore(score), 100, { size: 18, weight: 'bold' }, 1),
    x - 50,
    y + 5,
    { width: 100, align: 'center' },
  );
  const total = Math.max(1, promoters + passives + detractors);
  const groups = [
    [words.promoters, promoters, zones[2].color],
    [words.passives, passives, zones[1].color],
    [words.detractors, detractors, zones[0].color],
  ] as const;
  for (const [index, [name, count, color]] of groups.entries()) {
    const top = sheet.y + 14 + index * 24;
    sheet.shapes((doc) => doc.rect(page.left + 230, top + 2, 10, 10).fill(color));
    sheet.draw(
      sheet.set(`${name}: ${count} (${percentText((count / total) * 100)})`, 250, { size: 10 }, 1),
      page.left + 248,
      top,
      { width: 250, align: 'left' },
    );
  }
  sheet.gap(radius + 46);
}
