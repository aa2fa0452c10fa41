import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Stores } from '../../src/stores/stores.ts';
import type { Client } from '../support/client.ts';
import type { RunningService } from '../support/service.ts';
import { sweepUploads, uploadPicture } from '../support/uploads.ts';
import { useServiceAndStores } from '../support/use-service.ts';

const hourMs = 3_600_000;

describe('files that a response does not name', () => {
  let service: RunningService;
  let admin: Client;
  let stores: Stores;
  useServiceAndStores((served) => ({ service, admin, stores } = served));

  /** The service's sweep of uploads, on its stores, so many hours later. */
  const sweepInHours = (hours: number): Promise<void> => sweepUploads(() => Date.now() + hours * hourMs, stores);
  const statusOf = async (uploadId: string) => (await admin.call('GET', `/uploads/${uploadId}`)).status;

  /** A survey whose file is asked for after a yes only. */
  const make = async () => {
    const { id } = await admin.create('/surveys', { title: 'Files', status: 'ACTIVE' });
    const hasFile = await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: 'Is there a file?' });
    const [yes, no] = hasFile.options.map((option: any) => ({ questionId: hasFile.id, optionId: option.id }));
    const file = await admin.create(`/surveys/${id}/questions`, {
      type: 'FILE_UPLOAD',
      text: 'Which?',
      visibleIf: { questionId: hasFile.id, operator: 'isAnyOf', optionIds: [yes.optionId] },
    });
    const upload = () => uploadPicture(service, { surveyId: id, questionId: file.id });
    const submit = async (body: Record<string, unknown>) => {
      const reply = await admin.submit(id, body);
      assert.equal(reply.status, 201, JSON.stringify(reply.body));
      return reply.body.data;
    };
    const named = (uploadId: string) => ({ questionId: file.id, textValue: uploadId });
    return { fileId: String(file.id), yes, no, upload, submit, named };
  };

  it('are deleted like unclaimed ones if their question is off the path', async () => {
    const { yes, no, upload, submit, named } = await make();
    const [off, on] = [await upload(), await upload()];
    const { ignored } = await submit({ answers: [no, named(off)] });
    assert.equal(ignored.length, 1);
    const { responseId } = await submit({ answers: [yes, named(on)] });
    assert.equal((await stores.uploadRows.find(on))?.responseId, responseId);
    await sweepInHours(0.9);
    assert.deepEqual([await statusOf(off), await statusOf(on)], [200, 200]);
    await sweepInHours(1.1);
    assert.deepEqual([await statusOf(off), await statusOf(on)], [404, 200]);
  });

  it('stay claimed where an earlier save of the response names them', async () => {
    const { yes, no, upload, submit, named } = await make();
    const file = await upload();
    const { responseId, resumeToken } = await submit({ answers: [yes, named(file)], isComplete: false });
    await submit({ responseId, resumeToken, answers: [no, named(file)], isComplete: false });
    await sweepInHours(1.1);
    assert.equal(await statusOf(file), 200);
    await submit({ responseId, resumeToken, answers: [yes, named(file)] });
    await sweepInHours(30);
    await sweepInHours(60);
    assert.equal(await statusOf(file), 200);
  });

  it('are deleted a day later if a continuation replaced or cleared them, or left the path', async () => {
    const { fileId, yes, no, upload, submit, named } = await make();
    const save = async (file: string) => {
      const { responseId, resumeToken } = await submit({ answers: [yes, named(file)], isComplete: false });
      return { responseId, resumeToken };
    };
    const [replaced, kept, cleared, left, open] = [
      await upload(),
      await upload(),
      await upload(),
      await upload(),
      await upload(),
    ];
    await submit({ ...(await save(replaced)), answers: [named(kept)] });
    await submit({ ...(await save(cleared)), answers: [], cleared: [fileId], isComplete: false });
    await submit({ ...(await save(left)), answers: [no] });
    const { responseId } = await save(open);
    const statuses = () => Promise.all([replaced, cleared, left, kept, open].map(statusOf));
    await sweepInHours(23);
    assert.deepEqual(await statuses(), [200, 200, 200, 200, 200]);
    await sweepInHours(25);
    await sweepInHours(27);
    assert.deepEqual(await statuses(), [404, 404, 404, 200, 200]);
    assert.equal((await stores.uploadRows.find(open))?.responseId, responseId);
    await sweepInHours(100);
    assert.deepEqual(await statuses(), [404, 404, 404, 200, 200]);
  });

  it('stay if a submission has claimed them again since they were verified', async () => {
    const { yes, no, upload, submit, named } = await make();
    const file = await upload();
    const { responseId, resumeToken } = await submit({ answers: [yes, named(file)], isComplete: false });
    await submit({ responseId, resumeToken, answers: [no], isComplete: false });
    // Of a submission under way: its claim is newer than those that are settled.
    const before = new Date();
    const { surveyId } = (await stores.uploadRows.find(file)) ?? assert.fail();
    await stores.uploadRows.claim(surveyId, responseId, [file]);
    await stores.uploadRows.settleClaims({ surveyId, responseId }, before, { ids: [], isFinal: false });
    assert.equal((await stores.uploadRows.find(file))?.responseId, responseId);
  });
});
