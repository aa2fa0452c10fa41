import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { assetPath } from '../../src/assets.ts';
import { adminEmail, adminPassword, startService, type RunningService } from '../support/service.ts';

const run = promisify(execFile);
const replay = fileURLToPath(new URL('../../src/replay/main.js', import.meta.url));
const folder = join(assetPath('.'), '..', 'shared', 'data');

describe('npm run replay', () => {
  let service: RunningService;
  before(async () => {
    service = await startService();
  });
  after(async () => void (await service.stop()));

  for (const [name, questions] of [['star-wars-survey.csv', 14], ['comma-survey.csv', 12]] as const)
    it(`turns ${name} into a survey whose counts equal the file’s, cell by cell`, async (t) => {
      const file = join(folder, name);
      if (!existsSync(file)) return t.skip(`${name} is not beside this checkout`);
      const { stdout } = await run(process.execPath, [replay, file, '--url', service.origin, '--email', adminEmail, '--password', adminPassword], { maxBuffer: 1e8 });
      assert.match(stdout, new RegExp(`verified: \\d+ cells of ${questions} questions equal`));
    });
});
