import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import type { Client } from '../support/client.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('the files and pages for browsers', () => {
  let service: RunningService;
  let admin: Client;
  useService((served) => ({ service, admin } = served));

  /** Sends the path as it stands, which `fetch` would tidy up. */
  const rawStatus = async (path: string): Promise<number> => {
    const socket = connect(service.port, '127.0.0.1');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    const [head] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    return Number(head.toString('latin1', 9, 12));
  };

  it('are found by their names alone: no path of a request reaches the disk', async () => {
    for (const path of [
      '/assets/../../../../etc/passwd',
      '/assets/..%2f..%2f..%2fpackage.json',
      '/assets/%2e%2e/%2e%2e/package.json',
      '/assets/..\\..\\package.json',
      '/assets//etc/passwd',
      '/assets/.vite/manifest.json',
      '/assets/index.html',
      '/assets/__proto__',
      '/assets/constructor',
      '/assets/x%00.js',
      '/embed.js/../package.json',
      '/s/../package.json',
      '/.env',
    ])
      assert.equal(await rawStatus(path), 404, path);
  });

  it('have policies that run scripts of this host alone, and let no other page frame the console', async () => {
    const { id } = await admin.create('/surveys', { title: '</script><script>alert(1)</script>', status: 'ACTIVE' });
    await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text: '</SCRIPT><!--<script>"' });
    for (const [path, ancestors] of [
      ['/', "'none'"],
      ['/surveys', "'none'"],
      ['/sign-in?next=//elsewhere.invalid', "'none'"],
      [`/s/${id}`, "'self'"],
      [`/s/${id}?metadata.a=</script><script>alert(1)</script>`, "'self'"],
      ['/s/unknown%3Cscript%3Ealert(1)', "'self'"],
    ] as const) {
      const reply = await fetch(service.origin + path);
      const policy = reply.headers.get('content-security-policy') ?? '';
      const sources = new Map(
        policy.split('; ').map((part) => [part.split(' ')[0], part.slice(part.indexOf(' ') + 1)]),
      );
      for (const [directive, value] of Object.entries({
        'default-src': "'none'",
        'script-src': "'self'",
        'base-uri': "'none'",
        'form-action': "'none'",
        'frame-ancestors': ancestors,
      }))
        assert.equal(sources.get(directive), value, `${directive} of ${path}`);
      assert.equal(reply.headers.get('x-content-type-options'), 'nosniff');
      assert.equal(reply.headers.get('referrer-policy'), 'no-referrer');
      const scripts = (await reply.text()).match(/<script[^>]*>/gi) ?? [];
      for (const script of scripts)
        assert.match(
          script,
          /^<script (type="module"[^>]* src="\/assets\/|id="state" type="application\/json">)/,
          path,
        );
    }
  });

  it('open a survey, whatever parameters its link has got on its way', async () => {
    const { id } = await admin.create('/surveys', { title: 'Shared' });
    await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text: 'Your name?' });
    await admin.post(`/surveys/${id}/publish`);
    for (const query of [
      'utm=%00',
      'utm%00=a',
      'lang=%00',
      'lang=de&lang=fr',
      'invitation=%00&surveyToken=a%00b',
      'surveyToken=a&surveyToken=b',
      'metadata.a=%00&metadata.b%00=c',
      'utm=%ff%zz&&=&__proto__=a',
    ]) {
      const reply = await fetch(`${service.origin}/s/${id}?${query}`);
      assert.deepEqual([reply.status, reply.headers.get('content-type')], [200, 'text/html; charset=utf-8'], query);
      assert.ok(!(await reply.text()).includes('\\u0000'), query);
    }
    assert.equal((await fetch(`${service.origin}/s/unknown?utm=%00`)).status, 404);
  });
});
