import assert from 'node:assert/strict';
import { it } from 'node:test';
import { adminClient } from '../support/client.ts';
import { assertLoopStaysFree, loopBarMs } from '../support/free-loop.ts';
import { createProcessProbe } from '../support/process-probe.ts';
import { startService } from '../support/service.ts';

it('the page of the largest survey does not block the event loop, and too many at once are put off', async () => {
  const probe = createProcessProbe();
  const service = await startService({ env: { ...probe.env, WORKERS: '1' } });
  try {
    const admin = await adminClient(service);
    const { id } = await admin.create('/surveys', { title: 'Large', status: 'ACTIVE' });
    const options = Array.from({ length: 200 }, (_, n) => ({ text: `<b>Option ${n}</b> ${'x'.repeat(20)}` }));
    let questions = 0;
    for (let status = 201; status === 201; questions += status === 201 ? 1 : 0)
      ({ status } = await admin.call('POST', `/surveys/${id}/questions`, {
        body: { type: 'CHECKBOXES', text: `Question ${questions}? ${'&<>'.repeat(100)}`, options },
      }));
    assert.ok(questions > 50, `${questions} questions`);

    const open = async () => {
      const reply = await fetch(`${service.origin}/s/${id}`);
      return { status: reply.status, retryAfter: reply.headers.get('retry-after'), text: await reply.text() };
    };
    const { status, text } = await open();
    assert.equal(status, 200);
    assert.equal(text.match(/type="checkbox"/g)?.length, questions * 200);
    assert.ok(!text.includes('<b>Option') && text.includes('&lt;b>Option 199'));

    await assertLoopStaysFree(probe, service.pid, { p99Ms: loopBarMs }, async () => {
      for (let n = 0; n < 5; n += 1) assert.equal((await open()).status, 200);
    });

    const many = await Promise.all(Array.from({ length: 60 }, open));
    const putOff = many.filter((reply) => reply.status !== 200);
    assert.ok(putOff.length > 0 && putOff.length < many.length, `${putOff.length} were put off`);
    for (const reply of putOff) assert.deepEqual([reply.status, reply.retryAfter], [503, '5']);
    assert.equal((await open()).status, 200);
  } finally {
    assert.equal(await service.stop(), 0);
  }
});
