import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { unavailable } from '../../../../src/errors.ts';
import { newId } from '../../../../src/platform/ids.ts';
import type { UploadRecord } from '../../../../src/stores/postgres/uploads.ts';
import { createUploads, type UploadsDeps } from '../../../../src/stores/uploads/uploads.ts';

type Rows = UploadsDeps['rows'];
type Storage = UploadsDeps['storage'];

/** Uploads on these parts of their stores, and the lines of their log. */
function uploadsOn(rows: Partial<Rows>, storage: Partial<Storage>, rest: Partial<UploadsDeps> = {}) {
  const lines: { message: string; fields: Record<string, unknown> }[] = [];
  const note = (fields: Record<string, unknown>, message: string) => void lines.push({ message, fields });
  const uploads = createUploads({
    rows: {
      findUnfinished: async () => [],
      findUnverifiedResponses: async () => [],
      findUnclaimed: async () => [],
      markUnclaimed: async () => [],
      remove: async () => undefined,
      ...rows,
    } as Rows,
    storage: storage as Storage,
    budget: { reserve: () => assert.fail('nothing is reserved here') },
    unclaimedTtlMs: 3_600_000,
    now: Date.now,
    isResponseStored: async () => true,
    findNamed: async () => undefined,
    findNaming: async () => [],
    log: { info: note, warn: note },
    ...rest,
  });
  return { uploads, lines };
}

async function* listOf(ids: readonly string[]): AsyncGenerator<string> {
  yield* ids;
}

describe('uploads', () => {
  it('leave no other file behind where one cannot be removed, or a response cannot be checked', async () => {
    const [locked, unclaimed, alsoUnclaimed, unfinished] = [newId(), newId(), newId(), newId()];
    const removed: string[] = [];
    const rowsRemoved: string[] = [];
    const { uploads, lines } = uploadsOn(
      {
        findUnfinished: async () => [unfinished],
        findUnverifiedResponses: async () => [{ surveyId: newId(), responseId: newId() }],
        markUnclaimed: async () => [unclaimed, locked, alsoUnclaimed],
        remove: async (ids) => void rowsRemoved.push(...ids),
      },
      {
        remove: async (id) => {
          if (id === locked) throw new Error('the file is locked');
          removed.push(id);
        },
        list: () => listOf([]),
      },
      {
        isResponseStored: async () => {
          throw new Error('its shard is behind');
        },
      },
    );
    await assert.rejects(uploads.sweep(), /its shard is behind/);
    assert.deepEqual(removed, [unfinished, unclaimed, alsoUnclaimed]);
    assert.deepEqual(rowsRemoved, removed, 'the row of a file that is still there stays, so that it is removed later');
    assert.deepEqual(
      lines.map(({ fields }) => fields),
      [{ removed: 3 }],
    );
  });

  it('keep files that the database does not know, and say how many they are once', async () => {
    const [known, ...unknown] = Array.from({ length: 31 }, () => newId());
    const { uploads, lines } = uploadsOn(
      { findExisting: async () => (known === undefined ? [] : [known]) },
      { remove: () => assert.fail('no file may be removed'), list: () => listOf([...unknown, known ?? '', 'notes']) },
    );
    await uploads.sweep();
    await uploads.sweep();
    assert.deepEqual(
      lines.map(({ fields }) => fields),
      [{ files: 30, examples: unknown.slice(0, 20) }],
    );
    assert.match(lines[0]?.message ?? '', /no row in this database: they are kept/);
  });

  it('may be sent for a day, also where unclaimed ones are removed sooner', async () => {
    const asked: string[][] = [];
    const { uploads } = uploadsOn(
      {},
      {
        list: (...moments) => {
          asked.push(moments.map((moment) => moment.toISOString()));
          return listOf([]);
        },
      },
      { unclaimedTtlMs: 60_000, now: () => Date.parse('2026-01-02T12:00:00Z') },
    );
    await uploads.sweep();
    assert.deepEqual(asked, [['2026-01-02T11:59:00.000Z', '2026-01-01T12:00:00.000Z']]);
  });

  it('are noted before their bytes are written, and complete after', async () => {
    const steps: string[] = [];
    const upload = { id: newId(), surveyId: newId(), questionId: newId(), fileName: 'a', mimeType: () => 'image/png' };
    const { uploads } = uploadsOn(
      {
        begin: async () => void steps.push('begin'),
        complete: async () => {
          steps.push('complete');
          return true;
        },
      },
      {
        write: async () => {
          steps.push('write');
          return { size: 3, sha256: '00' };
        },
      },
    );
    assert.deepEqual(await uploads.save(upload, pieces()), { size: 3, mimeType: 'image/png' });
    assert.deepEqual(steps, ['begin', 'write', 'complete']);
  });

  it('leave neither row nor file where the row was marked while the bytes came in', async () => {
    const id = newId();
    const removed: string[] = [];
    const { uploads } = uploadsOn(
      {
        begin: async () => undefined,
        complete: async () => false,
        removeBegun: async (row) => void removed.push(`row ${row}`),
      },
      { write: async () => ({ size: 3, sha256: '00' }), remove: async (file) => void removed.push(`file ${file}`) },
    );
    const upload = { id, surveyId: newId(), questionId: newId(), fileName: 'a', mimeType: () => 'image/png' };
    await assert.rejects(uploads.save(upload, pieces()), { code: 'SERVICE_UNAVAILABLE' });
    assert.deepEqual(removed, [`file ${id}`, `row ${id}`]);
  });

  it('keep the row of a file that the storage may have although it failed, for a sweep to remove both', async () => {
    const removed: string[] = [];
    const save = (bytes: AsyncIterable<Uint8Array>) => {
      const { uploads } = uploadsOn(
        { begin: async () => undefined, removeBegun: async () => void removed.push('row') },
        {
          write: async (_, given) => {
            for await (const _piece of given);
            throw new Error('no reply to the last call');
          },
          remove: async () => void removed.push('file'),
        },
      );
      const upload = {
        id: newId(),
        surveyId: newId(),
        questionId: newId(),
        fileName: 'a',
        mimeType: () => 'image/png',
      };
      return uploads.save(upload, bytes);
    };
    await assert.rejects(save(pieces()), /no reply to the last call/);
    assert.deepEqual(removed, []);
    const broken = async function* () {
      yield* pieces();
      throw new Error('the client has gone');
    };
    await assert.rejects(save(broken()), /the client has gone/);
    assert.deepEqual(removed, ['row'], 'by the contract of the storage there is no file');
  });

  it('go on where one survey cannot be looked up, and keep its files meanwhile', async () => {
    const [known, named] = [newId(), newId()];
    const [away, there, other] = [newId(), newId(), newId()];
    const ofOther = newId();
    let kept: readonly string[] = [];
    const claimed: string[] = [];
    const { uploads } = uploadsOn(
      {
        findUnclaimed: async () => [
          { id: newId(), surveyId: away },
          { id: known, surveyId: there },
          { id: named, surveyId: there },
          { id: ofOther, surveyId: other },
        ],
        claim: async (_survey, responseId, ids) => {
          claimed.push(`${responseId} ${ids}`);
          return [{} as UploadRecord];
        },
        markUnclaimed: async (_before, exceptOfSurveys) => {
          kept = exceptOfSurveys;
          return [known];
        },
      },
      { remove: async () => undefined, list: () => listOf([]) },
      {
        findNaming: async (surveyId) => {
          if (surveyId === away) throw unavailable('Responses cannot be read right now', 5);
          if (surveyId === other) return [{ uploadId: ofOther, responseId: 'deleted' }];
          return [
            { uploadId: known, responseId: 'deleted' },
            { uploadId: named, responseId: 'replaced' },
            { uploadId: named, responseId: 'naming' },
          ];
        },
        // An id may be deleted in one survey, and not in another.
        isResponseStored: async (surveyId, responseId) => surveyId === other || responseId !== 'deleted',
        findNamed: async (surveyId, responseId) => ({
          ids: surveyId === other ? [ofOther] : responseId === 'naming' ? [named] : [],
          isFinal: true,
        }),
      },
    );
    await assert.rejects(uploads.sweep(), { code: 'SERVICE_UNAVAILABLE' });
    assert.deepEqual(kept, [away]);
    assert.deepEqual(claimed, [`naming ${named}`, `deleted ${ofOther}`]);
  });

  it('of what is erased are all marked where the storage refuses to remove them, and the first error is logged', async () => {
    let [nowMs, asked] = [0, 0];
    let isAway = true;
    const pages = [1000, 1000, 3].map((length) => Array.from({ length }, () => newId()));
    const { uploads, lines } = uploadsOn(
      { markOfSurvey: async () => pages.shift() ?? [], markOfResponse: async () => [newId()] },
      {
        remove: async () => {
          asked += 1;
          if (isAway) throw unavailable('The storage of uploads cannot be reached right now', 5);
        },
      },
      { now: () => nowMs },
    );
    const removeOfResponse = () => uploads.removeOfResponse({ surveyId: newId(), responseId: newId() });
    assert.equal(await uploads.removeOfSurvey(newId()), 0);
    assert.deepEqual([pages, asked], [[], 5], 'a storage that is away is not asked for each of many files');
    assert.equal(await removeOfResponse(), 0);
    assert.deepEqual(
      [asked, lines.map(({ message }) => message)],
      [5, ['uploaded files of what was erased, or their rows, remain: a sweep removes them']],
    );
    isAway = false;
    nowMs += 60_000;
    assert.equal(await removeOfResponse(), 1);
  });

  it('of what is erased are left to the sweep for a minute after five responses whose only file cannot be removed', async () => {
    let [nowMs, asked] = [0, 0];
    const { uploads } = uploadsOn(
      { markOfResponse: async () => [newId()] },
      {
        remove: async () => {
          asked += 1;
          throw unavailable('The storage of uploads cannot be reached right now', 5);
        },
      },
      { now: () => nowMs },
    );
    const erase = async (responses: number): Promise<number> => {
      for (let erased = 0; erased < responses; erased += 1)
        await uploads.removeOfResponse({ surveyId: newId(), responseId: newId() });
      return asked;
    };
    assert.deepEqual([await erase(4), await erase(4)], [4, 5]);
    nowMs += 60_000;
    assert.deepEqual([await erase(1), await erase(4)], [6, 6]);
  });

  it('of what is erased are removed where another one cannot be, or its row cannot', async () => {
    const [locked, keptRow, third, fourth] = [newId(), newId(), newId(), newId()];
    const responses = [[locked, third], [keptRow], [fourth]];
    const removed: string[] = [];
    const { uploads, lines } = uploadsOn(
      {
        markOfResponse: async () => responses.shift() ?? [],
        remove: async (ids) => {
          if (ids.includes(keptRow)) throw unavailable('The control plane cannot be reached', 2);
        },
      },
      {
        remove: async (id) => {
          if (id === locked) throw new Error('the file is locked');
          removed.push(id);
        },
      },
      { now: () => 0 },
    );
    const removeOfResponse = () => uploads.removeOfResponse({ surveyId: newId(), responseId: newId() });
    assert.deepEqual([await removeOfResponse(), await removeOfResponse(), await removeOfResponse()], [1, 0, 1]);
    assert.deepEqual(removed, [third, keptRow, fourth]);
    assert.deepEqual(
      lines.map(({ message }) => message),
      Array.from({ length: 2 }, () => 'uploaded files of what was erased, or their rows, remain: a sweep removes them'),
    );
  });

  it('that a stored response holds are asked for once or twice, however many submissions name them at once', async () => {
    const [surveyId, holder, uploadId] = [newId(), newId(), newId()];
    const asked: string[][] = [];
    const claimed = { id: uploadId, surveyId, responseId: holder, claimedAt: new Date(0) };
    const { uploads } = uploadsOn(
      { claim: async () => [], findInSurvey: (async () => [claimed]) as unknown as Rows['findInSurvey'] },
      {},
      {
        isResponseStored: async (...response) => {
          asked.push(response);
          return true;
        },
      },
    );
    const reserved = await Promise.all(
      Array.from({ length: 40 }, () => uploads.reserve(surveyId, newId(), [uploadId])),
    );
    assert.ok(reserved.every(({ size }) => size === 0));
    assert.ok(asked.length <= 2, `${asked.length} reads`);
    assert.deepEqual(asked[0], [surveyId, holder]);
  });
});

async function* pieces(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(3);
}
