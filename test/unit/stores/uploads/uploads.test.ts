import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { unavailable } from '../../../../src/errors.ts';
import { newId } from '../../../../src/platform/ids.ts';
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
    findNaming: async () => new Map(),
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
        findUnverifiedResponses: async () => [newId()],
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

  it('leave neither row nor file where the row was removed while the bytes came in', async () => {
    const id = newId();
    const removed: string[] = [];
    const { uploads } = uploadsOn(
      { begin: async () => undefined, complete: async () => false },
      { write: async () => ({ size: 3, sha256: '00' }), remove: async (file) => void removed.push(file) },
    );
    const upload = { id, surveyId: newId(), questionId: newId(), fileName: 'a', mimeType: () => 'image/png' };
    await assert.rejects(uploads.save(upload, pieces()), { code: 'SERVICE_UNAVAILABLE' });
    assert.deepEqual(removed, [id]);
  });

  it('do not ask a storage that is away for each of many files', async () => {
    let asked = 0;
    const { uploads } = uploadsOn(
      { markOfSurvey: async () => Array.from({ length: 1000 }, () => newId()) },
      {
        remove: async () => {
          asked += 1;
          throw unavailable('The storage of uploads cannot be reached right now', 5);
        },
      },
    );
    await assert.rejects(uploads.removeOfSurvey(newId()), { code: 'SERVICE_UNAVAILABLE' });
    assert.equal(asked, 5);
  });
});

async function* pieces(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(3);
}
