import { parseArgs } from 'node:util';
import { createLog } from '../log.ts';
import { isId } from '../platform/ids.ts';
import { errorMessage } from '../platform/start-error.ts';
import { readSettings } from '../settings/settings.ts';
import { runningStores } from '../stores/embedded/start-stores.ts';
import { connectStores } from './connect.ts';
import { reconcile } from './reconcile.ts';

const usage = `npm run reconcile [-- options]

Compares accepted responses with stored ones while the service runs: the rows in the streams that were stored within a
day, by their ids; and for each survey the counters of the intake, those of its collectors and quotas by cell, the stored responses, and the
counts in the survey's row. Where the intake does not know a survey, as after a restore, its row is compared with the stored
responses. Surveys that were deleted and erased, or that PostgreSQL does not know, are named where ClickHouse holds
responses of them. The exit code is 1 if they differ, if ClickHouse holds such responses or a damaged part, if there is
no such survey, or if a store cannot be reached.

  --repair        stores missing rows again from the streams, corrects the counts in the rows of surveys, and has the
                  service erase the responses of deleted surveys again
  --survey ID     compares only this survey
  --after ID      continues after this survey; an interrupted run prints the id

The stores are those of the service's settings (REDIS_URL, DATABASE_URL, CLICKHOUSE_URL), or those that a service of
this version has started under DATA_DIR since it lies at its path.
`;

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  let options: ReturnType<typeof readOptions>;
  try {
    options = readOptions(args);
  } catch (error) {
    process.stderr.write(`${errorMessage(error)}\n\n${usage}`);
    return 2;
  }
  if (options.isHelp) {
    process.stdout.write(usage);
    return 0;
  }
  try {
    return (await run(options)) ? 0 : 1;
  } catch (error) {
    process.stderr.write(`${errorMessage(error)}\n`);
    return 1;
  }
}

function readOptions(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      repair: { type: 'boolean', default: false },
      survey: { type: 'string' },
      after: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  for (const name of ['survey', 'after'] as const)
    if (values[name] !== undefined && !isId(values[name])) throw new Error(`--${name} must be the id of a survey`);
  return { isRepairing: values.repair, surveyId: values.survey, after: values.after, isHelp: values.help };
}

async function run({ isRepairing, surveyId, after }: ReturnType<typeof readOptions>): Promise<boolean> {
  const settings = readSettings(process.env);
  const running = runningStores(settings.dataDir);
  const {
    redisUrl = running.redis,
    databaseUrl = running.postgres,
    clickhouseUrls = running.clickhouse === undefined ? undefined : [running.clickhouse],
  } = settings;
  if (redisUrl === undefined || databaseUrl === undefined || clickhouseUrls === undefined)
    throw new Error(
      `No stores: no service of this version has started stores under ${settings.dataDir} since it lies at this path, and REDIS_URL, DATABASE_URL and CLICKHOUSE_URL are not all set`,
    );
  const { close, ...stores } = await connectStores({
    redisUrl,
    databaseUrl,
    clickhouseUrls,
    cluster: settings.clickhouseCluster,
    shards: settings.intakeShards,
    log: createLog('error'),
  });
  try {
    return await reconcile({
      ...stores,
      isRepairing,
      surveyId,
      after,
      print: (line) => void process.stdout.write(`${line}\n`),
    });
  } finally {
    await close();
  }
}
