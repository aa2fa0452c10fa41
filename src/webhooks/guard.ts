import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { parseUrl } from '../platform/parse-url.ts';
import { within } from '../platform/within.ts';
import { isPublicAddress } from './public-address.ts';

/** Resolves a name to all its addresses; rejects if there are none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** A connection was refused by the guard, because the name leads to an address that is not public. */
export class BlockedAddress extends Error {
  readonly code = 'BLOCKED';
  constructor() {
    super('the address is not a public one');
    this.name = 'BlockedAddress';
  }
}

export interface GuardOptions {
  /** Allows any address and port, for development and tests. */
  isPrivateAllowed: boolean;
  resolve?: Resolve;
}

/** Keeps requests to addresses that users entered out of the service's own network (server-side request forgery). */
export interface Guard {
  /** Checks the text alone, without resolving the name. Why it is refused; undefined if it is allowed. */
  refusalOf(url: string): string | undefined;
  /** Also checks all addresses of the name. A name without addresses passes: it is checked again when it is used. */
  check(url: string): Promise<string | undefined>;
  /**
   * For `http.request`: resolves the name, refuses it if any address is not public, and returns the checked addresses,
   * so that the name is not resolved a second time to something else.
   */
  lookup: LookupFunction;
}

const checkTimeoutMs = 4000;

export function createGuard({
  isPrivateAllowed,
  resolve = createResolve({ isHostsFileRead: isPrivateAllowed }),
}: GuardOptions): Guard {
  const refusalOf = (url: string) => refusalOfText(url, isPrivateAllowed);
  return {
    refusalOf,
    async check(url) {
      const refusal = refusalOf(url);
      if (refusal !== undefined || isPrivateAllowed) return refusal;
      const { hostname } = new URL(url);
      if (isIP(withoutBrackets(hostname)) > 0) return undefined;
      const addresses = await within(
        checkTimeoutMs,
        resolve(hostname).catch(() => []),
        [],
      );
      return addresses.every(isPublicAddress) ? undefined : notPublic;
    },
    lookup(hostname, options, callback) {
      resolve(hostname).then(
        (addresses) => {
          const found = addresses.map((address) => ({ address, family: isIP(address) }));
          const first = found[0];
          if (!first)
            return callback(Object.assign(new Error('the name has no address'), { code: 'ENOTFOUND' }), '', 0);
          if (!isPrivateAllowed && !addresses.every(isPublicAddress)) return callback(new BlockedAddress(), '', 0);
          if (options.all === true) callback(null, found);
          else callback(null, first.address, first.family);
        },
        (error: NodeJS.ErrnoException) => callback(error, '', 0),
      );
    },
  };
}

/** An allowed URL as it is requested: names in ASCII (RFC 3492), all other characters as in RFC 3986. */
export function canonicalUrl(text: string): string {
  const url = new URL(text);
  const whole = url.href
    .slice(url.origin.length)
    .replace(
      /%(?![0-9A-Fa-f]{2})|[^\w.~!$&'()*+,;=:@/?#%-]/g,
      (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
    );
  return url.origin + whole;
}

const notPublic = 'must lead to a public address';
const maxLength = 2048;
/** Names that never lead to the internet (RFC 6761, 6762, 8375, and internal names of clouds). */
const internalNames =
  /(^|\.)(localhost|local|internal|intranet|lan|home|corp|test|invalid|onion|home\.arpa|localdomain)$/;

function refusalOfText(text: string, isPrivateAllowed: boolean): string | undefined {
  // The parser would drop tabs and line breaks and turn backslashes: the text must be what is requested.
  if (/[\u0000-\u0020\u007f-\u009f\\\u2028\u2029]/.test(text))
    return 'must not contain spaces, control characters or backslashes';
  const url = parseUrl(text);
  if (!url) return 'must be a URL';
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must start with https:// or http://';
  // The stored URL is percent-encoded, with nine characters for one of Chinese.
  if (text.length > maxLength || canonicalUrl(text).length > maxLength)
    return `must have at most ${maxLength} characters, percent-encoded`;
  if (url.username !== '' || url.password !== '' || /^[^/]*\/\/[^/?#]*@/.test(text))
    return 'must not contain a user name or password';
  if (isPrivateAllowed) return undefined;
  if (url.port !== '' && url.port !== '80' && url.port !== '443') return 'must use port 80 or 443';
  const host = withoutBrackets(url.hostname);
  if (isIP(host) > 0) return isPublicAddress(host) ? undefined : notPublic;
  const name = host.replace(/\.$/, '');
  return name.includes('.') && !name.includes('..') && !internalNames.test(name) ? undefined : notPublic;
}

const withoutBrackets = (hostname: string): string => (hostname.startsWith('[') ? hostname.slice(1, -1) : hostname);

export interface ResolveOptions {
  /** Also reads the hosts file, for development. */
  isHostsFileRead: boolean;
  /** `address:port` of the name servers; the system's by default. */
  servers?: readonly string[];
}

/** Asks the name servers without the thread pool of Node, so that slow names delay no other work. */
export function createResolve({ isHostsFileRead, servers }: ResolveOptions): Resolve {
  const resolver = new Resolver({ timeout: 2000, tries: 2 });
  if (servers) resolver.setServers(servers);
  return async (hostname) => {
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (found.length > 0) return found;
    if (isHostsFileRead) return (await systemLookup(hostname, { all: true })).map(({ address }) => address);
    throw Object.assign(new Error('the name has no address'), { code: 'ENOTFOUND' });
  };
}
