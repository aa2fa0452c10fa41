import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createHub } from '../../../../src/http/live/hub.ts';
import { createLog } from '../../../../src/log.ts';
import { listener } from '../../../support/bare-live.ts';

it('no live stream begins once the service stops, which would hear nothing', () => {
  const hub = createHub({
    authentication: { current: async (known) => known, clearCache: () => undefined },
    access: { find: async () => undefined, rightOf: async () => undefined },
    now: Date.now,
    maxStreamsPerUser: 9,
    quotasOf: () => undefined,
    log: createLog('silent'),
  });
  hub.admit(listener.userId);
  hub.stop();
  assert.throws(() => hub.admit(listener.userId), { code: 'SERVICE_UNAVAILABLE', retryAfterSeconds: 1 });
});
