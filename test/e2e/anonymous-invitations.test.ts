import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { newId } from '../../src/platform/ids.ts';
import { runningStores } from '../../src/stores/embedded/start-stores.ts';
import type { Stores } from '../../src/stores/stores.ts';
import { adminClient, type Client } from '../support/client.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import { eventually } from '../support/eventually.ts';
import { type MadeInvitation, makeInvitations } from '../support/invitations.ts';
import { callOnce, type OneReply } from '../support/one-connection.ts';
import { type RunningService, startService } from '../support/service.ts';
import { openStoresOf, urlsOf } from '../support/service-stores.ts';

describe('invitations to an anonymous survey', () => {
  const dataDir = temporaryDataDir();
  let service: RunningService | undefined;
  after(async () => {
    await service?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const today = () => new Date().toISOString().slice(0, 10);
  const outcomeOf = ({ status, body }: OneReply) => (status === 201 ? 201 : body?.details?.reason);

  it('open it once, and nothing that is stored ties them to a response', async () => {
    service = await startService({ dataDir, env: { WORKERS: '4' } });
    const { base } = service;
    const began = today();
    const admin: Client = await adminClient(service);
    const survey = await admin.create('/surveys', { title: 'Secret', status: 'ACTIVE', isAnonymous: true });
    const question = await admin.create(`/surveys/${survey.id}/questions`, { type: 'SHORT_TEXT', text: 'Well?' });
    const fields = { name: 'List', kind: 'INVITATION' };
    const { id: collectorId } = await admin.create(`/surveys/${survey.id}/collectors`, fields);
    const rows = Array.from({ length: 6 }, (_, n) => ({
      reference: `reference-of-person-${n}`,
      language: 'de',
      metadata: { team: `team-of-person-${n}` },
    }));
    const made = await makeInvitations(service, admin, collectorId, rows);
    const token = (n: number) => made[n]?.token ?? '';
    const submit = (body: Record<string, unknown>, headers: Record<string, string> = {}) =>
      callOnce(base, 'POST', `/responses/surveys/${survey.id}/submit`, { body: { answers: [], ...body }, headers });
    const answers = (textValue: string) => [{ questionId: question.id, textValue }];

    // The page sends the language in which it is shown, which is the browser's choice or the respondent's.
    await admin.put(`/surveys/${survey.id}/translations/de`, { title: 'Geheim' });
    const languageOf = async (query: string) => {
      const page = await fetch(`${service?.origin}/s/${survey.id}?invitation=${token(4)}${query}`, {
        headers: { 'accept-language': 'en-US' },
      });
      return /<html lang="(.*?)"/.exec(await page.text())?.[1];
    };
    assert.deepEqual([await languageOf(''), await languageOf('&lang=de')], ['en', 'de']);

    // Exactly once, whatever races in four processes.
    const raced = await Promise.all(
      Array.from({ length: 12 }, (_, n) => submit({ invitation: token(0), answers: answers(`try ${n}`) })),
    );
    assert.deepEqual(raced.map(outcomeOf).sort(), [201, ...Array.from({ length: 11 }, () => 'INVITATION_USED')]);
    // A repeat is recognised by its key; without one the token is used.
    const keyed = { 'idempotency-key': newId() };
    const whole = { invitation: token(1), answers: answers('whole') };
    const first = await submit(whole, keyed);
    const repeat = await submit(whole, keyed);
    assert.deepEqual([first.status, repeat.status, repeat.body], [201, 201, first.body]);
    assert.equal(outcomeOf(await submit(whole)), 'INVITATION_USED');
    // A partial response goes on by its resume token, and not by the token of the invitation.
    const part = await submit({ invitation: token(2), isComplete: false, answers: answers('part') });
    const { responseId, resumeToken } = part.body.data;
    assert.equal(outcomeOf(await submit({ invitation: token(2), answers: answers('other') })), 'INVITATION_USED');
    assert.equal(outcomeOf(await submit({ responseId, resumeToken, invitation: token(2), isComplete: false })), 201);
    assert.equal(outcomeOf(await submit({ responseId, resumeToken, answers: answers('done') })), 201);
    // An id of the client's makes repeats safe too.
    const own = { invitation: token(3), responseId: newId(), answers: answers('own') };
    assert.deepEqual([outcomeOf(await submit(own)), outcomeOf(await submit(own))], [201, 201]);
    const responses = [raced.find(({ status }) => status === 201), first, part].map(
      (reply) => reply?.body.data.responseId as string,
    );
    responses.push(own.responseId);

    // The page knows it at once, the list only later, together with others.
    const opened = await Promise.all(
      [0, 4].map((n) => callOnce(service?.origin ?? '', 'GET', `/s/${survey.id}?invitation=${token(n)}`)),
    );
    assert.deepEqual(
      opened.map(({ status }) => status),
      [409, 200],
    );
    const early = await admin.get(`/collectors/${collectorId}/invitations`);
    assert.deepEqual(new Set(early.map(({ status }: any) => status)), new Set(['UNUSED']));

    const shown = await admin.get(`/responses/${responses[1]}`);
    assert.deepEqual([shown.metadata, shown.language, shown.collectorId], [{}, 'en', collectorId]);
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${survey.id}`)).totalResponses, 4));

    // The stop writes what was gathered.
    const { logs } = service;
    assert.equal(await service.stop(), 0);
    service = await startService({ dataDir });
    const after = await adminClient(service);
    const listed = await after.get(`/collectors/${collectorId}/invitations`);
    // The day of the use, or of writing it down, between which a midnight may lie.
    const dayOf = (usedOn: string | null) =>
      usedOn !== null && usedOn >= began && usedOn <= today() ? 'then' : usedOn;
    assert.deepEqual(
      listed.map((one: any) => [one.status, dayOf(one.usedOn), one.startedAt, one.completedAt, one.responseId]),
      [
        ...[0, 1].map(() => ['COMPLETED', 'then', null, null, null]),
        ['STARTED', 'then', null, null, null],
        ['COMPLETED', 'then', null, null, null],
        ...[4, 5].map(() => ['UNUSED', null, null, null, null]),
      ],
    );
    const again = await callOnce(service.base, 'POST', `/responses/surveys/${survey.id}/submit`, {
      body: { answers: [], invitation: token(0) },
    });
    assert.equal(outcomeOf(again), 'INVITATION_USED');
    // The part goes on by its resume token, and is asked by the metadata of the invitation until then.
    const paths: unknown[] = [];
    for (const invitation of [token(2), token(3)]) {
      const body = { answers: [], invitation };
      const path = await callOnce(service.base, 'POST', `/public/surveys/${survey.id}/path`, { body });
      paths.push(path.status === 200 ? 200 : path.body?.details?.reason);
    }
    assert.deepEqual(paths, [200, 'INVITATION_USED']);

    const stores = await openStoresOf(service, urlsOf(runningStores(dataDir)));
    try {
      await assertUntied(stores, { surveyId: survey.id, made, responses, texts: [logs(), service.logs()] });
    } finally {
      await stores.close();
    }
    assert.equal(await service.stop(), 0);
    service = undefined;
    assertUntiedOnDisk(dataDir, { made, responses });
  });
});

interface Used {
  made: readonly MadeInvitation[];
  responses: readonly string[];
}

/** What is known of the invited persons, and must not stand beside responses. */
const traitsOf = (made: readonly MadeInvitation[], hashes: readonly string[]): string[] => [
  ...made.map(({ token }) => token),
  ...made.map(({ reference }) => reference ?? ''),
  'team-of-person',
  ...hashes,
];

async function assertUntied(
  stores: Stores,
  { surveyId, made, responses, texts }: Used & { surveyId: string; texts: readonly string[] },
): Promise<void> {
  const invitations = await stores.sql`SELECT *, encode(token_hash, 'hex') AS hash FROM invitations`;
  assert.equal(invitations.length, made.length);
  const hashes = invitations.flatMap(({ id, hash }) => [
    String(id),
    String(hash),
    Buffer.from(String(hash), 'hex').toString('base64url'),
  ]);
  const traits = traitsOf(made, hashes);
  const has = (text: string, words: readonly string[]) => words.filter((word) => text.includes(word));

  // PostgreSQL: no response, no time of use, and no token.
  const tables = await stores.sql`SELECT tablename FROM pg_tables WHERE schemaname = current_schema()`;
  for (const { tablename } of tables) {
    const rows = await stores.sql`SELECT to_jsonb(t) AS row FROM ${stores.sql(tablename)} t`;
    const text = JSON.stringify(rows);
    assert.deepEqual(has(text, responses), [], `responses in ${tablename}`);
    assert.deepEqual(
      has(
        text,
        made.map(({ token }) => token),
      ),
      [],
      `tokens in ${tablename}`,
    );
    if (tablename !== 'invitations') assert.deepEqual(has(text, traits), [], `invitations in ${tablename}`);
  }
  for (const { created_at, ...row } of invitations) {
    const times = Object.entries(row).filter(([name, value]) => value instanceof Date && name !== 'used_on');
    assert.deepEqual([row['response_id'], times, created_at instanceof Date], [null, [], true]);
  }

  // Redis: marks, which cannot be computed from what PostgreSQL has.
  for (const redis of [stores.intakeRedis, stores.sharedRedis]) {
    const dump: string[] = [];
    for (const key of await redis.keys('*')) dump.push(key, ((await redis.dumpBuffer(key)) ?? '').toString('latin1'));
    assert.deepEqual(has(dump.join('\n'), traits), [], 'invitations in Redis');
  }
  const marks = (await Promise.all([0, 1].map((n) => stores.intakeRedis.smembers(`{s${n}}:spent:${surveyId}`)))).flat();
  assert.equal(marks.length, 4);
  assert.deepEqual(
    marks.filter((mark) => hashes.some((hash) => hash.includes(mark) || mark.includes(hash))),
    [],
  );

  // ClickHouse: every column of every table.
  for (const table of ['responses', 'idempotency_records', 'findings']) {
    const { pieces } = await stores.clickhouse.bytes(
      `SELECT * FROM ${stores.clickhouse.table(table)}`,
      'JSONEachRow',
      Number.POSITIVE_INFINITY,
    );
    const text = Buffer.concat(pieces).toString();
    assert.deepEqual(has(text, traits), [], `invitations in ${table}`);
  }
  for (const text of texts) assert.deepEqual(has(text, traits), [], 'invitations in the log');
}

/** The files of the stores: the append-only file of Redis holds no trait of an invitation, and no file any token. */
function assertUntiedOnDisk(dataDir: string, { made }: Used): void {
  const files = readdirSync(dataDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const appendOnly = files.filter((path) => path.includes('appendonly'));
  assert.ok(appendOnly.length > 0);
  for (const path of files) {
    const text = readFileSync(path).toString('latin1');
    const words = [...made.map(({ token }) => token), ...(appendOnly.includes(path) ? traitsOf(made, []) : [])];
    assert.deepEqual(
      words.filter((word) => text.includes(word)),
      [],
      path,
    );
  }
}
