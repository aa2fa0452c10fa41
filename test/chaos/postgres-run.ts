import { machineLine, option } from '../../bench/support/machine.ts';
import { failuresOf, type PostgresFault, postgresFaults, runPostgresChaos } from '../support/postgres-chaos.ts';

/**
 * `npm run chaos:postgres`: submissions at `--rate N` a second (1000) while PostgreSQL is away for `--seconds N`
 * (300). `--fault frozen`: open and new connections carry nothing and are not closed; `open`: the open ones only;
 * `stopped`: they are closed, and new ones are refused. Prints a line a second. Ends with code 1 where a submission
 * was refused or lost, or the response store was more than 15 s behind.
 */
const at = process.argv.indexOf('--fault');
const fault = (at < 0 ? 'frozen' : process.argv[at + 1]) as PostgresFault;
if (!Object.hasOwn(postgresFaults, fault))
  throw new Error(`--fault is one of ${Object.keys(postgresFaults).join(', ')}`);
const [perSecond, seconds] = [option('rate', 1000), option('seconds', 300)];
console.log(machineLine());
const report = await runPostgresChaos({ fault, perSecond, seconds, say: console.log });
const failures = failuresOf(report);
console.log(
  JSON.stringify({ chaos: 'postgres', fault, perSecond, seconds, ...report, lost: report.lost.length, failures }),
);
process.exit(failures.length === 0 ? 0 : 1);
