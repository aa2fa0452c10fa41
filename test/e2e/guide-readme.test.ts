import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { missing, pasteInFolder, tourOf } from '../support/documents.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('README.md', () => {
  let service: RunningService;
  useService((served) => {
    ({ service } = served);
  });

  it('its five minutes ask two questions, take two responses and count them', {
    skip: missing('bash', 'curl'),
  }, async () => {
    const [first, second, analytics, crosstab] = await pasteInFolder(tourOf('README.md', service), (stdout) =>
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    );
    assert.deepEqual([first.success, second.success], [true, true]);
    assert.equal(analytics.data.totalResponses, 2);
    assert.deepEqual(
      crosstab.data.rows.map(({ text, total }: { text: string; total: number }) => [text, total]),
      [
        ['Soup', 1],
        ['Pasta', 1],
      ],
    );
  });
});
