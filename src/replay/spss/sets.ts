import { extensionTypes, type Records } from './records.ts';
import type { Segment } from './segments.ts';
import type { TextDecode } from './text.ts';

/** A multiple response set: indices of its variables. */
export interface SpssSet {
  label: string;
  variables: readonly number[];
  /** The value that means a chosen option, in a set of dichotomies; undefined in a set of categories. */
  counted: number | string | undefined;
  /** Whether the options of a set of dichotomies are the labels of the counted value, and not those of the variables. */
  isLabelledByValue: boolean;
}

/**
 * Multiple response sets: `$name=C <length> <label> v1 v2`, `$name=D<length> <counted value> <length> <label> v1 v2` or
 * `$name=E <flag> <length> <counted value> …`. Lengths are in bytes; variables have their short names.
 */
export function setsOf({ extensions }: Records, segments: readonly Segment[], text: TextDecode): SpssSet[] {
  const places = new Map(segments.map(({ shortName }, place) => [shortName, place]));
  const decode = (characters: string): string => text(Buffer.from(characters, 'latin1'));
  const records = [extensionTypes.sets, extensionTypes.newerSets].flatMap((type) => extensions.get(type) ?? []);
  return records
    .flatMap((bytes) => readSets(bytes.toString('latin1')))
    .map(({ names, ...set }) => {
      const variables = names.flatMap((name) => places.get(decode(name).toUpperCase()) ?? []);
      const chosen = set.counted === undefined ? undefined : decode(set.counted).trim();
      const isNumber = variables.every((place) => segments[place]?.width === 0);
      return {
        ...set,
        label: decode(set.label),
        variables,
        counted: chosen === undefined || !isNumber ? chosen : Number(chosen),
      };
    });
}

interface SetRecord extends Pick<SpssSet, 'label' | 'isLabelledByValue'> {
  counted: string | undefined;
  names: readonly string[];
}

/** Between names. Other blanks of Unicode are bytes of letters, as a no-break space is in the UTF-8 of “à”. */
const blanks = /[ \t\r\n]+/;

/**
 * The sets of a record, whose characters are its bytes. A label may have several lines; a set that is damaged ends with
 * its line.
 */
function readSets(record: string): SetRecord[] {
  const sets: SetRecord[] = [];
  let at = 0;
  const read = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(record) ?? undefined;
    if (found) at = pattern.lastIndex;
    return found;
  };
  /** A text after its length, with a blank behind it. */
  const readCounted = (): string | undefined => {
    const length = Number(read(/(\d+) /y)?.[1] ?? Number.NaN);
    const end = at + length;
    if (record[end] !== ' ') return undefined;
    const counted = record.slice(at, end);
    at = end + 1;
    return counted;
  };
  while (at < record.length) {
    const head = read(/\$[^=\n]+=(?:(C) |(?:D|(E) \d+ )(?=\d))/y);
    const counted = head && head[1] === undefined ? readCounted() : undefined;
    const label = head && (head[1] === 'C' || counted !== undefined) ? readCounted() : undefined;
    const [line = ''] = read(/[^\n]*\n?/y) ?? [];
    const names = line.split(blanks).filter((name) => name !== '');
    if (label !== undefined) sets.push({ counted, label, names, isLabelledByValue: head?.[2] !== undefined });
  }
  return sets;
}
