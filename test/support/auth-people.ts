import { type AuthServer, password } from './auth-server.ts';
import { type Client, createClient } from './client.ts';

type Role = 'ADMIN' | 'EDITOR' | 'VIEWER';

export interface SignedIn {
  client: Client;
  tokens: { accessToken: string; refreshToken: string };
}

/** New users of a server, and their sessions. */
export function createAuthPeople(server: AuthServer) {
  let people = 0;
  const anyone = (): Client => createClient(server);
  const newPerson = (role: Role) => {
    people += 1;
    return server.addUser(`person${people}@example.org`, role);
  };
  const signIn = async (email: string, ownPassword = password): Promise<SignedIn> => {
    const tokens = await anyone().post('/auth/login', { email, password: ownPassword });
    return { tokens, client: createClient(server, tokens.accessToken) };
  };
  return {
    anyone,
    newPerson,
    signIn,
    async signedIn(role: Role) {
      const user = await newPerson(role);
      return { user, ...(await signIn(user.email)) };
    },
  };
}

export type AuthPeople = ReturnType<typeof createAuthPeople>;
