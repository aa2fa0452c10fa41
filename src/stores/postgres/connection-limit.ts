import type { Log } from '../../log.ts';
import type { Sql } from './client.ts';

/** Warns of a server that allows fewer connections than the processes of this start hold under load. */
export async function warnOfFewConnections(
  sql: Sql,
  { needed, log }: { needed: number; log: Pick<Log, 'warn'> },
): Promise<void> {
  const [row] = await sql<{ allowed: number }[]>`
    SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
      - coalesce(current_setting('reserved_connections', true)::int, 0) AS allowed`;
  const allowed = row?.allowed ?? needed;
  if (allowed < needed)
    log.warn(
      { allowed, needed },
      'PostgreSQL allows fewer connections than this service may hold, and refuses calls under load: raise max_connections, or lower WORKERS, unless a pooler in between shares connections',
    );
}
