import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { newId } from '../../src/platform/ids.ts';
import type { Stores } from '../../src/stores/stores.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { png } from '../support/pictures.ts';
import type { RunningService } from '../support/service.ts';
import { fileSurvey, sweepUploads, type UploadTarget, uploadPicture, uploadsBy } from '../support/uploads.ts';
import { useServiceAndStores } from '../support/use-service.ts';

const hourMs = 3_600_000;

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

describe('uploads and their claims', () => {
  let service: RunningService;
  let admin: Client;
  let stores: Stores;
  useServiceAndStores((served) => ({ service, admin, stores } = served));

  const laterBy = (hours: number) => () => Date.now() + hours * hourMs;
  const inHours = (hours: number) => uploadsBy(laterBy(hours), stores).uploads;
  const sweepInHours = (hours: number): Promise<void> => sweepUploads(laterBy(hours), stores);
  const answer = ({ questionId }: UploadTarget, uploadId: string) => ({
    answers: [{ questionId, textValue: uploadId }],
  });
  const make = async () => {
    const target = await fileSurvey(admin);
    const upload = () => uploadPicture(service, target);
    const submit = async (uploadId: string): Promise<string> => {
      const reply = await admin.submit(target.surveyId, answer(target, uploadId));
      assert.equal(reply.status, 201, JSON.stringify(reply.body));
      return reply.body.data.responseId;
    };
    return { id: target.surveyId, upload, submit };
  };
  const fileOf = (uploadId: string) => join(service.dataDir, 'uploads', uploadId.slice(-2), uploadId);

  it('an upload is removed with its response', async () => {
    const survey = await make();
    const uploadId = await survey.upload();
    const responseId = await survey.submit(uploadId);
    assert.ok(existsSync(fileOf(uploadId)));
    await admin.remove(`/responses/${responseId}`);
    assert.ok(!existsSync(fileOf(uploadId)));
  });

  it('an upload is removed if it is unclaimed for an hour or its response was never accepted; claimed ones stay', async () => {
    const survey = await make();
    const [free, claimed, dead] = [await survey.upload(), await survey.upload(), await survey.upload()];
    await survey.submit(claimed);
    await stores.uploadRows.claim(survey.id, randomUUID(), [dead]);
    const areThere = () => [free, claimed, dead].map((id) => existsSync(fileOf(id)));
    await sweepInHours(0.9);
    assert.deepEqual(areThere(), [true, true, true]);
    await sweepInHours(1.1);
    assert.deepEqual(areThere(), [false, true, true]);
    const foreign = join(service.dataDir, 'uploads', 'ff', 'somebody’s notes');
    mkdirSync(dirname(foreign), { recursive: true });
    writeFileSync(foreign, 'not an upload');
    const stray = newId();
    await stores.uploadStorage.write(stray, piecesOf(png));
    await sweepInHours(26.4);
    assert.ok(existsSync(foreign), 'what is no upload of ours is left alone');
    assert.ok(existsSync(fileOf(stray)), 'a file that this database does not know may belong to another');
    assert.deepEqual(areThere(), [false, true, false]);
    await sweepInHours(216);
    assert.ok(existsSync(fileOf(claimed)));
  });

  it('a removed question takes uploads for responses of the version with it, under the same limits', async () => {
    const { id } = await admin.create('/surveys', { title: 'Files', status: 'ACTIVE' });
    const file = await admin.create(`/surveys/${id}/questions`, {
      type: 'FILE_UPLOAD',
      text: 'File?',
      isRequired: true,
      settings: { mimeTypes: ['image/png'] },
    });
    const { version: surveyVersion } = await admin.get(`/surveys/${id}`);
    await admin.remove(`/surveys/${id}/questions/${file.id}`);
    const target = { surveyId: id, questionId: file.id };
    const answersWith = async () => [{ questionId: file.id, textValue: await uploadPicture(service, target) }];
    const [free, [answer]] = [await uploadPicture(service, target), await answersWith()];
    const submit = (body: object) => admin.submit(id, body);
    assert.equal((await submit({ answers: [answer] })).status, 400, 'not of the present version');
    const taken = await submit({ surveyVersion, answers: [answer] });
    assert.equal(taken.status, 201, JSON.stringify(taken.body));
    assert.equal((await submit({ surveyVersion, answers: [answer] })).status, 400, 'one response alone claims a file');
    const address = `${service.origin}/api/v1/uploads/surveys/${id}/questions/${file.id}`;
    const text = await fetch(address, { method: 'POST', body: 'a text', headers: { 'content-type': 'text/plain' } });
    assert.equal(text.status, 415);
    await sweepInHours(1.1);
    const claimed = String(answer?.textValue);
    assert.deepEqual([existsSync(fileOf(free)), existsSync(fileOf(claimed))], [false, true]);
    await admin.remove(`/responses/${taken.body.data.responseId}`);
    assert.ok(!existsSync(fileOf(claimed)));
    await admin.put(`/surveys/${id}`, { status: 'PAUSED' });
    assert.equal((await fetch(address, { method: 'POST', body: Buffer.from(png) })).status, 409);
  });

  it('a file of an accepted response stays where its row is lost, as in a PostgreSQL that was restored', async () => {
    const survey = await make();
    const uploadId = await survey.upload();
    await survey.submit(uploadId);
    await stores.sql`DELETE FROM uploads WHERE id = ${uploadId}`;
    await sweepInHours(26.4);
    assert.ok(existsSync(fileOf(uploadId)));
  });

  it('an unclaimed upload that a response names is claimed for it again, as after a restore of PostgreSQL', async () => {
    const survey = await make();
    const uploadId = await survey.upload();
    const responseId = await survey.submit(uploadId);
    await stores.sql`UPDATE uploads SET response_id = NULL, holds = 0, claimed_at = NULL WHERE id = ${uploadId}`;
    await sweepInHours(1.1);
    assert.equal((await stores.uploadRows.find(uploadId))?.responseId, responseId);
    await sweepInHours(26.4);
    assert.ok(existsSync(fileOf(uploadId)));
    await admin.remove(`/responses/${responseId}`);
    assert.ok(!existsSync(fileOf(uploadId)));
  });

  it('an upload whose process died while it was written is removed a day later, and is no upload until then', async () => {
    const survey = await make();
    const id = newId();
    const { questionId } = (await stores.uploadRows.find(await survey.upload())) ?? assert.fail();
    const row = { id, surveyId: survey.id, questionId, fileName: 'a.png', createdAt: new Date() };
    await stores.uploadRows.begin(row);
    await stores.uploadStorage.write(id, piecesOf(png));
    assert.equal(await stores.uploadRows.find(id), undefined);
    assert.equal((await inHours(0).reserve(survey.id, randomUUID(), [id])).size, 0);
    await sweepInHours(23);
    assert.ok(existsSync(fileOf(id)));
    await sweepInHours(25);
    assert.ok(!existsSync(fileOf(id)));
    assert.deepEqual(await stores.uploadRows.findExisting([id]), []);
  });

  it('an upload claimed by a process that died can be claimed by another submission', async () => {
    const survey = await make();
    const uploadId = await survey.upload();
    const [dead, next] = [randomUUID(), randomUUID()];
    const reserve = (hours: number, responseId: string) => inHours(hours).reserve(survey.id, responseId, [uploadId]);
    assert.deepEqual([...(await reserve(0, dead)).keys()], [uploadId]);
    await assert.rejects(reserve(0, next), /under way/);
    assert.deepEqual([...(await reserve(1, next)).keys()], [uploadId]);
    assert.deepEqual([...(await reserve(0, next)).keys()], [uploadId], 'the same response may ask again');
    await inHours(0).release(next, [uploadId]);
    await assert.rejects(reserve(0, dead), /under way/, 'one of two holds is left');
    await inHours(0).release(next, [uploadId]);
    assert.deepEqual([...(await reserve(0, dead)).keys()], [uploadId]);
  });

  describe('uploads in submissions', () => {
    /** A survey that asks for a file, and a picture that was sent to it. */
    const withPicture = async () => {
      const target = await fileSurvey(admin);
      return { target, uploadId: await uploadPicture(service, target) };
    };

    it('are claimed by one response, which shows them; a repeat of it changes nothing', async () => {
      const { target, uploadId } = await withPicture();
      const first = await admin.submit(target.surveyId, answer(target, uploadId), { 'idempotency-key': 'one' });
      assert.equal(first.status, 201, JSON.stringify(first.body));
      const again = await admin.submit(target.surveyId, answer(target, uploadId), { 'idempotency-key': 'one' });
      assert.deepEqual(
        [again.status, again.body.data, again.headers.get('idempotent-replayed')],
        [201, first.body.data, 'true'],
      );
      const second = await admin.submit(target.surveyId, answer(target, uploadId));
      assert.deepEqual([second.status, second.body.details[0].path], [400, 'answers.0.textValue']);
      const response = await admin.get(`/responses/${first.body.data.responseId}`);
      assert.deepEqual(response.answers, [{ questionId: target.questionId, textValue: uploadId }]);
      await eventually(async () =>
        assert.deepEqual((await admin.get(`/analytics/surveys/${target.surveyId}`)).questionStats[0].distribution, {
          'image/png': 1,
        }),
      );
    });

    it('stay claimed when a later submission of the same response is refused', async () => {
      const { target, uploadId } = await withPicture();
      const responseId = randomUUID();
      const saved = await admin.submit(target.surveyId, {
        ...answer(target, uploadId),
        responseId,
        isComplete: false,
      });
      assert.equal(saved.status, 201);
      const broken = await admin.submit(target.surveyId, {
        answers: [...answer(target, uploadId).answers, { questionId: 'x', textValue: 'y' }],
        responseId,
        resumeToken: saved.body.data.resumeToken,
      });
      assert.equal(broken.status, 400);
      assert.equal((await admin.submit(target.surveyId, answer(target, uploadId))).status, 400, 'nobody else gets it');
      assert.equal(
        (
          await admin.submit(target.surveyId, {
            ...answer(target, uploadId),
            responseId,
            resumeToken: saved.body.data.resumeToken,
          })
        ).status,
        201,
      );
    });

    it('are free again after a refused submission', async () => {
      const { target, uploadId } = await withPicture();
      const wrong = { answers: [...answer(target, uploadId).answers, { questionId: randomUUID(), numberValue: 1 }] };
      assert.equal((await admin.submit(target.surveyId, wrong)).status, 400);
      assert.equal((await admin.submit(target.surveyId, answer(target, uploadId))).status, 201);
    });

    it('are claimed by one of many concurrent submissions', async () => {
      const { target, uploadId } = await withPicture();
      const replies = await Promise.all(
        Array.from({ length: 8 }, () => admin.submit(target.surveyId, answer(target, uploadId))),
      );
      assert.equal(replies.filter(({ status }) => status === 201).length, 1);
      assert.ok(replies.every(({ status }) => [201, 400, 503].includes(status)));
    });

    it('are accepted as answers only to the question and survey that they were sent for', async () => {
      const [{ target: one, uploadId }, other] = [await withPicture(), await fileSurvey(admin)];
      assert.equal((await admin.submit(other.surveyId, answer(other, uploadId))).status, 400);
      const twin = await admin.create(`/surveys/${one.surveyId}/questions`, { type: 'FILE_UPLOAD', text: 'Another?' });
      assert.equal(
        (await admin.submit(one.surveyId, { answers: [{ questionId: twin.id, textValue: uploadId }] })).status,
        400,
      );
      for (const id of ['nonsense', randomUUID(), '../../x'])
        assert.equal((await admin.submit(one.surveyId, answer(one, id))).status, 400, id);
      assert.equal((await admin.submit(one.surveyId, answer(one, uploadId))).status, 201);
    });
  });
});
