import { BlockList, isIP } from 'node:net';
import { createLruCache } from '../../platform/lru-cache.ts';

/** `::ffff:10.0.0.1` and its written-out forms are the IPv4 address they carry. */
export function unmapIpv4(address: string): string {
  const dotted = /^(?:::ffff:|0000:0000:0000:0000:0000:ffff:|0:0:0:0:0:ffff:)(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (dotted !== undefined) return dotted;
  const pair = /^(?:0000:){5}ffff:([0-9a-f]{2})([0-9a-f]{2}):([0-9a-f]{2})([0-9a-f]{2})$/i.exec(address);
  return pair
    ? pair
        .slice(1)
        .map((byte) => Number.parseInt(byte, 16))
        .join('.')
    : address;
}

function createRanges(cidrs: readonly string[]): BlockList {
  const ranges = new BlockList();
  for (const cidr of cidrs) {
    const [address = '', bits] = cidr.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    ranges.addSubnet(address, bits === undefined ? (family === 'ipv6' ? 128 : 32) : Number(bits), family);
  }
  return ranges;
}

let lastBytes = new Uint8Array();
let lastText = '';

/** The text of a socket address. The last one is cached, since behind a proxy all sockets have the same address. */
export function socketAddressText(given: ArrayBuffer): string {
  const bytes = new Uint8Array(given);
  if (!isSameAsLast(bytes)) {
    lastBytes = bytes.slice();
    lastText =
      bytes.length === ipv4Bytes
        ? bytes.join('.')
        : Buffer.from(lastBytes)
            .toString('hex')
            .replace(/.{4}(?=.)/g, '$&:');
  }
  return lastText;
}

const ipv4Bytes = 4;

function isSameAsLast(bytes: Uint8Array): boolean {
  if (bytes.length !== lastBytes.length) return false;
  for (let i = 0; i < bytes.length; i += 1) if (bytes[i] !== lastBytes[i]) return false;
  return true;
}

/** Cached addresses: sockets stay open for many calls. */
const addressCacheSize = 4096;

/**
 * Finds the client's address: that of the socket unless it is a trusted proxy's; then X-Forwarded-For is read from
 * right to left up to the first hop that is not trusted. An unreadable hop ends the search at the last trusted one.
 */
export function createAddressReader(trustedProxies: readonly string[]) {
  const ranges = createRanges(trustedProxies);
  const isTrusted = (address: string) => ranges.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  const unmapped = createLruCache<string>(addressCacheSize);
  return (socketAddress: string, forwardedFor: string | undefined): string => {
    let address = unmapped.getOrCreate(socketAddress, unmapIpv4);
    if (forwardedFor === undefined || trustedProxies.length === 0 || !isTrusted(address)) return address;
    for (const hop of forwardedFor.split(',').reverse()) {
      const candidate = unmapIpv4(withoutPort(trimBlanks(hop)));
      if (isIP(candidate) === 0) return address;
      address = candidate;
      if (!isTrusted(address)) return address;
    }
    return address;
  };
}

/** `203.0.113.9:1234`, `[2001:db8::1]` and `[2001:db8::1]:1234` without brackets and port. */
const withoutPort = (hop: string): string => hop.replace(/^(?:\[(.*)\]|([\d.]+))(?::\d+)?$/, '$1$2');

/** Unlike `trim`, leaves other Unicode white space. */
const trimBlanks = (text: string): string => text.replace(/^[ \t]+|(?<![ \t])[ \t]+$/g, '');

/** The key under which limits count an address: IPv6 by its /64, which is the least that a single host owns. */
export function rateLimitKeyOf(address: string): string {
  // A quick exit for IPv4, which has no colons.
  if (!address.includes(':') || isIP(address) !== 6) return address;
  const [head = '', tail] = address.split('%')[0]?.toLowerCase().split('::') ?? [];
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros =
    tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => '0');
  const groups = [...left, ...zeros, ...right].slice(0, 4).map((group) => group.replace(/^0+(?=.)/, ''));
  return `${groups.join(':')}::/64`;
}
