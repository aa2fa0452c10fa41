import { parse } from 'csv-parse/sync';

export const separators = [',', ';', '\t'] as const;
export type Separator = (typeof separators)[number];

const linesRead = 20;

/**
 * The separator of cells: the one that splits most of the first lines into as many cells as the header, at least two;
 * of several, the one with the most cells; a comma if there is none.
 */
export function separatorOf(text: string): Separator {
  const [best] = separators
    .map((separator) => ({ separator, ...fitOf(text, separator) }))
    .filter(({ width }) => width > 1)
    .sort((a, b) => b.share - a.share || b.width - a.width);
  return best?.separator ?? ',';
}

/** The cells of the header, and the share of the first lines that have as many. */
function fitOf(text: string, separator: Separator): { width: number; share: number } {
  try {
    const lines: string[][] = parse(text, {
      delimiter: separator,
      to: linesRead,
      relax_column_count: true,
      skip_empty_lines: true,
    });
    const width = lines[0]?.length ?? 0;
    return { width, share: lines.filter((line) => line.length === width).length / Math.max(lines.length, 1) };
  } catch {
    return { width: 0, share: 0 };
  }
}
