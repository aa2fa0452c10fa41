import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { assetPath } from '../../src/platform/assets.ts';
import { asctimeOf } from '../support/asctime.ts';
import type { Client } from '../support/client.ts';
import { examplesOf } from '../support/documents.ts';
import { finishedExport } from '../support/exports.ts';
import { adminEmail, adminPassword, type RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

const run = promisify(execFile);
const client = assetPath('client');
const tools = join(client, 'node_modules');
const skip = existsSync(join(tools, 'openapi-typescript'))
  ? false
  : 'client/node_modules is not installed: npm install in the project’s folder installs it';

/** What the tour of client/examples gives. */
type Tour = (
  origin: string,
  email: string,
  password: string,
) => Promise<{ status: string; totalResponses: number; rows: [string, number][] }>;

/** What client/examples/files.ts gives. */
type Invite = (origin: string, token: string, collectorId: string, rows: object[]) => Promise<string>;

/** What client/src/index.ts gives, as far as it is used here. */
interface ClientModule {
  createSurveyClient(options: { origin: string; token?: string; fetch?(): Promise<Response> }): {
    GET(path: string, options?: object): Promise<{ data?: unknown; error?: unknown; response: Response }>;
    POST(path: string, options: object): Promise<{ data?: unknown }>;
  };
  dataOf(call: unknown): Promise<unknown>;
  refusalOf(
    response: Response,
    error: unknown,
  ): { status: number; code: string; message: string; isForeign: boolean; retryAfterSeconds: number | undefined };
}

describe('the typed client', { skip }, () => {
  let service: RunningService;
  let admin: Client;
  let folder: string;
  let compiled: { stdout: string };
  useService((served) => {
    ({ service, admin } = served);
  });
  before(async () => {
    mkdirSync(join(tools, '.cache'), { recursive: true });
    // Inside the package, where its libraries are found.
    folder = mkdtempSync(join(tools, '.cache', 'client-'));
    for (const name of ['src/index.ts', 'examples'])
      cpSync(join(client, name), join(folder, name), { recursive: true });
    // As in a project with the types of Node.
    const processType = 'declare const process: { env: Record<string, string | undefined> };\n';
    const [example = ''] = examplesOf('client/README.md', 'ts');
    writeFileSync(
      join(folder, 'examples', 'readme.ts'),
      processType + example.replace('@survey-service/client', '../src/index.ts'),
    );
    const node = (...args: string[]) => run(process.execPath, args, { cwd: folder, maxBuffer: 1e7 });
    const schema = join(folder, 'src', 'schema.ts');
    await node(join(client, 'scripts', 'generate.mjs'), `${service.base}/openapi.json`, '--output', schema);
    const settings = JSON.parse(readFileSync(join(client, 'tsconfig.json'), 'utf8'));
    Object.assign(settings.compilerOptions, { rootDir: '.', outDir: 'built' });
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ ...settings, include: ['src', 'examples'] }));
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    compiled = await node(join(tools, 'typescript', 'bin', 'tsc'), '-p', '.').catch(
      ({ stdout }: { stdout: string }) => ({ stdout }),
    );
  });
  after(() => {
    if (folder) rmSync(folder, { recursive: true, force: true });
  });
  const built = (file: string) => import(pathToFileURL(join(folder, 'built', file)).href);

  it('is made from the OpenAPI document without flags, compiles the calls of the README and makes them', async () => {
    assert.equal(compiled.stdout, '', 'the compiler has nothing to say');
    const { tour } = (await built('examples/tour.js')) as { tour: Tour };
    assert.deepEqual(await tour(service.origin, adminEmail, adminPassword), {
      status: 'ACTIVE',
      totalResponses: 2,
      rows: [
        ['Soup', 1],
        ['Pasta', 1],
      ],
    });
    await assert.rejects(tour(service.origin, adminEmail, 'a wrong password'), {
      name: 'SurveyApiError',
      status: 401,
      code: 'UNAUTHORIZED',
    });
  });

  it('throws an error with a code and a message where a proxy replies instead of the service', async () => {
    const { createSurveyClient, dataOf } = (await built('src/index.js')) as ClientModule;
    const replies: [status: number, body: string, code: string][] = [
      [502, '<html>Bad Gateway</html>', 'SERVICE_UNAVAILABLE'],
      [504, '', 'SERVICE_UNAVAILABLE'],
      [502, 'null', 'SERVICE_UNAVAILABLE'],
      [404, '{"code":404,"message":"Not found"}', 'NOT_FOUND'],
      [404, '{"code":"NO_ROUTE","message":"no route matched"}', 'NOT_FOUND'],
      [413, '<html>Too Large</html>', 'PAYLOAD_TOO_LARGE'],
      [429, '', 'RATE_LIMITED'],
      [200, '<html>Please sign in</html>', 'SERVICE_UNAVAILABLE'],
      [200, '', 'SERVICE_UNAVAILABLE'],
      [200, 'null', 'SERVICE_UNAVAILABLE'],
      [200, '{}', 'SERVICE_UNAVAILABLE'],
      [201, '[]', 'SERVICE_UNAVAILABLE'],
      [200, '"data"', 'SERVICE_UNAVAILABLE'],
    ];
    for (const [status, body, code] of replies) {
      const type = body.startsWith('<') ? 'text/html' : 'application/json';
      const headers = { 'content-length': String(body.length), 'content-type': type, 'retry-after': '7' };
      const fetch = async () => new Response(body, { status, headers });
      const calls = createSurveyClient({ origin: 'http://127.0.0.1', fetch });
      await assert.rejects(dataOf(calls.GET('/surveys')), {
        name: 'SurveyApiError',
        message: `The reply is not one of the survey service (status ${status})`,
        status,
        code,
        isForeign: true,
        retryAfterSeconds: 7,
      });
    }
  });

  it('takes no page for a file, and follows no redirection', async () => {
    const { createSurveyClient } = (await built('src/index.js')) as ClientModule;
    const { invite } = (await built('examples/files.js')) as { invite: Invite };
    const called: string[] = [];
    const proxy = createServer((request, response) => {
      called.push(`${request.method} ${request.url}`);
      if (request.url === '/api/v1/surveys') response.writeHead(301, { location: '/api/v1/moved' }).end();
      else response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Sign in</title>');
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    try {
      const origin = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
      const calls = createSurveyClient({ origin });
      const foreign = { name: 'SurveyApiError', code: 'SERVICE_UNAVAILABLE', isForeign: true };
      await assert.rejects(invite(origin, 'token', 'list', []), foreign);
      for (const parseAs of ['text', 'blob', 'stream'])
        await assert.rejects(
          calls.GET('/exports/{exportId}/download', { params: { path: { exportId: 'x' } }, parseAs }),
          foreign,
        );
      const upload = await calls.GET('/uploads/{uploadId}', { params: { path: { uploadId: 'x' } }, parseAs: 'text' });
      assert.match(String(upload.data), /Sign in/);
      const redirected = { ...foreign, message: /^The call was redirected, which is not followed/ };
      await assert.rejects(calls.GET('/surveys', {}), { ...redirected, status: 301 });
      await assert.rejects(calls.POST('/surveys', { body: { title: 'Lunch' } }), { ...redirected, status: 301 });
      assert.equal(called.filter((call) => call.includes('/moved')).length, 0);
      // As browsers show it.
      const opaque = Object.defineProperties(new Response(null), {
        type: { value: 'opaqueredirect' },
        status: { value: 0 },
        ok: { value: false },
      });
      const inBrowser = createSurveyClient({ origin, fetch: async () => opaque });
      await assert.rejects(inBrowser.GET('/surveys'), { ...redirected, status: 0 });
    } finally {
      proxy.close();
    }
  });

  it('gives a reply of lines or CSV as its text, and any other file by parseAs', async () => {
    const { createSurveyClient } = (await built('src/index.js')) as ClientModule;
    const { invite } = (await built('examples/files.js')) as { invite: Invite };
    const { id } = await admin.create('/surveys', { title: 'By invitation', status: 'ACTIVE' });
    const { id: collectorId } = await admin.create(`/surveys/${id}/collectors`, { name: 'List', kind: 'INVITATION' });
    const token = admin.token ?? '';
    const referencesOf = (lines: unknown) =>
      String(lines)
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
        .map(({ reference, token }) => [reference, typeof token]);
    const rows = [{ reference: 'ann' }, { reference: 'bob' }];
    assert.deepEqual(referencesOf(await invite(service.origin, token, collectorId, rows)), [
      ['ann', 'string'],
      ['bob', 'string'],
    ]);
    const calls = createSurveyClient({ origin: service.origin, token });
    const made = await calls.POST('/collectors/{collectorId}/invitations', {
      params: { path: { collectorId } },
      body: 'reference\ncid\n',
      bodySerializer: (csv: string) => csv,
      headers: { 'content-type': 'text/csv' },
    });
    assert.equal(typeof made.data, 'string');
    assert.deepEqual(referencesOf(made.data), [['cid', 'string']]);

    const download = async (format: string, options: object = {}) => {
      const { exportId } = await admin.expect(202, 'POST', `/exports/surveys/${id}`, { format });
      await finishedExport(admin, exportId);
      return await calls.GET('/exports/{exportId}/download', { params: { path: { exportId } }, ...options });
    };
    const { data: csv } = await download('CSV');
    assert.match(String(csv), /^\ufeff?id,surveyVersion,/);
    const { data: blob } = await download('PDF', { parseAs: 'blob' });
    assert.ok(blob instanceof Blob && blob.type === 'application/pdf');
    await assert.rejects(download('PDF'), {
      name: 'Error',
      message: 'The reply is a file (application/pdf): give parseAs, such as blob',
    });
    assert.equal((await download('NDJSON', { parseAs: 'text' })).data, undefined, 'a file without bytes');
  });

  it('reads Retry-After as seconds and as a date, and nothing else', async () => {
    const { refusalOf } = (await built('src/index.js')) as ClientModule;
    const secondsOf = (value: string) =>
      refusalOf(new Response('', { status: 429, headers: { 'retry-after': value } }), undefined).retryAfterSeconds;
    for (const [value, seconds] of [
      ['7', 7],
      ['0', 0],
      ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
      ['', undefined],
      ['soon', undefined],
      ['-1', undefined],
      ['1e3', undefined],
    ] as const)
      assert.equal(secondsOf(value), seconds, JSON.stringify(value));
    const inAMinute = secondsOf(new Date(Date.now() + 60_000).toUTCString()) ?? 0;
    assert.ok(inAMinute > 50 && inAMinute <= 60, `${inAMinute} s`);
  });

  it('takes a date of Retry-After in GMT, whether or not it says so', async () => {
    const { refusalOf } = (await built('src/index.js')) as ClientModule;
    const inAMinute = Date.now() + 60_000;
    const { TZ: zone } = process.env;
    try {
      for (const host of ['America/New_York', 'Asia/Tokyo']) {
        process.env['TZ'] = host;
        for (const date of [new Date(inAMinute).toUTCString(), asctimeOf(inAMinute)]) {
          const reply = new Response('', { status: 503, headers: { 'retry-after': date } });
          const seconds = refusalOf(reply, undefined).retryAfterSeconds ?? Number.NaN;
          assert.ok(Math.abs(seconds - 60) < 600, `${seconds} s for ${date} in ${host}`);
        }
      }
    } finally {
      if (zone === undefined) delete process.env['TZ'];
      else process.env['TZ'] = zone;
    }
  });

  it('tells the replies of the service that have no body from those of a proxy', async () => {
    const { createSurveyClient, refusalOf } = (await built('src/index.js')) as ClientModule;
    const { id } = await admin.create('/surveys', { title: 'Files', status: 'ACTIVE' });
    const { exportId } = await admin.expect(202, 'POST', `/exports/surveys/${id}`, { format: 'CSV' });
    await finishedExport(admin, exportId);
    const calls = createSurveyClient({ origin: service.origin, token: admin.token ?? '' });
    const refused = async (headers: Record<string, string>) => {
      const options = { params: { path: { exportId } }, parseAs: 'text', headers };
      const { response, error } = await calls.GET('/exports/{exportId}/download', options);
      const { status, code, isForeign, message } = refusalOf(response, error);
      return [status, code, isForeign, message];
    };
    assert.deepEqual(await refused({ 'if-none-match': '*' }), [304, 'NOT_MODIFIED', false, 'The file is unchanged']);
    assert.deepEqual(await refused({ range: 'bytes=9999999-' }), [
      416,
      'VALIDATION_ERROR',
      false,
      'The file has no such range',
    ]);
    for (const status of [304, 416])
      assert.equal(refusalOf(new Response(null, { status }), undefined).isForeign, true, `${status} of a proxy`);
  });

  it('has an example of every call of the README’s tour', () => {
    const readme = readFileSync(assetPath('README.md'), 'utf8');
    const calls = [...readme.matchAll(/curl -s(?<options>[^|;\n]*?) \$base(?<path>\/[\w/$-]+)(?<rest>[^|;\n]*)/g)].map(
      ({ groups: { options = '', path = '', rest = '' } = {} }) =>
        `${/-X POST/.test(options) || / -d /.test(rest) ? 'POST' : 'GET'} ${path.replace(/\$\w+/g, '{}')}`,
    );
    const example = readFileSync(join(client, 'examples', 'tour.ts'), 'utf8');
    const made = [...example.matchAll(/\.(GET|POST)\('([^']+)'/g)].map(
      ([, method, path = '']) => `${method} ${path.replace(/\{\w+\}/g, '{}')}`,
    );
    assert.ok(calls.length >= 8, String(calls.length));
    assert.deepEqual(
      [...new Set(calls)].filter((call) => !made.includes(call)),
      [],
    );
  });
});
