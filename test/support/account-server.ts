import { after, before } from 'node:test';
import type { UserRole } from '../../src/auth/roles.ts';
import { type AuthServer, password, startAuthServer } from './auth-server.ts';
import { type Client, createClient } from './client.ts';

/** The routes of accounts on a server of their own, with an ADMIN who is signed in. */
export interface AccountServer extends AuthServer {
  admin: Client;
  adminId: string;
  signIn(email: string): Promise<Client>;
  /** A new user, signed in. */
  person(role: UserRole): Promise<{ user: Awaited<ReturnType<AuthServer['addUser']>>; client: Client }>;
}

/** The server for the tests of a file: begun before the first of them, when `take` is given it, and ended after the last. */
export function useAccountServer(take: (server: AccountServer) => void): void {
  let server: AccountServer | undefined;
  before(async () => {
    server = await startAccountServer();
    take(server);
  });
  after(() => server?.stop());
}

async function startAccountServer(): Promise<AccountServer> {
  const server = await startAuthServer();
  const signIn = async (email: string): Promise<Client> =>
    createClient(server, (await createClient(server).post('/auth/login', { email, password })).accessToken);
  const { id: adminId } = await server.addUser('root@localhost', 'ADMIN');
  let people = 0;
  return {
    ...server,
    adminId,
    admin: await signIn('root@localhost'),
    signIn,
    async person(role) {
      people += 1;
      const user = await server.addUser(`somebody${people}@example.org`, role);
      return { user, client: await signIn(user.email) };
    },
  };
}
