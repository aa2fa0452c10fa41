import { extensionTypes, type Records } from './records.ts';
import type { Segment } from './segments.ts';
import type { TextDecode } from './text.ts';

/** A multiple response set: indices of its variables. */
export interface SpssSet {
  label: string;
  variables: readonly number[];
  /** The value that means a chosen option, in a set of dichotomies; undefined in a set of categories. */
  counted: number | string | undefined;
}

/**
 * Multiple response sets: `$name=C <length> <label> v1 v2`, `$name=D<length> <counted value> <length> <label> v1 v2` or
 * `$name=E <flag> <length> <counted value> …`. Lengths are in bytes; variables have their short names.
 */
export function setsOf({ extensions }: Records, segments: readonly Segment[], text: TextDecode): SpssSet[] {
  const places = new Map(segments.map(({ shortName }, place) => [shortName, place]));
  const records = [extensionTypes.sets, extensionTypes.newerSets].flatMap((type) => extensions.get(type) ?? []);
  return records
    .flatMap((bytes) => bytes.toString('latin1').split('\n'))
    .flatMap((line): SpssSet[] => {
      const [head = '', kind] = /^\$[^=]+=(?:(C) |(?:D|E \d+ )(?=\d))/.exec(line) ?? [];
      if (head === '') return [];
      let rest = line.slice(head.length);
      const counted = (): string => {
        const [prefix = '', length] = /^(\d+) /.exec(rest) ?? [];
        const value = rest.slice(prefix.length, prefix.length + Number(length ?? 0));
        rest = rest.slice(prefix.length + value.length + 1);
        return value;
      };
      const chosen = kind === 'C' ? undefined : text(Buffer.from(counted(), 'latin1')).trim();
      const label = text(Buffer.from(counted(), 'latin1'));
      const variables = rest
        .trim()
        .split(/\s+/)
        .flatMap((name) => places.get(name.toUpperCase()) ?? []);
      const isNumber = variables.every((place) => segments[place]?.width === 0);
      return [{ label, variables, counted: chosen === undefined || !isNumber ? chosen : Number(chosen) }];
    });
}
