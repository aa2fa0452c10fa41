import { fuzzApi } from './fuzz-api.ts';

/**
 * `npm run fuzz:api`: requests made from the service's own document, most of them spoiled, against a service of its own
 * with its stores. `--requests N` (20,000), `--seconds N` at most (600), `--seed N` (a new one each time; the same seed
 * makes the same requests in one order a connection). Ends with code 1 when a reply broke the contract, the service
 * failed, hung or grew, or its event loop was held, and shows the requests.
 */
const option = (name: string, fallback: number): number => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : Number(process.argv[at + 1]);
};
const seed = option('seed', Date.now() % 1_000_000);
const report = await fuzzApi({
  seed,
  requests: option('requests', 20_000),
  seconds: option('seconds', 600),
  progress: (line) => console.log(line),
});
/** The 99th percentile of the time for which the service's event loop is held. */
const longestHoldMs = 20;
const mib = (bytes: number) => Math.round(bytes / 2 ** 20);
console.log(
  Object.entries(report.replies)
    .sort(([, one], [, other]) => other - one)
    .map(([kind, count]) => `${String(count).padStart(8)}  ${kind}`)
    .join('\n'),
);
if (report.unanswered.length > 0) console.log(`no success from ${report.unanswered.join(', ')}`);
console.log(
  `seed ${seed} · ${report.sent} requests in ${report.seconds.toFixed(1)} s · ${report.routes - report.unanswered.length} of ${report.routes} routes gave a success`,
);
console.log(
  JSON.stringify({
    bench: 'fuzz',
    seed,
    requests: report.sent,
    faults: report.faults.length,
    routes: report.routes,
    routesAnswered: report.routes - report.unanswered.length,
    startMiB: mib(report.startBytes),
    peakMiB: mib(report.peakBytes),
    endMiB: mib(report.endBytes),
    heapMiB: mib(report.heapBytes),
    p99DelayMs: report.p99DelayMs,
    longestDelayMs: report.longestDelayMs,
    ownDelayMs: report.ownDelayMs,
  }),
);
process.exitCode = report.faults.length > 0 || report.p99DelayMs > longestHoldMs ? 1 : 0;
