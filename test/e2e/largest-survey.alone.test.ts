import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { adminClient, type Client } from '../support/client.ts';
import { assertLoopStaysFree, loopBarMs } from '../support/free-loop.ts';
import { createProcessProbe } from '../support/process-probe.ts';
import { type RunningService, startService } from '../support/service.ts';

describe('the largest survey does not block the event loop', () => {
  const probe = createProcessProbe();
  let service: RunningService;
  let admin: Client;
  let id: string;
  const questionIds: string[] = [];
  before(async () => {
    service = await startService({ env: { ...probe.env, WORKERS: '1' } });
    admin = await adminClient(service);
    id = (await admin.create('/surveys', { title: 'Large', status: 'ACTIVE' })).id;
    const options = Array.from({ length: 200 }, (_, n) => ({ text: `<b>Option ${n}</b> ${'x'.repeat(20)}` }));
    for (let status = 201; status === 201; ) {
      const text = `Question ${questionIds.length}? ${'&<>'.repeat(100)}`;
      const reply = await admin.call('POST', `/surveys/${id}/questions`, {
        body: { type: 'CHECKBOXES', text, options },
      });
      status = reply.status;
      if (status === 201) questionIds.push(reply.body.data.id);
    }
    assert.ok(questionIds.length > 50, `${questionIds.length} questions`);
  });
  after(async () => assert.equal(await service?.stop(), 0));

  it('as a page, of which too many at once are put off', async () => {
    const open = async () => {
      const reply = await fetch(`${service.origin}/s/${id}`);
      return { status: reply.status, retryAfter: reply.headers.get('retry-after'), text: await reply.text() };
    };
    const { status, text } = await open();
    assert.equal(status, 200);
    assert.equal(text.match(/type="checkbox"/g)?.length, questionIds.length * 200);
    assert.ok(!text.includes('<b>Option') && text.includes('&lt;b>Option 199'));

    await assertLoopStaysFree(probe, service.pid, { p99Ms: loopBarMs }, async () => {
      for (let n = 0; n < 5; n += 1) assert.equal((await open()).status, 200);
    });

    const many = await Promise.all(Array.from({ length: 60 }, open));
    const putOff = many.filter((reply) => reply.status !== 200);
    assert.ok(putOff.length > 0 && putOff.length < many.length, `${putOff.length} were put off`);
    for (const reply of putOff) assert.deepEqual([reply.status, reply.retryAfter], [503, '5']);
    assert.equal((await open()).status, 200);
  });

  it('while its questions are edited', async () => {
    let edits = 0;
    await assertLoopStaysFree(probe, service.pid, { p99Ms: loopBarMs }, async () => {
      for (let n = 0; n < 20; n += 1) {
        edits += 1;
        await admin.put(`/surveys/questions/${questionIds[n]}`, { text: `Edited ${edits}?` });
      }
    });
  });
});
