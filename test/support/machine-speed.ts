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
/** Parsed to some megabytes of objects. The first times they need pages that the process does not have yet. */
const nested = `[${'{"a":[[[]]],"b":1},'.repeat(12_000)}1]`;
const parseRuns = 12;

/**
 * Milliseconds by which the system takes longer to give a new page of memory, and to take it back, than on the machine
 * at rest: some virtual machines take twenty times as long, at an unchanged speed of everything else. It is told from
 * how much longer the same piece of work takes with many page faults than with few. Takes a fifth of a second.
 */
export function extraMsPerPageFault(): number {
  const runs = Array.from({ length: parseRuns }, () => {
    const [faultsBefore, before] = [process.resourceUsage().minorPageFault, process.cpuUsage()];
    JSON.parse(nested);
    const { user, system } = process.cpuUsage(before);
    return { us: user + system, faults: process.resourceUsage().minorPageFault - faultsBefore };
  }).sort((one, other) => one.faults - other.faults);
  const [fewest, most] = [runs.at(0), runs.at(-1)];
  if (!fewest || !most || fewest.faults === most.faults) return 0;
  return Math.max(0, (most.us - fewest.us) / (most.faults - fewest.faults) - faultAtRestUs) / 1000;
}
