import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { loadOrCreateSecret } from '../../../src/platform/secrets.ts';

describe('a secret of an installation', () => {
  const place = mkdtempSync(join(tmpdir(), 'survey-secrets-'));
  after(() => rmSync(place, { recursive: true, force: true }));

  it('is created once, in a folder that others cannot enter, below a DATA_DIR that PostgreSQL’s own user can pass', () => {
    const dataDir = join(place, 'deep', 'data');
    const secret = loadOrCreateSecret(dataDir, 'some-key');
    assert.ok(secret.length >= 43);
    assert.equal(loadOrCreateSecret(dataDir, 'some-key'), secret);
    const modes = [join(place, 'deep'), dataDir, join(dataDir, 'keys'), join(dataDir, 'keys', 'some-key')].map((path) =>
      (statSync(path).mode & 0o777).toString(8),
    );
    assert.deepEqual(modes, ['711', '711', '700', '600']);
  });
});
