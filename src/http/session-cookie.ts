import { Problem } from '../errors.ts';
import type { Header } from './server/reply.ts';

export interface SessionCookieOptions {
  /** The origin of the service for browsers, if it is known; with https the cookie is sent over https alone. */
  publicUrl: string | undefined;
  /** Lifetime of a session. */
  ttlSeconds: number;
  /** Without https, browsers send the cookie with calls below this path alone. */
  path: string;
}

const plainName = 'survey_session';
/** Browsers take a cookie of this prefix from the host itself only, over https, and for all its paths. */
const hostName = `__Host-${plainName}`;

/**
 * The refresh token of a browser's session, in a cookie that scripts cannot read and that other sites cannot make
 * browsers send.
 */
export function createSessionCookie({ publicUrl, ttlSeconds, path }: SessionCookieOptions) {
  const isSecure = isHttps(publicUrl);
  const name = isSecure ? hostName : plainName;
  const attributes = [`Path=${isSecure ? '/' : path}`, 'HttpOnly', 'SameSite=Strict', ...(isSecure ? ['Secure'] : [])];
  const cookie = (value: string, maxAgeSeconds: number): Header => [
    'set-cookie',
    [`${name}=${value}`, `Max-Age=${maxAgeSeconds}`, ...attributes].join('; '),
  ];
  return {
    set: (refreshToken: string): Header => cookie(refreshToken, ttlSeconds),
    clear: (): Header => cookie('', 0),
    /** Undefined if there are several of the name too: one of them was set by another host of the domain. */
    read(cookieHeader: string | undefined): string | undefined {
      const values = (cookieHeader ?? '')
        .split(';')
        .map((pair) => pair.trim())
        .filter((pair) => pair.startsWith(`${name}=`))
        .map((pair) => pair.slice(name.length + 1));
      return values.length === 1 ? values[0] : undefined;
    },
    /**
     * Throws FORBIDDEN for a call from a page of another site. Browsers name the origin with every POST; programs need
     * not.
     */
    assertSameOrigin({ origin, host }: { origin: string | undefined; host: string | undefined }): void {
      if (origin === undefined || origin === publicUrl) return;
      // Whoever is on the network can write a page of the same host without https.
      const isWeaker = isSecure && !isHttps(origin);
      if (host !== undefined && !isWeaker && hostOf(origin) === host.toLowerCase()) return;
      throw new Problem('FORBIDDEN', 'The cookie of a session is taken from the pages of the service itself only');
    },
  };
}

export type SessionCookie = ReturnType<typeof createSessionCookie>;

const isHttps = (url: string | undefined): boolean => url?.startsWith('https:') === true;

const hostOf = (origin: string): string | undefined => (URL.canParse(origin) ? new URL(origin).host : undefined);
