import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { aroundService } from '../support/around-service.ts';
import { missing, paste, tourOf } from '../support/documents.ts';
import type { RunningService } from '../support/service.ts';

describe('docs/guide/replay.md', () => {
  let service: RunningService;
  aroundService((served) => ({ service } = served));

  it('its tour makes a survey from a file and finds every count equal', { skip: missing('bash', 'npm') }, async () => {
    // npm run replay builds first when sources are newer than dist: here they are not.
    const printed = await paste(tourOf('docs/guide/replay.md', service), { flags: ['-e'] });
    assert.match(printed, /\nverified: \d+ cells of 3 questions equal\n/);
  });
});
