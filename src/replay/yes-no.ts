/** Yes and no in languages other than English, in lower case. */
const pairs: readonly (readonly [yes: string, no: string])[] = [
  ['ja', 'nein'],
  ['oui', 'non'],
  ['sí', 'no'],
  ['si', 'no'],
  ['sì', 'no'],
  ['sim', 'não'],
  ['ja', 'nee'],
  ['ja', 'nej'],
  ['tak', 'nie'],
];

/** The pair of words that a column consists of, both present; undefined if there is none or it is English. */
export function yesNoWords(cells: readonly string[]): { yes: string; no: string } | undefined {
  const found = new Set(cells.map((cell) => cell.toLowerCase()));
  const pair = pairs.find(([yes, no]) => found.size === 2 && found.has(yes) && found.has(no));
  return pair && { yes: pair[0], no: pair[1] };
}

const translations = new Map(pairs.flatMap(([yes, no]) => [[yes, 'Yes'] as const, [no, 'No'] as const]));

/** Translates yes and no of any of these languages; leaves other texts as they are. */
export const inEnglish = (cell: string): string => translations.get(cell.toLowerCase()) ?? cell;
