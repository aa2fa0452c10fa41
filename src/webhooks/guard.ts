import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { isPublicAddress } from './public-address.ts';

/** All addresses of a name; rejects if there are none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** A connection was refused by us: the address behind the name is not public. */
export class BlockedAddress extends Error {
  readonly code = 'BLOCKED';
  constructor() {
    super('the address is not a public one');
    this.name = 'BlockedAddress';
  }
}

export interface GuardOptions {
  /** For development and tests: any address and any port. */
  isPrivateAllowed: boolean;
  resolve?: Resolve;
}

/** Keeps requests to addresses that users entered away from our own network. */
export interface Guard {
  /** Looks at the text alone. Undefined: nothing to say against it; otherwise why it is refused. */
  refusalOf(url: string): string | undefined;
  /** The same, and all addresses behind the name. A name without addresses passes: it is checked again when it is used. */
  check(url: string): Promise<string | undefined>;
  /** For `http.request`: resolves, refuses if any address is special, and gives the addresses that were checked, so that the name is not asked twice. */
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
      const addresses = await withTimeout(checkTimeoutMs, resolve(hostname)).catch(() => []);
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

/** A URL that was let through, as it is called: names in ASCII (RFC 3492), and nothing in it that RFC 3986 does not know. */
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
/** Names that never lead to the internet (RFC 6761, 6762, 8375, and what clouds use inside). */
const internalNames =
  /(^|\.)(localhost|local|internal|intranet|lan|home|corp|test|invalid|onion|home\.arpa|localdomain)$/;

function refusalOfText(text: string, isPrivateAllowed: boolean): string | undefined {
  // The parser would drop tabs and line breaks and turn backslashes: what was written must be what is used.
  if (/[\u0000-\u0020\u007f-\u009f\\\u2028\u2029]/.test(text))
    return 'must not contain spaces, control characters or backslashes';
  if (!URL.canParse(text)) return 'must be a URL';
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must start with https:// or http://';
  // What is kept, called and looked at again at every sending has nine characters for one of Chinese.
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
  /** Names of the hosts file count too, for development. */
  isHostsFileRead: boolean;
  /** `address:port` of the name servers; by default the system's. */
  servers?: readonly string[];
}

/** Asks the name servers without the thread pool, so that slow names delay nobody else. */
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

function withTimeout<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => (timer = setTimeout(() => reject(new Error('too slow')), ms)));
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
