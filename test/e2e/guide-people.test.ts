import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { freshDatabase } from '../support/auth-server.ts';
import { missing, pasteInFolder, tourOf } from '../support/documents.ts';
import { type RunningService, startService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';

describe('docs/guide/people.md', () => {
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

  it('its tour shares a survey, translates it, takes a file and erases a respondent', {
    skip: missing('bash', 'curl', 'base64'),
  }, async () => {
    await pasteInFolder(tourOf('docs/guide/people.md', service), (stdout, folder) => {
      const replies = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      assert.deepEqual(
        replies.filter(({ success }) => success !== true),
        [],
      );
      assert.ok(readFileSync(join(folder, 'plate.png')).equals(readFileSync(join(folder, 'downloaded.png'))));
      const shown = replies.find(({ data }) => data.direction === 'ltr' && data.languages)?.data;
      assert.deepEqual([shown?.title, shown?.questions[0].text], ['Mittagessen', 'Ein Foto vom Teller?']);
      const actions = replies.at(-1).data.map(({ action }: { action: string }) => action);
      for (const action of [
        'respondent.erased',
        'translation.changed',
        'survey.published',
        'member.set',
        'survey.created',
      ])
        assert.ok(actions.includes(action), `${action} is not among ${actions.join(', ')}`);
    });
  });
});
