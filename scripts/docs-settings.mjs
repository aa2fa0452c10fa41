// npm run docs:settings: writes docs/settings.md from the schemas of src/settings.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { prepare, root } from './prepare.mjs';
import { renderSettings } from './settings-page.mjs';

prepare();
const [settings, providers, { providerRegistry }] = await Promise.all([
  import('../dist/src/settings/definitions.js'),
  import('../dist/src/settings/ai-settings.js'),
  import('../dist/src/ai/providers/registry.js'),
]);
writeFileSync(
  join(root, 'docs', 'settings.md'),
  renderSettings({ ...settings, ...providers, providerDefaults: providerRegistry }),
);
