import { machineLine, option } from '../../bench/support/machine.ts';
import { debianProgram } from '../support/debian-program.ts';
import { type EngineFault, runEngineChaos } from '../support/engine-chaos.ts';

/**
 * `npm run chaos:engine`: responses sent into inserts in the middle of which ClickHouse fails. EIO, ENOSPC and SIGKILL
 * at the first 20 renames, writes and syncs each (`--positions N`), then `--kills N` (500) kills at a rename, a sync or
 * a write by turns. Ends with code 1 where anything was lost.
 */
const [positions, kills] = [option('positions', 20), option('kills', 500)];
const strace = debianProgram('strace');
if ('missing' in strace) throw new Error(strace.missing);
const kinds = (['rename', 'write', 'fdatasync'] as const).flatMap((calls) =>
  (['EIO', 'ENOSPC', 'KILL'] as const).map((effect) => ({ calls, effect })),
);
const inTurn = kinds.flatMap((kind) =>
  Array.from({ length: positions }, (_, index): EngineFault => ({ ...kind, when: index + 1 })),
);
const aimed = Array.from(
  { length: kills },
  (_, n): EngineFault => ({
    calls: (['rename', 'fdatasync', 'rename', 'write'] as const)[n % 4] ?? 'rename',
    effect: 'KILL',
    when: 1 + (Math.floor(n / 4) % 12),
  }),
);
console.log(machineLine());
const report = await runEngineChaos({ strace: strace.path, faults: [...inTurn, ...aimed], say: console.log });
console.log(
  JSON.stringify({ chaos: 'engine', faults: inTurn.length + aimed.length, ...report, lost: report.lost.length }),
);
process.exit(report.lost.length === 0 && report.surplus === 0 && report.counted === report.accepted ? 0 : 1);
