import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { assetPath } from '../../src/platform/assets.ts';
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

describe('the typed client', { skip }, () => {
  let service: RunningService;
  useService((served) => {
    ({ service } = served);
  });

  it('is made from the OpenAPI document without flags, compiles the calls of the README and makes them', async () => {
    mkdirSync(join(tools, '.cache'), { recursive: true });
    // Inside the package, where its libraries are found.
    const folder = mkdtempSync(join(tools, '.cache', 'client-'));
    try {
      for (const name of ['src/index.ts', 'examples'])
        cpSync(join(client, name), join(folder, name), { recursive: true });
      const node = (...args: string[]) => run(process.execPath, args, { cwd: folder, maxBuffer: 1e7 });
      const schema = join(folder, 'src', 'schema.ts');
      await node(join(client, 'scripts', 'generate.mjs'), `${service.base}/openapi.json`, '--output', schema);
      const settings = JSON.parse(readFileSync(join(client, 'tsconfig.json'), 'utf8'));
      Object.assign(settings.compilerOptions, { rootDir: '.', outDir: 'built' });
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ ...settings, include: ['src', 'examples'] }));
      writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
      const compiled = await node(join(tools, 'typescript', 'bin', 'tsc'), '-p', '.').catch(
        ({ stdout }: { stdout: string }) => ({ stdout }),
      );
      assert.equal(compiled.stdout, '', 'the compiler has nothing to say');
      const { tour } = (await import(pathToFileURL(join(folder, 'built', 'examples', 'tour.js')).href)) as {
        tour: Tour;
      };
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
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
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
