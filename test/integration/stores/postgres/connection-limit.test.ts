import assert from 'node:assert/strict';
import { it } from 'node:test';
import { warnOfFewConnections } from '../../../../src/stores/postgres/connection-limit.ts';
import { freshDatabase } from '../../../support/auth-server.ts';

it('a PostgreSQL that allows fewer connections than the service may hold is warned of, and no other one', async () => {
  const { sql, drop } = await freshDatabase();
  try {
    const warningsAt = async (needed: number) => {
      const warnings: unknown[] = [];
      await warnOfFewConnections(sql, { needed, log: { warn: (fields: unknown) => void warnings.push(fields) } });
      return warnings;
    };
    const [row] = await sql<{ most: number; others: number }[]>`
      SELECT current_setting('max_connections')::int AS most,
        current_setting('superuser_reserved_connections')::int + current_setting('reserved_connections')::int AS others`;
    const allowed = (row?.most ?? 0) - (row?.others ?? 0);
    assert.deepEqual(await warningsAt(allowed), []);
    assert.deepEqual(await warningsAt(allowed + 1), [{ allowed, needed: allowed + 1 }]);
  } finally {
    await drop();
  }
});
