/** Milliseconds that the piece of work takes on the machine at rest for which the bars of the tests are set. */
const atRestMs = 8.5;
const [warmUpRuns, runs] = [10, 15];
const rows = Array.from({ length: 2000 }, (_, n) => ({
  id: `q${n}`,
  text: `Question ${n}`,
  values: [n, n * 2, n / 3],
  nested: { isAsked: true, answer: null },
}));

/**
 * How many times as long as on the machine at rest a piece of work takes now, 1 at least: processors that others share
 * run at changing speed, and a bar of milliseconds of processor time means as much work on each. Takes a fifth of a
 * second.
 */
export function slowness(): number {
  const taken: number[] = [];
  for (let run = 0; run < warmUpRuns + runs; run += 1) {
    const before = process.cpuUsage();
    for (let round = 0; round < 2; round += 1) JSON.stringify(JSON.parse(JSON.stringify(rows)));
    const { user, system } = process.cpuUsage(before);
    if (run >= warmUpRuns) taken.push((user + system) / 1000);
  }
  const median = taken.sort((a, b) => a - b)[Math.floor(runs / 2)] ?? atRestMs;
  return Math.max(1, median / atRestMs);
}

/** Microseconds that a page fault takes on the machine at rest. */
const faultAtRestUs = 1;
/** From this size on, a block is mapped for itself and has pages that nobody has touched. */
const mappedBytes = 40 * 2 ** 20;
const pageBytes = 4096;
const [faultRuns, faultsPerRun] = [5, 400];

/**
 * Milliseconds by which the system takes longer to give a new page of memory than on the machine at rest: some virtual
 * machines take fourteen times as long, at an unchanged speed of everything else. Takes a twentieth of a second.
 */
export function extraMsPerPageFault(): number {
  const block = Buffer.allocUnsafeSlow(mappedBytes);
  let page = 0;
  const leastUs = Math.min(
    ...Array.from({ length: faultRuns }, () => {
      const before = process.cpuUsage();
      for (const end = page + faultsPerRun; page < end; page += 1) block[page * pageBytes] = 1;
      const { user, system } = process.cpuUsage(before);
      return (user + system) / faultsPerRun;
    }),
  );
  return Math.max(0, leastUs - faultAtRestUs) / 1000;
}
