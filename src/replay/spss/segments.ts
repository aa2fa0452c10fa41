import { DamagedFile } from './input.ts';
import { extensionTypes, type Records, type Unit } from './records.ts';
import type { TextDecode } from './text.ts';

/** A variable with its place in each case. Texts over 255 bytes take several variable records. */
export interface Segment {
  name: string;
  /** In upper case. */
  shortName: string;
  /** The first unit from 0. */
  firstUnit: number;
  /** Bytes of each piece; a number has none. */
  pieces: readonly number[];
  width: number;
  unit: Unit;
}

const maxTextBytes = 32_767;
export const pieceBytes = 255;
const pieceStep = 252;
export const unitsOf = (width: number): number => Math.max(1, Math.ceil(width / 8));

export function segmentsOf({ units, extensions }: Records, text: TextDecode): Segment[] {
  const pairs = (type: number): Map<string, string> =>
    new Map(
      (extensions.get(type) ?? []).flatMap((bytes) =>
        text(bytes)
          .split(/[\t\0]+/)
          .map((pair): [string, string] => {
            const at = pair.indexOf('=');
            return [pair.slice(0, Math.max(at, 0)).toUpperCase(), pair.slice(at + 1)];
          }),
      ),
    );
  const longNames = pairs(extensionTypes.longNames);
  const longWidths = pairs(extensionTypes.longTexts);
  const segments: Segment[] = [];
  let at = 0;
  while (at < units.length) {
    const unit = units[at];
    if (unit === undefined || unit.width < 0) throw new DamagedFile('a text is continued that has not begun');
    const givenName = text(unit.name).trimEnd();
    const shortName = givenName.toUpperCase();
    const long = unit.width === 0 ? 0 : Number(longWidths.get(shortName) ?? 0);
    if (long > maxTextBytes) throw new DamagedFile(`the text ${givenName} is too long`);
    const width = long > pieceBytes ? long : unit.width;
    const count = width > pieceBytes ? Math.ceil(width / pieceStep) : 1;
    const pieces = Array.from({ length: width === 0 ? 0 : count }, (_, index) =>
      index < count - 1 ? pieceBytes : width - (count - 1) * pieceStep,
    );
    segments.push({ name: longNames.get(shortName) ?? givenName, shortName, firstUnit: at, pieces, width, unit });
    at += pieces.length === 0 ? 1 : pieces.reduce((sum, piece) => sum + unitsOf(piece), 0);
  }
  if (at !== units.length) throw new DamagedFile('a long text has too few variables');
  return segments;
}
