import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { unavailable } from '../../../../src/errors.ts';
import { logoRoutes } from '../../../../src/http/routes/logos.ts';
import { type LogoStore, logoHash } from '../../../../src/stores/postgres/logos.ts';
import { startLoopback } from '../../../support/loopback-server.ts';
import { png } from '../../../support/pictures.ts';

describe('the address of a logo', () => {
  let server: Awaited<ReturnType<typeof startLoopback>>;
  let state: 'kept' | 'away' | 'lost' = 'kept';
  const ask = async <T>(kept: T, lost: T): Promise<T> => {
    if (state === 'away') throw unavailable('The control plane cannot be reached', 2);
    return state === 'kept' ? kept : lost;
  };
  const logos: LogoStore = {
    find: () => ask({ mediaType: 'image/png', bytes: png }, undefined),
    has: () => ask(true, false),
    save: async () => {},
    remove: async () => {},
  };
  before(async () => {
    const change = () => assert.fail('nothing is changed');
    server = await startLoopback({ api: logoRoutes({ actors: { change }, logos, now: Date.now }), root: [] });
  });
  after(() => server.stop());

  it('is answered from memory while PostgreSQL is away, and no longer once no survey has the logo', async () => {
    const status = async () => (await fetch(`${server.origin}/api/v1/public/logos/${logoHash(png)}`)).status;
    const statuses: number[] = [];
    for (state of ['away', 'kept', 'away', 'lost', 'away'] as const) statuses.push(await status());
    assert.deepEqual(statuses, [503, 200, 200, 404, 503]);
  });
});
