import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Client } from '../support/client.ts';
import { useService } from '../support/use-service.ts';

let admin: Client;
useService((served) => {
  ({ admin } = served);
});

describe('a survey that grows', () => {
  it('takes no further questions beyond 2 MiB, but can be answered and made smaller', async () => {
    const { id } = await admin.create('/surveys', { title: 'Growing', status: 'ACTIVE' });
    const body = {
      type: 'DROPDOWN',
      text: 'Which?',
      options: Array.from({ length: 200 }, (_, n) => ({ text: 'я'.repeat(500), value: `v${n}` })),
    };
    const replies = [];
    for (let n = 0; n < 11; n += 1) replies.push(await admin.call('POST', `/surveys/${id}/questions`, { body }));
    const refused = replies.filter(({ status }) => status !== 201);
    assert.ok(refused.length > 0 && replies[0]?.status === 201);
    for (const { status, body: said } of refused)
      assert.deepEqual([status, said.code, said.details[0].path], [400, 'VALIDATION_ERROR', '']);
    const { questions, version } = await admin.get(`/surveys/${id}`);
    assert.equal(questions.length, 11 - refused.length);
    assert.equal(version, 1 + questions.length);
    assert.equal(
      (await admin.submit(id, { answers: [{ questionId: questions[0].id, optionId: questions[0].options[0].id }] }))
        .status,
      201,
    );
    await admin.put(`/surveys/questions/${questions[1].id}`, {
      options: questions[1].options.map((option: any) => ({ ...option, text: 'short' })),
    });
    assert.equal(
      (await admin.call('POST', `/surveys/${id}/questions`, { body: { type: 'NPS', text: 'Well?' } })).status,
      201,
    );
  });
});
