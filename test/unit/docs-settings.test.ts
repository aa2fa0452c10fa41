import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { providerRegistry } from '../../src/ai/providers/registry.ts';
import { assetPath } from '../../src/platform/assets.ts';
import { providerPrefixes, providerSettings } from '../../src/settings/ai-settings.ts';
import { settingSections } from '../../src/settings/definitions.ts';

test('docs/settings.md is what npm run docs:settings writes', async () => {
  const { renderSettings } = (await import(pathToFileURL(assetPath('scripts/settings-page.mjs')).href)) as {
    renderSettings(sources: object): string;
  };
  const written = renderSettings({
    settingSections,
    providerPrefixes,
    providerSettings,
    providerDefaults: providerRegistry,
  });
  assert.equal(readFileSync(assetPath('docs/settings.md'), 'utf8'), written, 'run npm run docs:settings');
});

test('docs/settings.md describes every setting that the service reads', () => {
  const page = readFileSync(assetPath('docs/settings.md'), 'utf8');
  for (const { settings } of settingSections)
    for (const [name, schema] of Object.entries(settings)) {
      assert.ok(schema.meta()?.description, `${name} has no description`);
      assert.ok(page.includes(`| \`${name}\` |`), name);
    }
});
