import { machineLine, option } from '../../bench/support/machine.ts';
import { runWebhookChaos } from '../support/webhook-chaos.ts';

/**
 * `npm run chaos:webhooks`: two minutes of load and kill -9, then what was committed beside what arrived. `--seconds
 * N`, `--perSecond N` submissions, `--killEveryMs N`. Ends with code 1 unless everything arrived under one id each and
 * at most 0.1 % of the requests were repetitions.
 */
const [seconds, perSecond, killEveryMs] = [
  option('seconds', 120),
  option('perSecond', 250),
  option('killEveryMs', 5000),
];
console.log(machineLine());
const report = await runWebhookChaos({ seconds, perSecond, killEveryMs, say: console.log });
const { missing, underSeveralIds, ...figures } = report;
console.log(
  `kill -9: ${Object.entries(report.kills)
    .map(([victim, count]) => `${count} × ${victim}`)
    .join(', ')}; ${report.failedCalls} calls failed meanwhile`,
);
console.log(
  `committed events ${report.committed}, delivered at least once ${report.committed - missing.length}, under more than one webhook-id ${underSeveralIds.length}`,
);
console.log(`responses stored ${report.stored}, told of ${report.delivered}`);
console.log(
  `requests ${report.requests}, repetitions ${report.repeated} (${(report.repeatedShare * 100).toFixed(3)} %)`,
);
console.log(
  JSON.stringify({
    chaos: 'webhooks',
    seconds,
    ...figures,
    missing: missing.length,
    underSeveralIds: underSeveralIds.length,
  }),
);
const isGood =
  missing.length === 0 &&
  underSeveralIds.length === 0 &&
  report.stored === report.delivered &&
  report.repeatedShare <= 0.001;
process.exit(isGood ? 0 : 1);
