import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { missing, paste, tourOf } from '../support/documents.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

const main = fileURLToPath(new URL('../../src/replay/main.js', import.meta.url));

describe('docs/guide/replay.md', () => {
  let service: RunningService;
  useService((served) => {
    ({ service } = served);
  });

  it('its tour makes a survey from a file and finds every count equal', { skip: missing('bash') }, async () => {
    // The command without its build step, which would replace the build that other tests run from if a source changed
    // meanwhile.
    const lines = tourOf('docs/guide/replay.md', service).replaceAll(
      'npm run replay --',
      `'${process.execPath}' '${main}'`,
    );
    const printed = await paste(lines, { flags: ['-e'] });
    assert.match(printed, /\nverified: \d+ cells of 3 questions equal\n/);
  });
});
