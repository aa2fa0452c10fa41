import assert from 'node:assert/strict';
import { it } from 'node:test';
import { adminClient } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { assertLoopStaysFree, loopBarMs } from '../support/free-loop.ts';
import { createProcessProbe } from '../support/process-probe.ts';
import { startService } from '../support/service.ts';

const optionsOf = (count: number) => Array.from({ length: count }, (_, n) => ({ text: `Option ${n}` }));

it('a crosstab of 200 × 200 options does not block the event loop, and a banner of such columns is refused', async () => {
  const probe = createProcessProbe();
  const service = await startService({ env: probe.env });
  try {
    const admin = await adminClient(service);
    const { id } = await admin.create('/surveys', { title: 'Wide', status: 'ACTIVE' });
    const [one, other] = await Promise.all(
      ['One?', 'Other?'].map((text) =>
        admin.create(`/surveys/${id}/questions`, { type: 'CHECKBOXES', text, options: optionsOf(200) }),
      ),
    );
    const all = [one, other].flatMap((question) =>
      question.options.map((option: { id: string }) => ({ questionId: question.id, optionId: option.id })),
    );
    for (let n = 0; n < 3; n += 1) assert.equal((await admin.submit(id, { answers: all })).status, 201);
    const path = `/analytics/surveys/${id}/crosstab`;
    const body = { questionId1: one.id, questionId2: other.id };
    const ask = async () => {
      const { cells, total } = await admin.post(path, body);
      assert.deepEqual([cells.length, cells[0].length], [200, 200]);
      return { total, last: cells[199][199].count };
    };
    await eventually(async () => assert.deepEqual(await ask(), { total: 3, last: 3 }));
    for (let n = 0; n < 5; n += 1) await ask();
    await assertLoopStaysFree(probe, service.pid, { p99Ms: loopBarMs }, async () => {
      for (let n = 0; n < 20; n += 1) await ask();
    });

    const wide = await admin.call('POST', path, { body: { ...body, banner: [other.id] } });
    assert.deepEqual([wide.status, wide.body.details[0].path], [400, 'banner']);
    assert.match(wide.body.details[0].message, /a table can have 50000 cells at most/);
  } finally {
    assert.equal(await service.stop(), 0);
  }
});
