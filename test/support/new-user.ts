import { randomUUID } from 'node:crypto';
import { type Client, createClient } from './client.ts';
import type { RunningService } from './service.ts';

/** A new signed-in user with a unique name, since tests share their stores. */
export async function signInNewUser(
  service: Pick<RunningService, 'base'>,
  admin: Client,
  role: 'ADMIN' | 'EDITOR' | 'VIEWER' = 'EDITOR',
): Promise<Client & { id: string }> {
  const credentials = { email: `${role.toLowerCase()}-${randomUUID()}@example.org`, password: 'a good long password' };
  const { id } = await admin.create('/users', { ...credentials, role });
  const { accessToken } = await createClient(service).post('/auth/login', credentials);
  return { ...createClient(service, accessToken), id };
}
