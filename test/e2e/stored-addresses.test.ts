import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { adminClient, type Client } from '../support/client.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import { callOnce, type OneCall } from '../support/one-connection.ts';
import { startService } from '../support/service.ts';

const address = '127.71.94.13';

describe('the address of a respondent', () => {
  const dataDir = temporaryDataDir();
  after(() => rmSync(dataDir, { recursive: true, force: true }));

  /** A survey with a file question, which the respondent opens, sends a file to and answers. */
  async function answer(
    admin: Client,
    { base, origin }: { base: string; origin: string },
    { isAnonymous, ...fields }: { isAnonymous: boolean; respondent?: string },
  ): Promise<string> {
    const { id } = await admin.create('/surveys', { title: 'At work', isAnonymous });
    const question = await admin.create(`/surveys/${id}/questions`, { type: 'FILE_UPLOAD', text: 'A file?' });
    await admin.post(`/surveys/${id}/publish`);
    const call = async (status: number, url: string, method: string, path: string, options: OneCall) => {
      const reply = await callOnce(url, method, path, { ...options, from: address });
      assert.equal(reply.status, status, `${method} ${path}: ${JSON.stringify(reply.body).slice(0, 300)}`);
    };
    await call(200, origin, 'GET', `/s/${id}`, {});
    await call(201, base, 'POST', `/uploads/surveys/${id}/questions/${question.id}`, { body: { a: 'file' } });
    const metadata = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`key${n}`, 'x'.repeat(1000)]));
    for (const more of [{}, { metadata }])
      await call(201, base, 'POST', `/responses/surveys/${id}/submit`, { body: { answers: [], ...fields, ...more } });
    return id;
  }

  it('stands in no file of Redis, and its hash beside the responses of one survey nowhere else', async () => {
    const service = await startService({ dataDir });
    const admin = await adminClient(service);
    const named = await answer(admin, service, { isAnonymous: false, respondent: 'Eve Example' });
    const anonymous = await answer(admin, service, { isAnonymous: true });
    // A sign-in and a token that are wrong are counted by address too.
    const credentials = { email: 'eve@example.org', password: 'not the right one' };
    await callOnce(service.base, 'POST', '/auth/login', { body: credentials, from: address });
    await callOnce(service.base, 'GET', '/surveys', { headers: { authorization: 'Bearer wrong' }, from: address });
    assert.equal(await service.stop(), 0);

    const text = readdirSync(dataDir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.parentPath.includes('appendonly'))
      .map((entry) => readFileSync(join(entry.parentPath, entry.name)).toString('latin1'))
      .join('\n');
    assert.ok(text.includes('Eve Example'));
    assert.ok(!text.includes(address), 'the address itself');
    const found = (pattern: RegExp) => [...new Set([...text.matchAll(pattern)].map(([, hash = '']) => hash))];
    const ofSurvey = (id: string) => found(new RegExp(`limit:${id}:([\\w-]{16})\\r`, 'g'));
    const ofPurposes = [
      ofSurvey(named),
      ofSurvey(anonymous),
      found(/upload-bytes:([\w-]{16})\r/g),
      found(/limit:auth:\d+:([\w-]{16})\r/g),
      found(/sign-in:failures:[\w-]{16}:([\w-]{16})\r/g),
    ];
    // The calls of the test’s ADMIN are counted too.
    const general = found(/limit:api:\d+:([\w-]{16})\r/g);
    assert.deepEqual(
      ofPurposes.map(({ length }) => length),
      [1, 1, 1, 2, 1],
    );
    assert.ok(general.length > 0);
    const all = [...ofPurposes.flat(), ...general];
    assert.equal(new Set(all).size, all.length, 'a hash for two purposes');
    assert.deepEqual(found(/bytes:([\w-]{16})\r/g).sort(), ofPurposes.slice(0, 3).flat().sort());
  });
});
