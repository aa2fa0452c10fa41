const maxCellLength = 80;

/** Lines of a table for a terminal: the first column to the left, figures to the right, long texts cut. */
export function textTable(lines: readonly (readonly string[])[]): string[] {
  const cut = lines.map((line) => line.map((cell, column) => shorten(cell, column === 0 ? maxCellLength : 18)));
  const widths = Array.from({ length: Math.max(0, ...cut.map((line) => line.length)) }, (_, column) =>
    Math.max(...cut.map((line) => lengthOf(line[column] ?? ''))),
  );
  return cut.map((line) =>
    `  ${line.map((cell, column) => padded(cell, widths[column] ?? 0, column === 0)).join('  ')}`.trimEnd(),
  );
}

export function shorten(text: string, longest: number): string {
  const line = [...text.replace(/\s+/g, ' ')];
  return line.length <= longest
    ? line.join('')
    : `${line
        .slice(0, longest - 1)
        .join('')
        .trimEnd()}…`;
}

export const percentText = (count: number, base: number): string =>
  base === 0 ? '–' : `${((count / base) * 100).toFixed(1)} %`;

const lengthOf = (text: string): number => [...text].length;

function padded(cell: string, width: number, isLeft: boolean): string {
  const space = ' '.repeat(Math.max(0, width - lengthOf(cell)));
  return isLeft ? cell + space : space + cell;
}
