import { rmSync } from 'node:fs';
import { machineLine, option } from '../../bench/support/machine.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import {
  keyed,
  largeMetadata,
  partial,
  readIntakeMetrics,
  sendAll,
  sendPaced,
  startWithIntake,
  withClientIds,
} from '../support/intake-load.ts';

/**
 * `npm run chaos:intake`: what may not fill the intake. At 64 MiB: `--keyed N` (300,000) submissions with keys, a third
 * as many with ids of the clients' own, `--partial N` (100,000) partial ones. At the default of 1 GiB, `--seconds N`
 * (400) each: 300 submissions a second of 12 KB; partial ones with 120 KB of metadata from fourteen addresses within
 * the default limit; a small load on another survey beside both. Ends with code 1 where a submission was refused that
 * was not to be.
 */
const mebibyte = 1024 * 1024;
const [keyedCount, partialCount, seconds] = [
  option('keyed', 300_000),
  option('partial', 100_000),
  option('seconds', 400),
];
let refused = 0;

function report(name: string, statuses: Readonly<Record<string, number>>, figures: object): void {
  const failures = Object.entries(statuses).reduce((sum, [status, count]) => sum + (status === '201' ? 0 : count), 0);
  refused += failures;
  console.log(JSON.stringify({ load: name, statuses, refused: failures, ...figures }));
}

console.log(machineLine());
await withIntake(64 * mebibyte, async ({ service, makeSurvey }) => {
  const { id } = await makeSurvey();
  for (const [name, count, of] of [
    ['keys', keyedCount, keyed(id)],
    ['ids of clients', Math.floor(keyedCount / 3), withClientIds],
    ['partial', partialCount, partial],
  ] as const) {
    const { statuses, perSecond } = await sendAll(service, id, { count, of });
    report(`${name}, 64 MiB`, statuses, { perSecond, ...(await readIntakeMetrics(service)) });
  }
});
await withIntake(1024 * mebibyte, async ({ service, makeSurvey }) => {
  const [fat, other] = [await makeSurvey(), await makeSurvey()];
  const text = 'x'.repeat(9900);
  const loads = {
    '300/s of 12 KB, 1 GiB': {
      perSecond: 300,
      addresses: Array.from({ length: 50 }, (_, n) => `127.0.1.${n + 1}`),
      body: () => ({
        answers: [{ questionId: fat.questionId, textValue: text }],
        metadata: { page: 'x'.repeat(1000), more: 'x'.repeat(1000) },
      }),
    },
    '14 addresses, partials of 120 KB, 1 GiB': {
      perSecond: 14,
      addresses: Array.from({ length: 14 }, (_, n) => `127.0.2.${n + 1}`),
      body: () => ({ answers: [], isComplete: false, metadata: largeMetadata('\u0001') }),
    },
  };
  for (const [name, load] of Object.entries(loads)) {
    const [large, small] = await Promise.all([
      sendPaced(service, fat.id, { seconds, ...load }),
      sendPaced(service, other.id, { seconds, perSecond: 20, addresses: ['127.0.3.1'], body: () => ({ answers: [] }) }),
    ]);
    report(`beside ${name}`, small, {});
    report(name, large, await readIntakeMetrics(service));
  }
});
process.exit(refused === 0 ? 0 : 1);

async function withIntake(
  memoryBytes: number,
  work: (intake: Awaited<ReturnType<typeof startWithIntake>>) => Promise<void>,
): Promise<void> {
  const dataDir = temporaryDataDir();
  const intake = await startWithIntake(dataDir, memoryBytes);
  try {
    await work(intake);
  } finally {
    await intake.service.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}
