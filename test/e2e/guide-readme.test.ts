import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { missing, paste, pasteInFolder, tourOf } from '../support/documents.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('README.md', () => {
  let service: RunningService;
  useService((served) => {
    ({ service } = served);
  });

  it('its tour asks two questions, takes two responses and counts them', {
    skip: missing('bash', 'curl'),
  }, async () => {
    const [status, first, second, analytics, crosstab] = await pasteInFolder(tourOf('README.md', service), (stdout) =>
      stdout
        .trim()
        .split('\n')
        .map((line, n) => (n === 0 ? line : JSON.parse(line))),
    );
    assert.equal(status, 'ACTIVE');
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

  it('its tour stops with the service’s message after a wrong password', {
    skip: missing('bash', 'curl'),
  }, async () => {
    await assert.rejects(paste(tourOf('README.md', service), { password: 'not that one' }), (error: any) => {
      assert.equal(error.killed, false, 'it stopped by itself');
      assert.equal(error.stdout, '');
      const [refusal, ...others] = error.stderr.trim().split('\n');
      assert.match(refusal, /^The service says: .*password/);
      assert.equal(others.length, 1, 'the first call after it stops the tour');
      return true;
    });
  });
});
