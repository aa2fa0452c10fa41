import { Problem } from '../errors.ts';
import type { Header } from './server/reply.ts';

export interface SessionCookieOptions {
  /** Where browsers reach the service, if it is known; with https the cookie is sent over https alone. */
  publicUrl: string | undefined;
  /** Lifetime of a session. */
  ttlSeconds: number;
  /** Browsers send the cookie with calls of this path alone. */
  path: string;
}

const name = 'survey_session';
const cookiePattern = new RegExp(`(?:^|;)\\s*${name}=([A-Za-z0-9_-]{1,512})\\s*(?:;|$)`);

/**
 * The refresh token of a browser's session, in a cookie that scripts cannot read and that other sites cannot make
 * browsers send.
 */
export function createSessionCookie({ publicUrl, ttlSeconds, path }: SessionCookieOptions) {
  const attributes = [`Path=${path}`, 'HttpOnly', 'SameSite=Strict', ...(isHttps(publicUrl) ? ['Secure'] : [])];
  const cookie = (value: string, maxAgeSeconds: number): Header => [
    'set-cookie',
    [`${name}=${value}`, `Max-Age=${maxAgeSeconds}`, ...attributes].join('; '),
  ];
  return {
    set: (refreshToken: string): Header => cookie(refreshToken, ttlSeconds),
    clear: (): Header => cookie('', 0),
    read: (cookieHeader: string | undefined): string | undefined => cookiePattern.exec(cookieHeader ?? '')?.[1],
    /**
     * Throws FORBIDDEN for a call from a page of another site. Browsers name the origin with every POST; programs need
     * not.
     */
    assertSameOrigin({ origin, host }: { origin: string | undefined; host: string | undefined }): void {
      if (origin === undefined || origin === originOf(publicUrl) || hostOf(origin) === host?.toLowerCase()) return;
      throw new Problem('FORBIDDEN', 'The cookie of a session is taken from the pages of the service itself only');
    },
  };
}

export type SessionCookie = ReturnType<typeof createSessionCookie>;

const isHttps = (url: string | undefined): boolean => url?.startsWith('https:') === true;

function originOf(url: string | undefined): string | undefined {
  return url === undefined || !URL.canParse(url) ? undefined : new URL(url).origin;
}

const hostOf = (origin: string): string | undefined => (URL.canParse(origin) ? new URL(origin).host : undefined);
