import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { forgetResponseId } from '../support/intake.ts';
import type { RunningService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';
import { uploadPicture } from '../support/uploads.ts';
import { useService } from '../support/use-service.ts';

describe('a response whose id was used again', () => {
  let service: RunningService;
  let admin: Client;
  before(async () => void (await sharedStores()));
  useService((served) => {
    ({ service, admin } = served);
  });

  /** Submits under the id as if it had not been used for two days, and waits until all its responses are stored. */
  const use = async (surveyId: string, body: { responseId: string } & Record<string, unknown>): Promise<void> => {
    await forgetResponseId(body.responseId);
    const { totalResponses: former } = await admin.get(`/analytics/surveys/${surveyId}`);
    const reply = await admin.submit(surveyId, { answers: [], ...body });
    assert.equal(reply.status, 201, JSON.stringify(reply.body));
    await eventually(async () =>
      assert.equal((await admin.get(`/analytics/surveys/${surveyId}`)).totalResponses, former + 1),
    );
  };

  it('ends without the files of the one that stays', async () => {
    const { id } = await admin.create('/surveys', { title: 'Files' });
    const addQuestion = (text: string) => admin.create(`/surveys/${id}/questions`, { type: 'FILE_UPLOAD', text });
    const [first, second] = [await addQuestion('Bill?'), await addQuestion('Photo?')];
    await admin.post(`/surveys/${id}/publish`);
    const upload = (questionId: string) => uploadPicture(service, { surveyId: id, questionId });
    const [ofOlder, ofYounger, ofBoth] = [await upload(first.id), await upload(first.id), await upload(second.id)];
    const naming = (uploadId: string) => [
      { questionId: first.id, textValue: uploadId },
      { questionId: second.id, textValue: ofBoth },
    ];
    const responseId = randomUUID();
    await use(id, { responseId, respondent: 'kiosk', answers: naming(ofOlder) });
    await use(id, { responseId, answers: naming(ofYounger) });
    const statuses = () =>
      Promise.all(
        [ofOlder, ofYounger, ofBoth].map(async (uploadId) => (await admin.call('GET', `/uploads/${uploadId}`)).status),
      );
    assert.equal((await admin.remove(`/surveys/${id}/respondents/kiosk`)).responses, 1);
    assert.deepEqual(await statuses(), [404, 200, 200]);
    assert.equal((await admin.get(`/responses/${responseId}`)).answers[0].textValue, ofYounger);
    await admin.remove(`/responses/${responseId}`);
    assert.deepEqual(await statuses(), [404, 404, 404]);
  });

  it('gives the seat back that it has at its own collector', async () => {
    const { id } = await admin.create('/surveys', { title: 'Collected', status: 'ACTIVE' });
    const panel = await admin.create(`/surveys/${id}/collectors`, { name: 'Panel' });
    const responseId = randomUUID();
    await use(id, { responseId });
    await use(id, { responseId, collectorId: panel.id });
    await use(id, { responseId: randomUUID(), collectorId: panel.id });
    const counted = async () =>
      (await admin.get(`/surveys/${id}/collectors`)).map((collector: any) => collector.completeResponses);
    assert.deepEqual(await counted(), [1, 2]);
    await admin.remove(`/responses/${responseId}`);
    assert.deepEqual(await counted(), [0, 1]);
  });
});
