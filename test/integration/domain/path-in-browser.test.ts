import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { compilePaths, givenAnswers, pathOf } from '../../../src/domain/path/path.ts';
import { pathDefinitionOf } from '../../../src/domain/survey-paths/path-definition.ts';
import { assetPath } from '../../../src/platform/assets.ts';
import { launchChromium, missingChromium } from '../../support/chromium.ts';
import { randomPaths } from '../../support/random-paths.ts';

const count = 10_000;

/** Computes every path in the page, with the files as they are built. */
const computePaths = `(async () => {
  const { compilePaths, givenAnswers, pathOf } = await import('/domain/path/path.js');
  const inputs = await (await fetch('/inputs')).json();
  return JSON.stringify(inputs.map(({ definition, answers, context }) => {
    const compiled = compilePaths(definition);
    return pathOf(compiled, givenAnswers(compiled, answers), context);
  }));
})()`;

const inputs = () =>
  Array.from({ length: count }, (_, seed) => {
    const { survey, answers, came } = randomPaths(seed, { questions: 1 + (seed % 9), sections: seed % 4 });
    const responseId = seed % 2 === 0 ? undefined : `0192f0c1-2b7a-7c3e-9d54-${String(seed).padStart(12, '0')}`;
    return { definition: pathDefinitionOf(survey), answers, context: { ...came, surveyLanguage: 'en', responseId } };
  });

/** The paths of inputs, given as JSON, as a browser computes them. */
async function pathsOfBrowser(given: string): Promise<unknown> {
  const server = createServer((request, response) => {
    const url = request.url ?? '';
    if (url.endsWith('.js')) {
      response.setHeader('content-type', 'text/javascript');
      response.end(readFileSync(join(assetPath('dist/src'), url)));
    } else {
      response.setHeader('content-type', url === '/' ? 'text/html' : 'application/json');
      response.end(url === '/' ? '<!doctype html>' : given);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const profile = mkdtempSync(join(tmpdir(), 'browser-'));
  const browser = await launchChromium(profile);
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    return JSON.parse((await page.evaluate(computePaths)) as string);
  } finally {
    await browser.close();
    server.closeAllConnections();
    server.close();
    rmSync(profile, { recursive: true, force: true });
  }
}

const missing = missingChromium();
const skip = missing !== undefined && `skipped: ${missing}`;
it(`the browser and the service compute the same path for ${count} random inputs`, { skip }, async () => {
  const given = JSON.stringify(inputs());
  const found = await pathsOfBrowser(given);
  assert.ok(Array.isArray(found), String(found));
  // Both read the same text, as a browser has nothing but what it was sent.
  const expected = (JSON.parse(given) as ReturnType<typeof inputs>).map(({ definition, answers, context }) => {
    const compiled = compilePaths(definition);
    return pathOf(compiled, givenAnswers(compiled, answers), context);
  });
  for (const [index, path] of expected.entries()) assert.deepEqual(found[index], path, `input ${index}`);
});
