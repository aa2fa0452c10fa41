import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { missing, paste, tourOf } from '../support/documents.ts';
import type { RunningService } from '../support/service.ts';
import { quietPort } from '../support/switchable-proxy.ts';
import { useService } from '../support/use-service.ts';

describe('docs/guide/webhooks.md', () => {
  let service: RunningService;
  useService(
    (served) => {
      ({ service } = served);
    },
    { env: { WEBHOOK_ALLOW_PRIVATE: 'true' } },
  );

  it('its tour verifies the signatures, shows the deliveries and sends them again', {
    skip: missing('bash', 'curl'),
  }, async () => {
    // The receiver's packages are installed in the project's folder.
    const lines = tourOf('docs/guide/webhooks.md', service).replaceAll(
      /(?<=127\.0\.0\.1:|listen\()4000\b/g,
      String(await quietPort()),
    );
    const printed = await paste(lines, { flags: ['-u'] });
    const genuine = [...printed.matchAll(/genuine \S+ (.*)$/gm)].map(([, body = '']) => JSON.parse(body).event);
    // The test event is a response.submitted as well.
    assert.deepEqual(genuine.sort(), [
      'quota.reached',
      'response.completed',
      'response.completed',
      'response.submitted',
      'response.submitted',
      'response.submitted',
      'survey.published',
    ]);
    assert.match(printed, /refused /, 'the unsigned request');
    assert.match(printed, /"status":"DELIVERED"/);
    assert.doesNotMatch(printed, /"success":false/);
  });
});
