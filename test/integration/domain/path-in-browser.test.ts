import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { it } from 'node:test';
import { compilePaths, givenAnswers, pathOf } from '../../../src/domain/path/path.ts';
import { pathDefinitionOf } from '../../../src/domain/survey-paths/path-definition.ts';
import { assetPath } from '../../../src/platform/assets.ts';
import { debianProgram } from '../../support/debian-program.ts';
import { randomPaths } from '../../support/random-paths.ts';

const chromium = debianProgram('chromium');
const count = 10_000;
const deadlineMs = 120_000;

/** The page computes every path with the files as they are built, and sends them back. */
const page = `<!doctype html><meta charset="utf-8"><script type="module">
import { compilePaths, givenAnswers, pathOf } from '/path/path.js';
try {
  const inputs = await (await fetch('/inputs')).json();
  const paths = inputs.map(({ definition, answers, context }) => {
    const compiled = compilePaths(definition);
    return pathOf(compiled, givenAnswers(compiled, answers), context);
  });
  await fetch('/paths', { method: 'POST', body: JSON.stringify(paths) });
} catch (error) {
  await fetch('/paths', { method: 'POST', body: JSON.stringify(String(error)) });
}
</script>`;

const inputs = () =>
  Array.from({ length: count }, (_, seed) => {
    const { survey, answers, came } = randomPaths(seed, { questions: 1 + (seed % 9), sections: seed % 4 });
    const responseId = seed % 2 === 0 ? undefined : `0192f0c1-2b7a-7c3e-9d54-${String(seed).padStart(12, '0')}`;
    return { definition: pathDefinitionOf(survey), answers, context: { ...came, surveyLanguage: 'en', responseId } };
  });

/** Serves the page, and resolves with what it sends back. */
async function pathsOfBrowser(program: string, given: string): Promise<unknown> {
  let deliver: (text: string) => void = () => undefined;
  const delivered = new Promise<string>((resolve) => (deliver = resolve));
  const server = createServer((request, response) => {
    const url = request.url ?? '';
    if (request.method === 'POST') {
      let text = '';
      request.on('data', (piece: Buffer) => (text += piece.toString()));
      request.on('end', () => {
        response.end();
        deliver(text);
      });
    } else if (url.startsWith('/path/')) {
      response.setHeader('content-type', 'text/javascript');
      response.end(readFileSync(join(assetPath('dist/src/domain/path'), basename(url))));
    } else {
      response.setHeader('content-type', url === '/' ? 'text/html' : 'application/json');
      response.end(url === '/' ? page : given);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const profile = mkdtempSync(join(tmpdir(), 'survey-chromium-'));
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'];
  const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync'];
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const options = [...flags, ...quiet, `--user-data-dir=${profile}`, '--remote-debugging-port=0', address];
  const browser = spawn(program, options, { stdio: 'ignore' });
  const ended = new Promise((resolve) => browser.once('exit', resolve));
  let timer: NodeJS.Timeout | undefined;
  try {
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`the browser sent nothing in ${deadlineMs} ms`)), deadlineMs);
    });
    return JSON.parse(await Promise.race([delivered, late]));
  } finally {
    clearTimeout(timer);
    browser.kill('SIGKILL');
    await ended;
    server.closeAllConnections();
    server.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 10 });
  }
}

const skip = 'missing' in chromium ? chromium.missing : false;
it(`the browser and the service compute the same path for ${count} random inputs`, { skip }, async () => {
  if ('missing' in chromium) return;
  const given = JSON.stringify(inputs());
  const found = await pathsOfBrowser(chromium.path, given);
  assert.ok(Array.isArray(found), String(found));
  // Both read the same text, as a browser has nothing but what it was sent.
  const expected = (JSON.parse(given) as ReturnType<typeof inputs>).map(({ definition, answers, context }) => {
    const compiled = compilePaths(definition);
    return pathOf(compiled, givenAnswers(compiled, answers), context);
  });
  for (const [index, path] of expected.entries()) assert.deepEqual(found[index], path, `input ${index}`);
});
