/** Milliseconds of the middle one of `runs` runs after one that does not count. */
export async function medianMs(work: () => Promise<unknown>, runs = 7): Promise<number> {
  await work();
  const times: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    const startedAt = performance.now();
    await work();
    times.push(performance.now() - startedAt);
  }
  return medianOf(times);
}

export function medianOf(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/**
 * Takes so many rounds of these measurements, one after the other: in both orders, so that a machine that becomes faster
 * favours none.
 */
export async function inTurn<Name extends string, Result>(
  rounds: number,
  measure: Record<Name, () => Promise<Result>>,
): Promise<Record<Name, Result>[]> {
  const names = Object.keys(measure) as Name[];
  const measured: Record<Name, Result>[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const found = new Map<Name, Result>();
    for (const name of round % 2 === 0 ? names : names.toReversed()) found.set(name, await measure[name]());
    measured.push(Object.fromEntries(found) as Record<Name, Result>);
  }
  return measured;
}
