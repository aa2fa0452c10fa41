// node scripts/client-schema.mjs: builds the service if needed and writes client/src/schema.ts from its route table.
// No service has to run.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepare, root } from './prepare.mjs';

prepare();
const { reference } = await import('../dist/test/support/reference.js');
const folder = mkdtempSync(join(tmpdir(), 'openapi-'));
const document = join(folder, 'openapi.json');
writeFileSync(document, JSON.stringify(reference.document));
const generate = join(root, 'client', 'scripts', 'generate.mjs');
const { status } = spawnSync(process.execPath, [generate, document], { stdio: ['ignore', 'ignore', 'inherit'] });
rmSync(folder, { recursive: true });
process.exit(status ?? 1);
