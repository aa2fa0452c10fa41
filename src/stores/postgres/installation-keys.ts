import type { Sql } from './client.ts';

/** What the keys of an installation are for: access tokens are signed, secrets are encrypted. */
export type KeyPurpose = 'access tokens' | 'secrets';

export interface InstallationKeys {
  /**
   * Records the fingerprints of a process's keys, if one of them is known already or none is. Returns whether it did.
   * With `isReplacing` they take the place of those that are known.
   */
  register(purpose: KeyPurpose, fingerprints: readonly string[], options: { isReplacing: boolean }): Promise<boolean>;
}

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
        return true;
      }),
  };
}
