import { BlockList, isIP } from 'node:net';

/**
 * Whether an address is reachable on the internet: not private, loopback, link-local, shared, documentation, multicast
 * or reserved (IANA special-purpose registries), also where an IPv4 address is embedded in an IPv6 one. False for a
 * text that is no address.
 */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !specialIpv4.check(address, 'ipv4');
  if (family !== 6 || address.includes('%')) return false;
  const groups = groupsOf(address);
  const inner = embeddedIpv4(groups);
  if (inner !== undefined) return !specialIpv4.check(inner, 'ipv4');
  // Only global unicast (2000::/3) is assigned; everything else is special.
  return ((groups[0] ?? 0) & 0xe000) === 0x2000 && !specialIpv6.check(address, 'ipv6');
}

const specialIpv4 = new BlockList();
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // Services of Azure and IBM Cloud for their own machines; those of other clouds lie in special networks.
  ['161.26.0.0', 16],
  ['166.8.0.0', 14],
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const)
  specialIpv4.addSubnet(network, bits, 'ipv4');

const specialIpv6 = new BlockList();
for (const [network, bits] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
] as const)
  specialIpv6.addSubnet(network, bits, 'ipv6');

/** The IPv4 address inside a mapped (::ffff:0:0/96) or NAT64 (64:ff9b::/96) one. */
function embeddedIpv4(groups: readonly number[]): string | undefined {
  const head = groups
    .slice(0, 6)
    .map((group) => group.toString(16))
    .join(':');
  if (head !== '0:0:0:0:0:ffff' && head !== '64:ff9b:0:0:0:0') return undefined;
  const [high = 0, low = 0] = groups.slice(6);
  return `${high >> 8}.${high & 0xff}.${low >> 8}.${low & 0xff}`;
}

/** The eight groups of an IPv6 address; the URL parser normalises its spelling. */
function groupsOf(address: string): number[] {
  const [left = '', right] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const read = (part: string) =>
    part
      .split(':')
      .filter((text) => text !== '')
      .map((text) => Number.parseInt(text, 16));
  const [start, end] = [read(left), read(right ?? '')];
  return [...start, ...Array.from({ length: 8 - start.length - end.length }, () => 0), ...end];
}
