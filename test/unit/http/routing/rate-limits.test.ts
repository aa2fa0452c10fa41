import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Redis } from 'ioredis';
import { createRateLimits } from '../../../../src/http/routing/rate-limits.ts';
import { createLog } from '../../../../src/log.ts';

describe('limits while Redis cannot be asked', () => {
  // It is never connected.
  const redis = new Redis({ lazyConnect: true });
  const warnings: unknown[] = [];
  const log = createLog('silent');
  log.warn = (fields: unknown) => void warnings.push(fields);
  const allowed = async (scope: 'auth' | 'api', key: string, calls: number) => {
    const limits = createRateLimits({
      redis,
      auth: 6,
      api: 3,
      processCount: 2,
      keyedHash: (_scope, text) => text,
      log,
    });
    const standings = [];
    for (let n = 0; n < calls; n += 1) standings.push(await limits.consume(scope, key));
    return standings.map(({ isAllowed, retryAfterSeconds }) =>
      isAllowed && retryAfterSeconds === 0 ? 'passes' : isAllowed ? 'counted' : 'refused',
    );
  };

  it('allow each process its share of sign-ins', async () => {
    assert.deepEqual(await allowed('auth', 'an address', 5), ['counted', 'counted', 'counted', 'refused', 'refused']);
  });

  it('do not limit other calls, and do not fill the log with them', async () => {
    warnings.length = 0;
    assert.deepEqual(
      await allowed('api', 'a user', 50),
      Array.from({ length: 50 }, () => 'passes'),
    );
    // Three lines in ten seconds, of which these calls may touch the end of one and the beginning of the next.
    assert.ok(warnings.length >= 1 && warnings.length <= 6, `${warnings.length} warnings`);
  });
});
