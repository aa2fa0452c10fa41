import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createGuard } from '../../../src/webhooks/guard.ts';
import { isPublicAddress } from '../../../src/webhooks/public-address.ts';
import { refusedUrls as refused } from '../../support/refused-urls.ts';

const names: Readonly<Record<string, readonly string[]>> = {
  'public.example.com': ['93.184.216.34', '2606:2800:220:1:248:1893:25c8:1946'],
  'private.example.com': ['10.0.0.7'],
  'mixed.example.com': ['93.184.216.34', '127.0.0.1'],
  'six.example.com': ['fd00::1'],
  'mapped.example.com': ['::ffff:127.0.0.1'],
  'alias.example.com': ['::1'],
};
const resolve = async (name: string) => {
  const found = names[name];
  if (!found) throw Object.assign(new Error('unknown'), { code: 'ENOTFOUND' });
  return found;
};
const guard = createGuard({ isPrivateAllowed: false, resolve });

describe('the guard of addresses', () => {
  it('refuses every spelling of an address that is not public', () => {
    assert.ok(refused.length >= 90 && new Set(refused).size === refused.length);
    assert.deepEqual(
      refused.filter((url) => guard.refusalOf(url) === undefined),
      [],
    );
  });

  it('allows public names and addresses on ports 80 and 443', async () => {
    for (const url of [
      'https://public.example.com/hook?x=1',
      'http://public.example.com',
      'https://public.example.com:443/',
      'http://public.example.com:80/',
      'https://93.184.216.34/',
      'https://[2606:2800:220:1::1]/',
      'http://[64:ff9b::5db8:d822]/',
      'http://[::ffff:93.184.216.34]/',
      'https://müller.example.com/',
      'https://public.example.com./',
      'http://172.32.0.1/',
      'http://100.63.255.255/',
      'http://192.169.0.1/',
    ])
      assert.equal(await guard.check(url), undefined, url);
  });

  it('refuses a name if any of its addresses is not public, and checks a name without addresses when it is used', async () => {
    for (const name of ['private', 'mixed', 'six', 'mapped', 'alias'])
      assert.match((await guard.check(`https://${name}.example.com/`)) ?? '', /public/, name);
    assert.equal(await guard.check('https://unknown.example.com/'), undefined);
  });

  it('connects to the addresses that it has checked, or refuses', async () => {
    const look = (name: string, all: boolean) =>
      new Promise<unknown>((done) => guard.lookup(name, { all }, (error, address) => done(error?.code ?? address)));
    assert.deepEqual(await look('public.example.com', true), [
      { address: '93.184.216.34', family: 4 },
      { address: '2606:2800:220:1:248:1893:25c8:1946', family: 6 },
    ]);
    assert.equal(await look('public.example.com', false), '93.184.216.34');
    for (const name of ['private', 'mixed', 'six', 'mapped', 'alias'])
      assert.equal(await look(`${name}.example.com`, true), 'BLOCKED', name);
    assert.equal(await look('unknown.example.com', true), 'ENOTFOUND');
  });

  it('refuses a host that is longer than any name, which takes long to read', () => {
    const letters = String.fromCodePoint(...Array.from({ length: 256 }, (_, n) => 0x4e00 + n));
    assert.equal(guard.refusalOf(`https://${letters}.example.com/hook`), 'must be a URL');
    assert.equal(guard.refusalOf(`https://public.example.com/${letters.slice(0, 200)}`), undefined);
  });

  it('allows private addresses for development, but only over HTTP', async () => {
    const open = createGuard({ isPrivateAllowed: true, resolve });
    for (const url of ['http://127.0.0.1:8080/', 'http://localhost:1/', 'http://[::1]:3000/'])
      assert.equal(await open.check(url), undefined, url);
    for (const url of ['file:///etc/passwd', 'http://a:b@localhost/', 'http://localhost/\n'])
      assert.notEqual(await open.check(url), undefined, url);
  });

  it('does not take other texts for addresses', () => {
    for (const text of ['', 'example.com', '1.2.3', '1.2.3.4.5', '::g', 'fe80::1%eth0'])
      assert.equal(isPublicAddress(text), false, text);
  });
});
