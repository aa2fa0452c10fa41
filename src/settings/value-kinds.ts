import { isIP } from 'node:net';
import { z } from 'zod';

export const integer = (min: number, max = Number.MAX_SAFE_INTEGER) =>
  z.string().regex(/^\d+$/, 'must be a whole number').transform(Number).pipe(z.number().min(min).max(max));
/** Values that operators use for "no". */
const offWords = ['false', '0', 'no', 'off'];
export const textOrOff = z
  .string()
  .max(200)
  .transform((word) => (offWords.includes(word.toLowerCase()) ? undefined : word));
export const flag = z
  .enum(['true', 'false', '1', '0', 'yes', 'no'])
  .transform((text) => ['true', '1', 'yes'].includes(text));
export const list = z.string().transform((text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);
export const address = (...protocols: string[]) =>
  z
    .string()
    .refine(
      (text) => !hasPossiblePort(text) || (URL.canParse(text) && protocols.includes(new URL(text).protocol)),
      `must be a URL that starts with ${protocols.join(' or ')}`,
    )
    .refine(hasPossiblePort, 'must have a port from 1 to 65535, or none')
    .refine(isDecodable, 'must have %25 for each % of a user, password or path');
export const redisAddress = z
  .string()
  .refine(namesOneHost, 'must name one server: several servers, Redis Cluster and Redis Sentinel are not supported')
  .pipe(address('redis:', 'rediss:'))
  .refine(
    (text) => !URL.canParse(text) || /^\/?\d*$/.test(new URL(text).pathname),
    'must have the number of a database as its path, or none',
  );
export const addressList = (...protocols: string[]) => list.pipe(z.array(address(...protocols)).min(1));
/** Upper bound of durations. */
export const longestSeconds = 10 * 366 * 86_400;
/** Waits of up to `longest` seconds. */
export const secondsList = (longest: number) => list.pipe(z.array(integer(0, longest)).min(1));

/** Whether there is no comma behind the user and password. */
function namesOneHost(text: string): boolean {
  const authority = text.split(/[/?#]/)[2] ?? '';
  return !authority.slice(authority.lastIndexOf('@') + 1).includes(',');
}

/** A URL with another port cannot be parsed at all. */
function hasPossiblePort(text: string): boolean {
  const port = /^[a-z]+:\/\/[^/?#]*:(\d+)(?:[/?#]|$)/i.exec(text)?.[1];
  return port === undefined || (Number(port) >= 1 && Number(port) <= 65_535);
}

/** Whether the clients of the stores can read user, password and path; what is no URL is refused before. */
function isDecodable(text: string): boolean {
  if (!URL.canParse(text)) return true;
  const { username, password, pathname } = new URL(text);
  try {
    for (const part of [username, password, pathname]) decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}

/** Whether a socket can listen on it: an IP address, or a host name that does not look like one. */
export function isHost(text: string): boolean {
  const labels = text.split('.');
  return (
    isIP(text) > 0 || (labels.every((label) => /^\w([\w-]*\w)?$/.test(label)) && /[a-z]/i.test(labels.at(-1) ?? ''))
  );
}

export function isCidr(text: string): boolean {
  const [ip = '', bits, ...rest] = text.split('/');
  const version = isIP(ip);
  if (version === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}

/**
 * Whether a text is `*` or a value of the Origin header, which is compared verbatim; app shells use other schemes than
 * http.
 */
export function isOrigin(text: string): boolean {
  if (text === '*') return true;
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s*]+$/.test(text) || !URL.canParse(text)) return false;
  return !/^https?:/.test(text) || new URL(text).origin === text;
}

/** Texts of docs/settings.md that the schema does not provide. */
interface SettingText {
  description: string;
  unit?: string;
  /** Allowed values, if the schema does not show them. */
  values?: string;
  /** Behaviour while unset, if the schema has no default. */
  default?: string;
}
export const documented = ({ default: unset, ...rest }: SettingText) =>
  unset === undefined ? rest : { ...rest, unset };
