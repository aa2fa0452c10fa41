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
