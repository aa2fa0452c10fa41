import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { adminClient, type Client } from './client.ts';
import { type RunningService, type ServiceOptions, startService } from './service.ts';

export interface ServiceFixture {
  service: RunningService;
  /** Signed in as the first ADMIN. */
  admin: Client;
}

/**
 * A service for the tests of a file or suite: begun before the first of them, when `take` is given it, and ended in
 * order after the last.
 */
export function useService(take: (served: ServiceFixture) => void, options?: ServiceOptions): void {
  let service: RunningService | undefined;
  before(async () => {
    service = await startService(options);
    take({ service, admin: await adminClient(service) });
  });
  after(async () => {
    if (service) assert.equal(await service.stop(), 0);
  });
}
