import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { freePort } from '../../src/processes/free-port.ts';
import { aroundService } from '../support/around-service.ts';
import { missing, paste, pasteInFolder, readmeLines } from '../support/readme.ts';
import type { RunningService } from '../support/service.ts';

describe('README › Five minutes, and Webhooks', () => {
  let service: RunningService;
  aroundService((served) => ({ service } = served), { env: { WEBHOOK_ALLOW_PRIVATE: 'true' } });

  it('ask, take two responses and count them', { skip: missing('bash', 'curl') }, async () => {
    const [first, second, analytics, crosstab] = await pasteInFolder(readmeLines('Five minutes', service), (stdout) => stdout.trim().split('\n').map((line) => JSON.parse(line)));
    assert.deepEqual([first.success, second.success], [true, true]);
    assert.equal(analytics.data.totalResponses, 2);
    assert.deepEqual(crosstab.data.rows.map(({ text, total }: { text: string; total: number }) => [text, total]), [['Soup', 1], ['Pasta', 1]]);
  });

  it('verify what is sent, show it in a log and send it again', { skip: missing('bash', 'curl') }, async () => {
    // The receiver's packages lie in the project's folder.
    const lines = readmeLines('Webhooks', service).replaceAll('4000', String(await freePort('127.0.0.1', 0)));
    const printed = await paste(lines, { flags: ['-u'] });
    const genuine = [...printed.matchAll(/genuine \S+ (.*)$/gm)].map(([, body = '']) => JSON.parse(body).event);
    // The one for trying is a response.submitted as well.
    assert.deepEqual(genuine.sort(), ['quota.reached', 'response.completed', 'response.completed', 'response.submitted', 'response.submitted', 'response.submitted', 'survey.published']);
    assert.match(printed, /refused /, 'what is not signed');
    assert.match(printed, /"status":"DELIVERED"/);
    assert.doesNotMatch(printed, /"success":false/);
  });
});
