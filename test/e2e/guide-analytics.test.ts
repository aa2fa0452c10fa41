import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { missing, pasteInFolder, tourOf } from '../support/documents.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('docs/guide/analytics.md', () => {
  let service: RunningService;
  useService((served) => {
    ({ service } = served);
  });

  it('its tour prints the weighted crosstab, its banner and filtered statistics', {
    skip: missing('bash', 'curl'),
  }, async () => {
    const printed = await pasteInFolder(tourOf('docs/guide/analytics.md', service), (stdout) =>
      stdout.trim().split('\n'),
    );
    const [yes = '', no = '', ...rest] = printed;
    // 4² ÷ (2² + 1.5² + 0.5²) people of equal weight.
    assert.deepEqual(
      [yes.split(' ').slice(0, 3), Number(yes.split(' ')[3]).toFixed(2), no],
      [['Yes', '3', '4'], '2.46', 'No 2 1 2'],
    );
    assert.deepEqual(rest, ['87.5 50.0', '12.5 50.0', '1/0.5 2/3.5', '1/0.5 1/0.5', '1', '3']);
  });
});
