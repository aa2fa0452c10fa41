import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { missing, pasteInFolder, tourOf } from '../support/documents.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('docs/guide/submitting.md', () => {
  let service: RunningService;
  useService((served) => {
    ({ service } = served);
  });

  it('its tour repeats a submission, resumes a response and is refused at the quota', {
    skip: missing('bash', 'curl'),
  }, async () => {
    const [first, repeated, resumed, beyond, mistaken] = await pasteInFolder(
      tourOf('docs/guide/submitting.md', service),
      (stdout) =>
        stdout
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line)),
    );
    assert.deepEqual(repeated, first);
    assert.deepEqual([resumed.data.isComplete, resumed.success], [true, true]);
    assert.notEqual(resumed.data.responseId, first.data.responseId);
    assert.equal(beyond.details.reason, 'QUOTA_REACHED');
    assert.equal(mistaken.success, false);
  });
});
