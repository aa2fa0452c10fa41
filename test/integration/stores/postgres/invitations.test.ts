import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { invitedResponseId, newId, newResponseId } from '../../../../src/platform/ids.ts';
import { postgres, type Sql } from '../../../../src/stores/postgres/driver.ts';
import { createInvitationStore, type InvitationToAdd } from '../../../../src/stores/postgres/invitations.ts';
import { createSurveyStore } from '../../../../src/stores/postgres/surveys.ts';
import { eventually } from '../../../support/eventually.ts';
import { analysedSurvey, type OwnedDatabase, ownedDatabase } from '../../../support/owned-database.ts';

describe('invitations in PostgreSQL', () => {
  let database: OwnedDatabase;
  /** Waits longer for a lock than the service does. */
  let patient: Sql;
  before(async () => {
    database = await ownedDatabase();
    patient = postgres(database.url, { max: 1, connection: { lock_timeout: 60_000 } });
  });
  after(async () => {
    await patient?.end();
    await database?.drop();
  });

  const at = new Date('2026-06-01T12:00:00.000Z');
  const hashOf = (name: string) => createHash('sha256').update(name).digest();
  const row = (name: string, more: Partial<InvitationToAdd> = {}): InvitationToAdd => ({
    id: newId(),
    tokenHash: hashOf(name),
    reference: name,
    language: null,
    expiresAt: null,
    metadata: {},
    ...more,
  });
  const setUp = async () => {
    const { surveyId } = await analysedSurvey(database, '');
    const survey = await createSurveyStore(database.sql).load(surveyId);
    const collectorId = survey?.collectors?.[0]?.id ?? '';
    return { surveyId, collectorId, at, invitations: createInvitationStore(database.sql) };
  };
  const all = { page: 1, limit: 1000, now: at };
  /** Adds two batches; the second waits for an invitation of another survey with its token, until `meanwhile` ends. */
  const upload = async (place: { surveyId: string; collectorId: string }, meanwhile: () => Promise<unknown>) => {
    const [elsewhere, last] = [await setUp(), row(newId())];
    const first = Array.from({ length: 500 }, () => row(newId()));
    const { sql } = database;
    let added: Promise<unknown> = Promise.resolve();
    await sql.begin(async (tx) => {
      await tx`
        INSERT INTO invitations (id, collector_id, survey_id, token_hash, created_at)
        VALUES (${newId()}, ${elsewhere.collectorId}, ${elsewhere.surveyId}, ${last.tokenHash}, ${at})`;
      added = createInvitationStore(patient).add({ ...place, at }, [...first, last]);
      added.catch(() => undefined);
      await eventually(async () => {
        const waiting = await sql`
          SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
        assert.equal(waiting.count, 1);
      });
      await meanwhile();
      await tx`DELETE FROM invitations WHERE token_hash = ${last.tokenHash}`;
    });
    await added;
  };

  it('are 100,000 at once, in the order of their rows', async () => {
    const { invitations, ...place } = await setUp();
    const rows = Array.from({ length: 100_000 }, (_, n) => row(`${place.surveyId} ${n}`, { metadata: { n: `${n}` } }));
    await invitations.add(place, rows);
    const { items, total } = await invitations.list({ ...place, ...all, page: 100 });
    assert.deepEqual(
      [total, items.map(({ metadata }) => metadata['n'])],
      [100_000, Array.from({ length: 1000 }, (_, n) => `${99_000 + n}`)],
    );
  });

  it('are stored all or none', async () => {
    const { invitations, ...place } = await setUp();
    const twice = row('twice');
    await assert.rejects(invitations.add(place, [row('once'), twice, { ...twice, id: newId() }]));
    assert.equal((await invitations.list({ ...place, ...all })).total, 0);
    await assert.rejects(invitations.add({ ...place, collectorId: newId() }, [row('nowhere')]), { code: 'NOT_FOUND' });
  });

  it('leave their survey and its collector free for changes while they are written', async () => {
    const { invitations, ...place } = await setUp();
    const surveys = createSurveyStore(database.sql);
    await upload(place, () =>
      surveys.change(place.surveyId, (survey) => ({
        survey: {
          ...survey,
          title: 'Changed meanwhile',
          collectors: (survey.collectors ?? []).map((collector) => ({ ...collector, name: 'Changed meanwhile' })),
        },
        isWordingChanged: true,
      })),
    );
    const survey = await surveys.load(place.surveyId);
    assert.deepEqual([survey?.title, survey?.collectors?.[0]?.name], ['Changed meanwhile', 'Changed meanwhile']);
    assert.equal((await invitations.list({ ...place, ...all })).total, 501);
  });

  it('are none where their survey or collector is deleted while they are written', async () => {
    const surveys = createSurveyStore(database.sql);
    const removals = [
      ({ surveyId }: { surveyId: string }) => surveys.remove(surveyId),
      ({ surveyId }: { surveyId: string }) =>
        surveys.change(surveyId, (survey) => ({
          survey: {
            ...survey,
            collectors: (survey.collectors ?? []).map((collector) => ({ ...collector, isDeleted: true })),
          },
          isWordingChanged: false,
        })),
    ];
    for (const remove of removals) {
      const { invitations, ...place } = await setUp();
      await assert.rejects(
        upload(place, () => remove(place)),
        { code: 'NOT_FOUND' },
      );
      assert.equal((await invitations.list({ ...place, ...all })).total, 0);
    }
  });

  it('are found by the hash of their token, in their survey alone', async () => {
    const { invitations, ...place } = await setUp();
    const expiresAt = new Date('2026-07-01T00:00:00.000Z');
    const given = row(newId(), { language: 'de', expiresAt, metadata: { 'a"b': '\\' } });
    await invitations.add(place, [given]);
    const found = await invitations.findByToken(place.surveyId, given.tokenHash);
    assert.deepEqual(
      [found?.id, found?.language, found?.expiresAt, found?.metadata, found?.status],
      [given.id, 'de', expiresAt, { 'a"b': '\\' }, 'UNUSED'],
    );
    assert.equal(await invitations.findByToken(newId(), given.tokenHash), undefined);
    assert.equal(await invitations.findByToken(place.surveyId, hashOf('another')), undefined);
  });

  it('are started, completed, revoked and expire', async () => {
    const { invitations, ...place } = await setUp();
    const names = ['started', 'both', 'late', 'revoked', 'unnamed', 'expired', 'unused'].map(
      (name) => `${name} ${place.surveyId}`,
    );
    const rows = names.map((name) =>
      row(name, name.startsWith('expired') ? { expiresAt: new Date(at.getTime() - 1) } : {}),
    );
    await invitations.add(place, rows);
    const [started, both, late, revoked, unnamed] = rows;
    const later = new Date(at.getTime() + 60_000);
    const use = (given: InvitationToAdd | undefined, completedAt: Date | null, startedAt = at) => ({
      tokenHash: Buffer.from(given?.tokenHash ?? []).toString('hex'),
      surveyId: place.surveyId,
      responseId: newId(),
      startedAt,
      completedAt,
    });
    const ids = { revoked: revoked?.id ?? '', late: late?.id ?? '' };
    const revoke = (id: string) => invitations.revoke(place.collectorId, id, { at, isAnonymous: false });
    assert.equal((await revoke(ids.revoked))?.status, 'REVOKED');
    assert.equal((await revoke(ids.late))?.status, 'REVOKED');
    assert.equal(await revoke(newId()), undefined);
    await invitations.recordUses([use(started, null), use(both, null)]);
    await invitations.recordUses([use(both, later, later), use(late, later), use(revoked, null)]);
    const begun = { ...use(unnamed, null), responseId: newId() };
    await invitations.recordUses([{ ...begun, surveyId: '' }]);
    await invitations.recordUses([
      { ...begun, tokenHash: '', surveyId: newId(), startedAt: new Date(0), completedAt: at },
    ]);
    await invitations.recordUses([
      { ...begun, tokenHash: '', startedAt: later, completedAt: later },
      use(undefined, later),
    ]);
    const { items } = await invitations.list({ ...place, ...all });
    assert.deepEqual(
      items.map((item) => [item.reference?.split(' ')[0], item.status, item.startedAt, item.completedAt, item.usedOn]),
      [
        ['started', 'STARTED', at, null, '2026-06-01'],
        ['both', 'COMPLETED', at, later, '2026-06-01'],
        ['late', 'COMPLETED', at, later, '2026-06-01'],
        ['revoked', 'REVOKED', at, null, '2026-06-01'],
        ['unnamed', 'COMPLETED', at, later, '2026-06-01'],
        ['expired', 'UNUSED', null, null, null],
        ['unused', 'UNUSED', null, null, null],
      ],
    );
    const expected = { UNUSED: 1, STARTED: 1, COMPLETED: 3, REVOKED: 1, EXPIRED: 1 };
    assert.deepEqual(await invitations.counts(place.collectorId, at), expected);
    for (const [status, total] of Object.entries(expected))
      assert.equal((await invitations.list({ ...place, ...all, status: status as 'UNUSED' })).total, total, status);
  });

  it('lose what identifies a person whose response is erased, also before their use is recorded', async () => {
    const { invitations, ...place } = await setUp();
    const rows = Array.from({ length: 2500 }, (_, n) =>
      row(`${place.surveyId} ${n}`, { language: 'de', metadata: { mail: `${n}@example.org` } }),
    );
    await invitations.add(place, rows);
    const [recorded, fresh, last] = [rows[0], rows[1], rows.at(-1)].map((each) => each?.tokenHash ?? assert.fail());
    const tokenHash = Buffer.from(recorded ?? []).toString('hex');
    const use = { tokenHash, surveyId: place.surveyId, startedAt: at, completedAt: at };
    const ids = [recorded, fresh, last].map((hash) => invitedResponseId(hash ?? assert.fail()));
    await invitations.recordUses([{ ...use, responseId: ids[0] ?? '' }]);
    await invitations.eraseOfResponses(place.surveyId, [...ids, newResponseId()]);
    const left = await database.sql`
      SELECT id FROM invitations WHERE survey_id = ${place.surveyId}
        AND (reference IS NOT NULL OR language IS NOT NULL OR metadata <> '{}')`;
    assert.deepEqual(
      new Set(left.map(({ id }) => id)),
      new Set(rows.slice(2, -1).map(({ id }) => id)),
      'and the others keep it',
    );
  });

  it('tell the responses of a reference in their survey, also before their use is recorded', async () => {
    const [{ invitations, ...place }, elsewhere] = [await setUp(), await setUp()];
    const invited = (reference: string) => row(newId(), { reference });
    const [recorded, fresh] = [invited('anna'), invited('anna')];
    await invitations.add(place, [recorded, fresh, invited('bert')]);
    await elsewhere.invitations.add(elsewhere, [invited('anna')]);
    const responseId = newResponseId();
    const tokenHash = Buffer.from(recorded.tokenHash).toString('hex');
    const use = { tokenHash, surveyId: place.surveyId, responseId, startedAt: at, completedAt: at };
    await invitations.recordUses([use]);
    const found = await invitations.responsesOfReference(place.surveyId, 'anna');
    assert.deepEqual(found.toSorted(), [responseId, invitedResponseId(fresh.tokenHash)].sort());
  });

  it('keep of their use in an anonymous survey the day of the first save alone', async () => {
    const { invitations, ...place } = await setUp();
    const given = row(newId());
    await invitations.add(place, [given]);
    const use = { id: given.id, isComplete: false, day: '2026-06-02' };
    await invitations.recordAnonymousUses([use]);
    await invitations.recordAnonymousUses([{ ...use, isComplete: true, day: '2026-06-03' }]);
    const { items } = await invitations.list({ ...place, ...all });
    assert.deepEqual(
      items.map((item) => [item.status, item.usedOn, item.startedAt, item.completedAt, item.responseId]),
      [['COMPLETED', '2026-06-02', null, null, null]],
    );
    assert.equal(
      (await invitations.revoke(place.collectorId, given.id, { at, isAnonymous: true }))?.status,
      'COMPLETED',
    );
  });

  it('of a deleted collector name nobody once they are erased, unless they name a response', async () => {
    const { collectorId, surveyId, invitations } = await setUp();
    const names = Array.from({ length: 2500 }, () => newId());
    const used = row('used', { metadata: { city: 'Bonn' } });
    await invitations.add({ collectorId, surveyId, at }, [used, ...names.map((name) => row(name, { language: 'de' }))]);
    await invitations.recordUses([
      { tokenHash: hashOf('used').toString('hex'), surveyId, responseId: newId(), startedAt: at, completedAt: null },
    ]);
    const named = async () => {
      const rows = await database.sql`
        SELECT reference FROM invitations WHERE collector_id = ${collectorId} AND (reference IS NOT NULL OR language IS NOT NULL)`;
      return rows.map(({ reference }) => reference);
    };
    const deleted = async () => (await invitations.deletedCollectors()).filter(({ id }) => id === collectorId);
    assert.deepEqual(await deleted(), []);
    await database.sql`UPDATE collectors SET is_deleted = true, updated_at = ${at} WHERE id = ${collectorId}`;
    assert.deepEqual(await deleted(), [{ id: collectorId, surveyId, deletedAt: at }]);
    await invitations.eraseOfDeletedCollector(collectorId, AbortSignal.abort());
    assert.equal((await named()).length, 2501);
    assert.equal((await deleted()).length, 1);
    await invitations.eraseOfDeletedCollector(collectorId);
    assert.deepEqual(await named(), ['used']);
    assert.deepEqual(await deleted(), [], 'it is done');
  });
});
