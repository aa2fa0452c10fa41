import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createAddressReader,
  rateLimitKeyOf,
  socketAddressText,
  unmapIpv4,
} from '../../../../src/http/server/client-address.ts';
import { assertWithin } from '../../../support/time-bars.ts';

describe('the client’s address', () => {
  it('is that of the socket if no proxy is trusted, whatever the header says', () => {
    const read = createAddressReader([]);
    assert.equal(read('203.0.113.9', undefined), '203.0.113.9');
    assert.equal(read('203.0.113.9', '198.51.100.1'), '203.0.113.9');
    assert.equal(read('127.0.0.1', '198.51.100.1'), '127.0.0.1');
  });

  it('of a socket is never that of the socket before', () => {
    const v6 = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    const sockets = [
      [203, 0, 113, 9],
      [203, 0, 113, 9],
      [203, 0, 113, 8],
      [],
      [203, 0, 113, 8],
      v6,
      [...v6.slice(0, 15), 2],
    ];
    const texts = [
      '203.0.113.9',
      '203.0.113.9',
      '203.0.113.8',
      '',
      '203.0.113.8',
      '2001:0db8:0000:0000:0000:0000:0000:0001',
      '2001:0db8:0000:0000:0000:0000:0000:0002',
    ];
    for (const [index, bytes] of sockets.entries()) {
      const given = new Uint8Array(bytes);
      assert.equal(socketAddressText(given.buffer), texts[index]);
      // The server takes its memory back.
      given.fill(0);
    }
  });

  it('is read from right to left through trusted proxies, up to the first that is not', () => {
    const read = createAddressReader(['10.0.0.0/8', '192.0.2.7']);
    assert.equal(read('10.1.2.3', '198.51.100.1'), '198.51.100.1');
    assert.equal(read('10.1.2.3', '6.6.6.6, 198.51.100.1, 10.9.9.9'), '198.51.100.1');
    assert.equal(read('192.0.2.7', '198.51.100.1 ,10.0.0.1'), '198.51.100.1');
    assert.equal(read('192.0.2.8', '198.51.100.1'), '192.0.2.8');
    assert.equal(read('10.1.2.3', undefined), '10.1.2.3');
    assert.equal(read('10.1.2.3', '10.4.4.4, 10.5.5.5'), '10.4.4.4');
    assert.equal(read('10.1.2.3', '198.51.100.1:61234, 10.5.5.5:80'), '198.51.100.1');
  });

  it('is read in a moment from a header full of blanks', () => {
    const read = createAddressReader(['10.0.0.0/8']);
    const startedAt = performance.now();
    for (let times = 0; times < 100; times += 1) assert.equal(read('10.1.2.3', `x${' \t'.repeat(8000)}x`), '10.1.2.3');
    assert.equal(read('10.1.2.3', ` \t 198.51.100.1${' '.repeat(8000)}`), '198.51.100.1');
    assertWithin(2000, performance.now() - startedAt, 'a hundred headers');
  });

  it('is the last trusted address if the header cannot be read', () => {
    const read = createAddressReader(['10.0.0.0/8']);
    for (const header of [
      'unknown',
      '',
      '198.51.100.1, what',
      '198.51.100.1, 999.1.1.1',
      '198.51.100.1,,',
      '127.1',
      '198.51.100.1:',
      '198.51.100.1:80:80',
      '198.51.100.1\u00a0',
      '\ufeff198.51.100.1',
      '198.51.100.1\ufffd',
    ])
      assert.equal(read('10.1.2.3', header), '10.1.2.3', header);
    assert.equal(read('10.1.2.3', 'what, 10.5.5.5'), '10.5.5.5');
  });

  it('knows IPv6, in brackets and with a port, and its own kind of trusted ranges', () => {
    const read = createAddressReader(['2001:db8:1::/48', '::1']);
    assert.equal(read('2001:db8:1::5', '2001:db8:2::9'), '2001:db8:2::9');
    assert.equal(read('::1', '[2001:db8:2::9]:443'), '2001:db8:2::9');
    assert.equal(read('2001:db8:2::5', '198.51.100.1'), '2001:db8:2::5');
  });

  it('is the IPv4 address that an IPv6 address maps', () => {
    const read = createAddressReader(['10.0.0.0/8']);
    assert.equal(read('::ffff:10.0.0.1', '::ffff:198.51.100.1'), '198.51.100.1');
    assert.equal(read('0000:0000:0000:0000:0000:ffff:cb00:7109', undefined), '203.0.113.9');
    assert.equal(unmapIpv4('::FFFF:203.0.113.9'), '203.0.113.9');
    assert.equal(unmapIpv4('2001:db8::1'), '2001:db8::1');
  });
});

describe('the key that limits count under', () => {
  it('is an IPv4 address itself', () => assert.equal(rateLimitKeyOf('203.0.113.9'), '203.0.113.9'));

  it('is the /64 of an IPv6 address, in one spelling', () => {
    const key = rateLimitKeyOf('2001:db8:0:42::1');
    for (const address of ['2001:db8:0:42:ffff::', '2001:0DB8:0000:0042:1:2:3:4', '2001:db8:0:42::%eth0'])
      assert.equal(rateLimitKeyOf(address), key, address);
    assert.notEqual(rateLimitKeyOf('2001:db8:0:43::1'), key);
    assert.equal(rateLimitKeyOf('::1'), rateLimitKeyOf('0000:0000:0000:0000:0000:0000:0000:0001'));
    assert.equal(rateLimitKeyOf('1:2:3:4:5:6:7::'), rateLimitKeyOf('1:2:3:4::9'));
  });
});
