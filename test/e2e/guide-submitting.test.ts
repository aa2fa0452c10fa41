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

  it('its tour repeats a submission, names mistakes, resumes a response and is refused at the quota', {
    skip: missing('bash', 'curl'),
  }, async () => {
    const [first, repeated, mistaken, resumed, beyond] = await pasteInFolder(
      tourOf('docs/guide/submitting.md', service),
      (stdout) =>
        stdout
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line)),
    );
    assert.deepEqual(repeated, first);
    assert.equal(mistaken.code, 'VALIDATION_ERROR');
    assert.deepEqual(
      mistaken.details.map(({ message }: { message: string }) => message.replace(/^question \S+ /, '')),
      ['must lie on the scale from 0 to 10 in steps of 1', 'is required: Which dish?'],
    );
    assert.deepEqual([resumed.data.isComplete, resumed.success], [true, true]);
    assert.notEqual(resumed.data.responseId, first.data.responseId);
    assert.equal(beyond.details.reason, 'QUOTA_REACHED');
  });
});
