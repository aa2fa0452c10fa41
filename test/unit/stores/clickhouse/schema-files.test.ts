import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { assetPath } from '../../../../src/platform/assets.ts';
import { schemaFiles, schemaStatement } from '../../../../src/stores/clickhouse/schema/migrate.ts';

test('every placeholder of the schema files is replaced, for one server and for a cluster', async () => {
  const names = { database: 'd', table: (table: string) => `d.${table}` };
  for (const placement of [{}, { cluster: 'c' }]) {
    const files = await schemaFiles(placement);
    assert.deepEqual(files.includes('001_responses.cluster.sql'), 'cluster' in placement);
    for (const file of files)
      assert.doesNotMatch(
        schemaStatement(await readFile(assetPath(`src/stores/clickhouse/schema/${file}`), 'utf8'), names, placement),
        /\{\{/,
      );
  }
  assert.throws(() => schemaStatement('{{unknown}}', names, {}), /unknown/);
});
