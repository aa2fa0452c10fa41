import { formatPercent } from '../parts/format.ts';
import { valueText } from './figures.ts';
import type { GroupedBlock } from './groups.ts';

const width = 960;
const margin = 24;
const rowHeight = 28;
const labelWidth = 300;
const numbersWidth = 150;

interface PictureText {
  title: string;
  base: string;
  groups: readonly string[];
}

type Line =
  | { kind: 'title' | 'head' | 'note'; text: string }
  | { kind: 'bar'; label: string; length: number; numbers: string };

function linesOf({ title, base, groups }: PictureText, blocks: readonly GroupedBlock[]): Line[] {
  const isCompared = groups.length > 1;
  const bars = blocks.flatMap((block): Line[] => [
    ...(block.title === undefined ? [] : [{ kind: 'head' as const, text: block.title }]),
    ...block.rows.flatMap(({ label, figures }): Line[] =>
      figures.map((figure, index) => {
        const count = valueText(figure, block.measure);
        const percent = figure?.percent ?? null;
        return {
          kind: 'bar',
          label: isCompared ? `${label} · ${groups[index] ?? ''}` : label,
          length: figure?.bar ?? 0,
          numbers: percent === null ? count : `${formatPercent(percent)}  ${count}`,
        };
      }),
    ),
  ]);
  return [{ kind: 'title', text: title }, { kind: 'note', text: base }, ...bars];
}

/** A text that fits a width, shortened at its end. */
function fitting(context: CanvasRenderingContext2D, text: string, most: number): string {
  if (context.measureText(text).width <= most) return text;
  let shown = text;
  while (shown.length > 1 && context.measureText(`${shown}…`).width > most) shown = shown.slice(0, -1);
  return `${shown}…`;
}

/** Figures as a PNG of 1,920 px width in the colours of the page. */
export async function pictureOf(text: PictureText, blocks: readonly GroupedBlock[]): Promise<Blob> {
  const lines = linesOf(text, blocks);
  const canvas = document.createElement('canvas');
  const height = lines.length * rowHeight + 2 * margin;
  const scale = height > 8000 ? 1 : 2;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const context = canvas.getContext('2d');
  if (!context) throw new Error('this browser draws no pictures');
  const look = getComputedStyle(document.documentElement);
  const colour = (name: string) => look.getPropertyValue(`--color-${name}`).trim();
  const font = (weight: number, size: number) => `${weight} ${size}px ${look.getPropertyValue('--font-family')}`;
  context.scale(scale, scale);
  context.fillStyle = colour('surface');
  context.fillRect(0, 0, width, height);
  context.textBaseline = 'middle';
  lines.forEach((line, index) => {
    const top = margin + index * rowHeight;
    const middle = top + rowHeight / 2;
    context.textAlign = 'left';
    context.fillStyle = colour(line.kind === 'note' ? 'text-muted' : 'text');
    context.font = line.kind === 'title' ? font(650, 18) : line.kind === 'head' ? font(600, 14) : font(400, 14);
    if (line.kind !== 'bar') {
      context.fillText(fitting(context, line.text, width - 2 * margin), margin, middle);
      return;
    }
    context.fillText(fitting(context, line.label, labelWidth - 12), margin, middle);
    const room = width - 2 * margin - labelWidth - numbersWidth;
    context.fillStyle = colour('surface-sunken');
    context.fillRect(margin + labelWidth, top + 6, room, rowHeight - 12);
    context.fillStyle = colour('accent');
    context.fillRect(margin + labelWidth, top + 6, room * Math.min(1, line.length), rowHeight - 12);
    context.fillStyle = colour('text');
    context.textAlign = 'right';
    context.fillText(line.numbers, width - margin, middle);
  });
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('the picture is too large'))), 'image/png');
  });
}
