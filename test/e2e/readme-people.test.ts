import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { assetPath } from '../../src/assets.ts';
import { freshDatabase } from '../support/people-server.ts';
import { adminPassword, startService, type RunningService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';

const isPossible = ['bash', 'curl', 'base64'].every((program) => spawnSync(program, ['--version']).status === 0);

describe('README › People', () => {
  let service: RunningService;
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  before(async () => {
    await sharedStores();
    database = await freshDatabase();
    service = await startService({ env: { DATABASE_URL: database.url } });
  });
  after(async () => {
    assert.equal(await service.stop(), 0);
    await database.drop();
  });

  it('does what it says when it is pasted', { skip: !isPossible && 'needs bash, curl and base64' }, async () => {
    const lines = /\n## People\n[\s\S]*?\n```sh\n([\s\S]*?)\n```\n/.exec(readFileSync(assetPath('README.md'), 'utf8'))?.[1] ?? '';
    assert.ok(lines.includes('http://127.0.0.1:3000') && lines.includes("'long enough'"));
    const script = lines.replace('http://127.0.0.1:3000', service.origin).replace("'long enough'", `'${adminPassword}'`);
    const folder = mkdtempSync(join(tmpdir(), 'survey-readme-'));
    try {
      const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder, timeout: 60_000 });
      const replies = stdout.trim().split('\n').map((line) => JSON.parse(line));
      assert.deepEqual(replies.filter(({ success }) => success !== true), []);
      assert.ok(readFileSync(join(folder, 'plate.png')).equals(readFileSync(join(folder, 'downloaded.png'))));
      const shown = replies.find(({ data }) => data.direction === 'ltr' && data.languages)?.data;
      assert.deepEqual([shown?.title, shown?.questions[0].text], ['Mittagessen', 'Ein Foto vom Teller?']);
      const deeds = replies.at(-1).data.map(({ action }: { action: string }) => action);
      for (const action of ['respondent.erased', 'translation.changed', 'survey.published', 'member.set', 'survey.created']) assert.ok(deeds.includes(action), `${action} is not among ${deeds.join(', ')}`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
