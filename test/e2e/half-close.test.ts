import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { before, describe, it } from 'node:test';
import type { Client } from '../support/client.ts';
import { whereCorrected } from '../support/engine-correction.ts';
import { eventually } from '../support/eventually.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

const streamsPerUser = 3;

describe('a client that closes its sending half with its request', () => {
  let service: RunningService;
  let admin: Client;
  let surveyId: string;
  useService(
    (served) => {
      ({ service, admin } = served);
    },
    { env: { LIVE_STREAMS_PER_USER: String(streamsPerUser) } },
  );
  before(async () => {
    surveyId = (await admin.create('/surveys', { title: 'Half', status: 'ACTIVE' })).id;
  });

  const open = () => connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true });
  const head = (line: string, headers: Record<string, string>) =>
    `${line} HTTP/1.1\r\nhost: a\r\n${Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}\r\n`;
  const say = async (text: string): Promise<string> => {
    const socket = open();
    let heard = '';
    socket.on('data', (bytes) => {
      heard += bytes.toString();
    });
    socket.end(text);
    await once(socket, 'close');
    return heard;
  };

  it('has its submission accepted and is told so, whatever way it takes', whereCorrected, async () => {
    const body = '{"answers":[]}';
    const line = `POST /api/v1/responses/surveys/${surveyId}/submit`;
    const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };
    for (const way of [headers, { ...headers, 'content-encoding': 'identity' }])
      assert.match(await say(head(line, way) + body), /^HTTP\/1\.1 201 /);
  });

  it('gets what it asks for', whereCorrected, async () => {
    const headers = { authorization: `Bearer ${admin.token}` };
    await eventually(async () => {
      const heard = await say(head(`GET /api/v1/analytics/surveys/${surveyId}`, headers));
      assert.match(heard, /^HTTP\/1\.1 200 [^]*"totalResponses":2/);
    });
  });

  it('takes no place of its user for long, if it asks for a stream of events and is gone', async () => {
    const listen = () => {
      const socket = open().on('error', () => undefined);
      socket.write(head(`GET /api/v1/surveys/${surveyId}/live`, { authorization: `Bearer ${admin.token}` }));
      return socket;
    };
    for (let n = 0; n < 20 * streamsPerUser; n += 1) listen().end().destroySoon();
    await eventually(async () => {
      const socket = listen();
      const [heard] = await once(socket, 'data');
      socket.destroy();
      assert.match(heard.toString(), /^HTTP\/1\.1 200 /);
    }, 60_000);
  });
});
