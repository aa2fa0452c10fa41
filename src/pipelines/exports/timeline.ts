/** The count of a period, which is named as `2026-01-31`, `2026-01`, `2026` or `2020–2029`. */
export interface TimelinePoint {
  label: string;
  count: number;
}

type Days = readonly (readonly [day: string, count: number])[];

/** A division of time: days, months, years or several years. */
interface Period {
  /** The name of the period that a day belongs to. */
  nameOf(day: string): string;
  /** The name of the following period. */
  next(name: string): string;
}

const dayMs = 86_400_000;
const isoDay = /^\d{4}-\d\d-\d\d$/;
const padded = (year: number): string => String(year).padStart(4, '0');

const days: Period = {
  nameOf: (day) => day,
  next: (name) => new Date(Date.parse(`${name}T00:00:00Z`) + dayMs).toISOString().slice(0, 10),
};
const months: Period = {
  nameOf: (day) => day.slice(0, 7),
  next: (name) =>
    name.endsWith('-12')
      ? `${padded(Number(name.slice(0, 4)) + 1)}-01`
      : `${name.slice(0, 5)}${String(Number(name.slice(5)) + 1).padStart(2, '0')}`,
};
const years: Period = { nameOf: (day) => day.slice(0, 4), next: (name) => padded(Number(name) + 1) };
const yearsBy = (width: number): Period => {
  const named = (first: number) => `${padded(first)}–${padded(first + width - 1)}`;
  return {
    nameOf: (day) => named(Math.floor(Number(day.slice(0, 4)) / width) * width),
    next: (name) => named(Number(name.slice(0, 4)) + width),
  };
};
const periods: readonly Period[] = [days, months, years, yearsBy(10), yearsBy(100), yearsBy(1000)];

/** The entries if all of them are counts of calendar days, otherwise undefined. */
export function daysIn(entries: readonly (readonly [key: string, value: unknown])[]): Days | undefined {
  const found = entries.flatMap(([key, value]) =>
    isoDay.test(key) && typeof value === 'number' ? [[key, value] as const] : [],
  );
  return found.length > 0 && found.length === entries.length ? found : undefined;
}

/**
 * Counts in order of time, without gaps, in the finest periods (days, months, years, ten years …) of which at most
 * `atMost` lie between the first and the last day.
 */
export function timelineOf(entries: Days, atMost: number): TimelinePoint[] {
  const ordered = [...entries].sort(([one], [other]) => (one < other ? -1 : 1));
  const [first = ''] = ordered[0] ?? [];
  const [last = ''] = ordered.at(-1) ?? [];
  for (const { nameOf, next } of periods) {
    const counts = new Map([[nameOf(first), 0]]);
    for (let name = nameOf(first); name !== nameOf(last) && counts.size <= atMost; ) {
      name = next(name);
      counts.set(name, 0);
    }
    if (counts.size > atMost) continue;
    for (const [day, count] of ordered) counts.set(nameOf(day), (counts.get(nameOf(day)) ?? 0) + count);
    return [...counts].map(([label, count]) => ({ label, count }));
  }
  throw new Error('a thousand years are too short a period');
}
