import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { unavailable } from '../../../../src/errors.ts';
import { type UserRoutesDeps, userRoutes } from '../../../../src/http/routes/users.ts';
import { listener } from '../../../support/bare-live.ts';

describe('a change of one’s own password', () => {
  it('that the full queue of hashes refuses counts as a guess', async () => {
    const counted: string[] = [];
    const refusal = unavailable('Too many sign-ins at this moment', 3);
    const deps = {
      users: { find: async () => undefined, change: async () => assert.fail('nothing is changed') },
      passwords: { check: async () => ({ isMatch: false }), hash: () => Promise.reject(refusal) },
      accountGuard: {
        assertNotLocked: async () => undefined,
        failed: async (session: string) => counted.push(session),
      },
    } as unknown as UserRoutesDeps;
    const route = userRoutes(deps).find(({ method }) => method === 'PUT');
    const call = { params: { id: listener.userId }, body: { password: 'a guess' }, principal: listener } as never;
    await assert.rejects(async () => route?.handle(call), refusal);
    assert.deepEqual(counted, [listener.sessionId]);
  });
});
