import { type Settings, SettingsError } from '../settings/settings.ts';
import { isEmail } from './email.ts';
import { readSigningKeys } from './signing-keys.ts';

/**
 * Validates ADMIN_EMAIL and JWT_PRIVATE_KEY before anything is started. Throws a SettingsError that names the setting.
 */
export async function checkSettings({
  adminEmail,
  jwtPrivateKey,
}: Pick<Settings, 'adminEmail' | 'jwtPrivateKey'>): Promise<void> {
  if (!isEmail(adminEmail.trim())) throw new SettingsError('Bad setting. ADMIN_EMAIL: must be an e-mail address');
  if (jwtPrivateKey === undefined) return;
  await readSigningKeys(jwtPrivateKey).catch((error: unknown) => {
    throw new SettingsError(
      `Bad setting. JWT_PRIVATE_KEY: ${error instanceof Error ? error.message : 'cannot be read'}`,
    );
  });
}
