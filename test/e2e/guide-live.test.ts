import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { missing, paste, tourOf } from '../support/documents.ts';
import { type RunningService, startService } from '../support/service.ts';
import { type SharedStores, sharedStores } from '../support/stores.ts';

describe('docs/guide/live.md', () => {
  let stores: SharedStores;
  let service: RunningService;
  before(async () => {
    stores = await sharedStores();
    service = await startService();
  });
  after(async () => {
    assert.equal(await service.stop(), 0);
    await stores?.stop();
  });

  it('its tour streams three responses both ways and resumes with the one that was missed', {
    skip: missing('bash', 'curl', 'sed'),
  }, async () => {
    // The ws package lies in the project's folder.
    const stdout = await paste(tourOf('docs/guide/live.md', service));
    const output = stdout.split('\n');
    const said = (start: string) =>
      output.filter((line) => line.startsWith(start)).map((line) => JSON.parse(line.slice(start.indexOf('{'))));
    const overSocket = said('{"type":"response"').map(({ responseId }) => responseId);
    const overEvents = said('data: {"type":"response"').map(({ responseId }) => responseId);
    assert.equal(overSocket.length, 3);
    assert.deepEqual(overEvents.slice(0, 3), overSocket);
    assert.equal(new Set(overEvents).size, 4, 'the fourth is what was missed since the cursor');
    assert.ok(said('data: {"type":"analytics"').some(({ totalResponses }) => totalResponses === 3));
    assert.ok(output.includes('event: status'));
  });
});
