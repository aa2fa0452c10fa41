import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { missing, pasteInFolder, tourOf } from '../support/documents.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('docs/guide/exports.md', () => {
  let service: RunningService;
  useService((served) => {
    ({ service } = served);
  });

  it('its tour downloads the responses in two formats', { skip: missing('bash', 'curl') }, async () => {
    await pasteInFolder(tourOf('docs/guide/exports.md', service), (stdout, folder) => {
      const lines = stdout.trim().split('\n');
      const exports = lines.slice(0, 2).map((line) => JSON.parse(line).data);
      assert.deepEqual(
        exports.map(({ format, rowCount }) => [format, rowCount]),
        [
          ['CSV', 3],
          ['EXCEL', 3],
        ],
      );
      for (const { format, sha256 } of exports)
        assert.equal(
          createHash('sha256')
            .update(readFileSync(join(folder, `lunch.${format}`)))
            .digest('hex'),
          sha256,
          format,
        );
      const csv = readFileSync(join(folder, 'lunch.CSV'), 'utf8');
      assert.deepEqual([csv.match(/,Soup,/g)?.length, csv.match(/,Pasta,/g)?.length], [2, 1]);
      assert.equal(JSON.parse(lines.at(-1) ?? '').data.length, 2);
    });
  });
});
