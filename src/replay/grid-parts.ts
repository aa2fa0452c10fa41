/** A row and an option that the heading of one column names. */
export interface GridPart {
  row: string;
  option: string;
}

/**
 * The rows and options of headings as `row` `mark` `option`: at least two rows one after the other, each with the same
 * options in the same order, at least two. The mark may also stand within rows and options. Undefined: no such grid.
 */
export function gridParts(headings: readonly string[], mark: string): readonly GridPart[] | undefined {
  for (let width = 2; width * 2 <= headings.length; width += 1) {
    if (headings.length % width !== 0) continue;
    for (const first of splitsOf(headings[0] ?? '', mark)) {
      const parts = gridOf(headings, { mark, width, first });
      if (parts) return parts;
    }
  }
  return undefined;
}

/** A heading split at each of its marks. */
function splitsOf(heading: string, mark: string): GridPart[] {
  const pieces = heading.split(mark);
  return pieces
    .slice(1)
    .map((_, place) => ({ row: pieces.slice(0, place + 1).join(mark), option: pieces.slice(place + 1).join(mark) }))
    .filter(({ row, option }) => row !== '' && option !== '');
}

/** The grid of rows of this width, if the first heading is split so. */
function gridOf(
  headings: readonly string[],
  { mark, width, first }: { mark: string; width: number; first: GridPart },
): readonly GridPart[] | undefined {
  const start = first.row + mark;
  const options = headings.slice(0, width).map((heading) => heading.startsWith(start) && heading.slice(start.length));
  const end = mark + first.option;
  const rows = headings
    .filter((_, place) => place % width === 0)
    .map((heading) => heading.endsWith(end) && heading.slice(0, -end.length));
  const parts: GridPart[] = [];
  for (const [place, heading] of headings.entries()) {
    const [row, option] = [rows[Math.floor(place / width)], options[place % width]];
    if (!row || !option || heading !== row + mark + option) return undefined;
    parts.push({ row, option });
  }
  const isUnique = (texts: readonly unknown[]): boolean => new Set(texts).size === texts.length;
  return isUnique(rows) && isUnique(options) ? parts : undefined;
}
