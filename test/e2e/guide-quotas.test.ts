import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { missing, pasteInFolder, tourOf } from '../support/documents.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('docs/guide/quotas.md', () => {
  let service: RunningService;
  useService((served) => {
    ({ service } = served);
  });

  it('its tour fills a cell, and names it to who comes too late', { skip: missing('bash', 'curl') }, async () => {
    const lines = await pasteInFolder(tourOf('docs/guide/quotas.md', service), (stdout) => stdout.trim().split('\n'));
    assert.deepEqual(lines, [
      'North × 18-39; North × 40+; South × 18-39; South × 40+',
      'COMPLETED',
      'North × 18-39 is full: OVER_QUOTA',
      'OVER_QUOTA: North × 18-39',
      'North × 18-39: 1 of 1; North × 40+: 0 of 1; South × 18-39: 0 of 1; South × 40+: 0 of 1',
    ]);
  });
});
