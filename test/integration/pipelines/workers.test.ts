import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { PermanentFailure, unavailable } from '../../../src/errors.ts';
import { createLog } from '../../../src/log.ts';
import { createWorkers, type Workers } from '../../../src/pipelines/workers.ts';
import { newId } from '../../../src/platform/ids.ts';
import { eventually } from '../../support/eventually.ts';
import { sharedStores } from '../../support/stores.ts';

describe('a consumer of a job queue', () => {
  let workers: Workers;
  before(async () => {
    workers = createWorkers({
      url: new URL('/7', (await sharedStores()).redisJobsUrl).href,
      connection: { assertReady: () => undefined },
      log: createLog('silent'),
    });
  });
  after(() => workers?.stop());

  it('is given the error of the last attempt, with its code', async () => {
    const away = unavailable('The store is away');
    const given: unknown[] = [];
    workers.consume(
      'ai',
      async () => {
        throw away;
      },
      async ({ aiJobId }, error) => void given.push([aiJobId, error]),
    );
    const aiJobId = newId();
    await workers.add('ai', { aiJobId });
    await eventually(() => assert.deepEqual(given, [[aiJobId, away]]));
  });

  it('is given the error of a job that is not tried again, at its first attempt', async () => {
    const given: unknown[] = [];
    workers.consume(
      'exports',
      async () => {
        throw new PermanentFailure('no file can be made of this');
      },
      async ({ exportId }, error) => void given.push([exportId, (error as Error).message]),
    );
    const exportId = newId();
    await workers.add('exports', { exportId });
    await eventually(() => assert.deepEqual(given, [[exportId, 'no file can be made of this']]));
  });
});
