import { rmSync } from 'node:fs';
import { machineLine, option } from '../../bench/support/machine.ts';
import { adminClient } from '../support/client.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import { runQuotaChaos } from '../support/quota-chaos.ts';
import { startService } from '../support/service.ts';

/**
 * `npm run chaos:quotas`: four HTTP processes race `--count N` (50,000) submissions into 64 interlocked cells, `--runs N`
 * (20) times, each with a survey of its own; one process is killed after each `--killEvery N` (5,000) replies. Ends with
 * code 1 unless each cell with enough demand is exactly full in the intake and in the response store, and no response is
 * lost.
 */
const [count, runs, killEvery] = [option('count', 50_000), option('runs', 20), option('killEvery', 5000)];
const dataDir = temporaryDataDir();
console.log(machineLine());
const service = await startService({
  dataDir,
  env: { WORKERS: '4', LOG_LEVEL: 'info', ACCESS_TOKEN_TTL_SECONDS: '86400' },
});
let bad = 0;
try {
  const admin = await adminClient(service);
  for (let run = 1; run <= runs; run += 1) {
    const startedAt = performance.now();
    const report = await runQuotaChaos({ service, admin, count, killEvery });
    if (report.faults.length > 0) bad += 1;
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    console.log(JSON.stringify({ chaos: 'quotas', run, count, seconds, ...report }));
  }
} finally {
  await service.stop();
  rmSync(dataDir, { recursive: true, force: true });
}
console.log(`${runs - bad} of ${runs} runs: every cell exactly full, no response lost`);
process.exit(bad === 0 ? 0 : 1);
