import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { missing, pasteInFolder, tourOf } from '../support/documents.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('docs/guide/invitations.md', () => {
  let service: RunningService;
  useService((served) => {
    ({ service } = served);
  });

  it('its tour fills a collector, invites by a file, uses a token once and counts', {
    skip: missing('bash', 'curl'),
  }, async () => {
    const lines = await pasteInFolder(tourOf('docs/guide/invitations.md', service), (stdout) =>
      stdout.trim().split('\n'),
    );
    const replies = lines.slice(0, -1).map((line) => JSON.parse(line));
    const [one, two, beyond, first, repeated, other, counts] = replies;
    assert.deepEqual([one.success, two.success, beyond.details.state], [true, true, 'QUOTA_REACHED']);
    assert.deepEqual(repeated, first);
    assert.equal(other.details.reason, 'INVITATION_USED');
    assert.deepEqual([counts.data.total, counts.data.byStatus.COMPLETED, counts.data.byStatus.UNUSED], [2, 1, 1]);
    assert.equal(lines.at(-1), 'Default 0, Poster 0, Members 1');
  });
});
