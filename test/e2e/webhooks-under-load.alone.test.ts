import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { after, before, describe, it } from 'node:test';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import type { RunningService } from '../support/service.ts';
import { type SteadyLoad, startSteadyLoad } from '../support/steady-load.ts';
import { useService } from '../support/use-service.ts';
import { type Receiver, startReceiver } from '../support/webhook-receiver.ts';

const least = 5;
const perSecond = 50;

describe('webhooks while respondents need the machine', () => {
  let service: RunningService;
  let admin: Client;
  let receiver: Receiver;
  let load: SteadyLoad | undefined;
  const others: ChildProcess[] = [];
  const endOthers = () => {
    for (const process of others.splice(0)) process.kill('SIGKILL');
  };
  useService(
    (served) => {
      ({ service, admin } = served);
    },
    { env: { WEBHOOK_ALLOW_PRIVATE: 'true', WEBHOOK_BUSY_REQUESTS_PER_SECOND: String(least) } },
  );
  before(async () => {
    receiver = await startReceiver();
  });
  after(async () => {
    endOthers();
    await load?.stop();
    await receiver.close();
  });

  it('go out at the least pace, and all of them once it is over', async () => {
    const survey = await admin.create('/surveys', { title: 'Told of', status: 'ACTIVE' });
    await admin.create('/webhooks', { url: receiver.url, events: ['response.completed'], surveyId: survey.id });
    // Work of normal priority on every processor.
    for (let n = 0; n < availableParallelism(); n += 1)
      others.push(spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
    const path = `/api/v1/responses/surveys/${survey.id}/submit`;
    load = await startSteadyLoad({ port: service.port, path, body: '{"answers":[]}', perSecond });
    const countFor = async (ms: number) => {
      const before = receiver.received.length;
      await new Promise((resolve) => setTimeout(resolve, ms));
      return receiver.received.length - before;
    };
    // Halved four times a second, so it is at its least by then.
    await eventually(async () => assert.ok((await countFor(1000)) <= 2 * least));
    const sent = await countFor(3000);
    assert.ok(sent <= 3 * 2 * least, `${sent} in three seconds`);
    await eventually(async () => assert.ok((await countFor(1000)) > 0));
    const { statuses } = await load.read();
    await load.stop();
    endOthers();
    const accepted = statuses['201'] ?? 0;
    assert.ok(accepted > receiver.received.length, `${accepted} accepted, ${receiver.received.length} sent`);
    const ids = () => new Set(receiver.received.map(({ id }) => id)).size;
    await eventually(async () => assert.ok(ids() >= accepted), 60_000);
  });
});
