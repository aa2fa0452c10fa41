import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { missing, pasteInFolder, tourOf } from '../support/documents.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('docs/guide/paths.md', () => {
  let service: RunningService;
  useService((served) => {
    ({ service } = served);
  });

  it('its tour asks different guests different questions, and keeps what is named from being deleted', {
    skip: missing('bash', 'curl'),
  }, async () => {
    const [without, withEggs, deletion] = await pasteInFolder(tourOf('docs/guide/paths.md', service), (stdout) =>
      stdout.trim().split('\n\n'),
    );
    assert.deepEqual(without?.split('\n'), [
      'Did you have breakfast? | Yes | No',
      'What could be better: our breakfast?',
    ]);
    assert.deepEqual(withEggs?.split('\n'), [
      'Did you have breakfast? | Yes | No',
      'What did you have? | Eggs | Bread | Fruit',
      'Which was best? | Eggs | Fruit',
      'What could be better: Eggs and Fruit?',
    ]);
    const [refused = '', removed = '', ...left] = deletion?.split('\n') ?? [];
    const { details } = JSON.parse(refused);
    assert.deepEqual(
      [details.reason, details.broken.map(({ kind }: { kind: string }) => kind)],
      ['CONDITION_BROKEN', ['optionsFrom', 'text']],
    );
    assert.equal(JSON.parse(removed).data.deleted, true);
    assert.deepEqual(left, [
      'Did you have breakfast? | Yes | No',
      'Which was best? | Eggs | Bread | Fruit',
      'What could be better: our breakfast?',
    ]);
  });
});
