import type { InstallationKeys } from '../../auth/installation-keys.ts';
import type { Sql } from './client.ts';

/** Advisory lock of processes that register keys at the same time. Any fixed number. */
const registrationLock = 7_203_516;

export function createInstallationKeys(sql: Sql): InstallationKeys {
  return {
    register: (purpose, fingerprints, { isReplacing }) =>
      sql.begin(async (tx) => {
        await tx`SELECT pg_advisory_xact_lock(${registrationLock})`;
        if (isReplacing) await tx`DELETE FROM installation_keys WHERE purpose = ${purpose}`;
        const known = await tx<{ fingerprint: string }[]>`
          SELECT fingerprint FROM installation_keys WHERE purpose = ${purpose}`;
        if (known.length > 0 && !known.some(({ fingerprint }) => fingerprints.includes(fingerprint))) return false;
        for (const fingerprint of fingerprints)
          await tx`
            INSERT INTO installation_keys (purpose, fingerprint) VALUES (${purpose}, ${fingerprint})
            ON CONFLICT DO NOTHING`;
        // Keys that are older than the newest of this process and not among its own have been removed.
        await tx`
          DELETE FROM installation_keys WHERE purpose = ${purpose} AND NOT fingerprint = ANY(${[...fingerprints]})
            AND first_used_at < (SELECT max(first_used_at) FROM installation_keys
              WHERE purpose = ${purpose} AND fingerprint = ANY(${[...fingerprints]}))`;
        return true;
      }),
  };
}
