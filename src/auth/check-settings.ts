import { type Settings, SettingsError } from '../settings/settings.ts';
import { isEmail } from './email.ts';
import { loadSigningKeys } from './signing-keys.ts';

/**
 * Validates ADMIN_EMAIL and JWT_PRIVATE_KEY before anything is started. Throws a SettingsError that names the setting.
 */
export async function checkSettings(
  settings: Pick<Settings, 'adminEmail' | 'jwtPrivateKey' | 'dataDir'>,
): Promise<void> {
  if (!isEmail(settings.adminEmail.trim()))
    throw new SettingsError('Bad setting. ADMIN_EMAIL: must be an e-mail address');
  // Without JWT_PRIVATE_KEY the key is made in DATA_DIR later, which is not touched yet.
  if (settings.jwtPrivateKey !== undefined) await loadSigningKeys(settings);
}
