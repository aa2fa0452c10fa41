/** Ids of the entries of a stream: `milliseconds-sequence`, two integers of up to 64 bits. */

const maxInteger = '18446744073709551615';

/** Greater than every id. */
export const maxEntryId = `${maxInteger}-${maxInteger}`;

function partsOf(id: string): [ms: number, sequence: number] {
  const [ms = 0, sequence = 0] = id.split('-').map(Number);
  return [ms, sequence];
}

/** When the entry was added, in milliseconds. */
export const addedAtMs = (id: string): number => partsOf(id)[0];

/** Negative where `id` is before `other`, 0 where they are the same. */
export function compareIds(id: string, other: string): number {
  const [ms, sequence] = partsOf(id);
  const [otherMs, otherSequence] = partsOf(other);
  return ms - otherMs || sequence - otherSequence;
}

export const isAtOrAfter = (id: string, other: string): boolean => compareIds(id, other) >= 0;

/** The smallest id after this one. */
export function idAfter(id: string): string {
  const [ms, sequence] = partsOf(id);
  return `${ms}-${sequence + 1}`;
}

/** The greatest possible id before that of an entry. */
export function idBefore(id: string): string {
  const [ms, sequence] = partsOf(id);
  return sequence > 0 ? `${ms}-${sequence - 1}` : `${ms - 1}-${maxInteger}`;
}
