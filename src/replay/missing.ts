const missingWords: ReadonlySet<string> = new Set(['na', 'n/a', 'unknown', '-', '.']);

/** Whether a cell holds a usual sign for “no answer”, in upper or lower case. */
export const isMissingWord = (cell: string): boolean => missingWords.has(cell.toLowerCase());
