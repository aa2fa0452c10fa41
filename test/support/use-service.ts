import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import type { Stores } from '../../src/stores/stores.ts';
import { adminClient, type Client } from './client.ts';
import { type RunningService, type ServiceOptions, startService } from './service.ts';
import { openStoresOf } from './service-stores.ts';
import { sharedStores } from './stores.ts';

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

/** The same on the run's shared stores, with which `take` is given a second connection to them. */
export function useServiceAndStores(take: (served: ServiceFixture & { stores: Stores }) => void): void {
  let served: ServiceFixture;
  let stores: Stores | undefined;
  // What is registered first ends first: the stores, before the service.
  after(async () => stores?.close());
  before(async () => void (await sharedStores()));
  useService((fixture) => (served = fixture));
  before(async () => {
    stores = await openStoresOf(served.service);
    take({ ...served, stores });
  });
}
