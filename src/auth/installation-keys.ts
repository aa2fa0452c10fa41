import { SettingsError } from '../settings/settings.ts';

/** What the keys of an installation are for: access tokens are signed, secrets are encrypted. */
export type KeyPurpose = 'access tokens' | 'secrets';

export interface InstallationKeys {
  /**
   * Records the fingerprints of a process's keys, if one of them is known already or none is, and forgets older ones
   * that this process does not have any more. Returns whether it did. With `isReplacing` they take the place of those
   * that are known.
   */
  register(purpose: KeyPurpose, fingerprints: readonly string[], options: { isReplacing: boolean }): Promise<boolean>;
}

/** Fingerprints of this process's keys, by what they are for; a purpose without keys is not compared. */
export type KeyFingerprints = Partial<Record<KeyPurpose, readonly string[]>>;

const settingOf: Record<KeyPurpose, { setting: string; file: string; loss: string }> = {
  'access tokens': {
    setting: 'JWT_PRIVATE_KEY',
    file: 'access-tokens.pem',
    loss: 'every access token would be refused',
  },
  secrets: {
    setting: 'SECRETS_KEY',
    file: 'secrets-key',
    loss: 'links of invitations would be refused, and webhook secrets and AI provider keys could not be read',
  },
};

/**
 * Compares the keys of this process with those that the installation's database knows. Throws a SettingsError when all
 * keys of a purpose are others, because this process and the others would refuse each other's tokens. With `isAccepted`
 * (ACCEPT_CHANGED_KEYS) the keys of this process become the installation's.
 */
export async function checkInstallationKeys(
  keys: InstallationKeys,
  fingerprints: KeyFingerprints,
  { dataDir, isAccepted }: { dataDir: string; isAccepted: boolean },
): Promise<void> {
  for (const purpose of ['access tokens', 'secrets'] as const) {
    const own = fingerprints[purpose];
    if (own === undefined || (await keys.register(purpose, own, { isReplacing: isAccepted }))) continue;
    const { setting, file, loss } = settingOf[purpose];
    throw new SettingsError(
      `The key of ${purpose} (${setting}, or ${dataDir}/keys/${file}) is not the one that this database was used with, ` +
        `so ${loss}. Give this process the same key, or start it once with ACCEPT_CHANGED_KEYS=true if the old key is lost`,
    );
  }
}
