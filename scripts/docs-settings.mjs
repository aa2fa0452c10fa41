// npm run docs:settings: writes docs/settings.md from the schemas of src/settings.ts.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { prepare, root } from './prepare.mjs';
import { renderSettings } from './settings-page.mjs';

prepare();
const [settings, { providerRegistry }] = await Promise.all([
  import('../dist/src/settings.js'),
  import('../dist/src/ai/providers/registry.js'),
]);
writeFileSync(join(root, 'docs', 'settings.md'), renderSettings({ ...settings, providerDefaults: providerRegistry }));
