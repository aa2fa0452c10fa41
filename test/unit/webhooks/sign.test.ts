import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { newId } from '../../../src/platform/ids.ts';
import { makeSecret, signedHeaders } from '../../../src/webhooks/sign.ts';

describe('webhook signatures', () => {
  const body = JSON.stringify({ event: 'survey.published', text: 'ünïcödé 🙂' });
  // Read when a test runs: while files are loaded, a test of another file may have set the clock.
  let timestamp = 0;
  beforeEach(() => {
    timestamp = Math.floor(Date.now() / 1000);
  });

  it('are accepted by an independent library, with each of several secrets', () => {
    for (let n = 0; n < 200; n += 1) {
      const secrets = [makeSecret(), makeSecret()];
      const text = JSON.stringify({ body, n });
      const headers = signedHeaders({ webhookId: newId(), timestamp, body: text }, secrets);
      for (const secret of secrets) assert.deepEqual(new Webhook(secret).verify(text, headers), { body, n });
    }
  });

  it('are refused with another body, id, time or secret', () => {
    const secret = makeSecret();
    const headers = signedHeaders({ webhookId: newId(), timestamp, body }, [secret]);
    const verifier = new Webhook(secret);
    assert.doesNotThrow(() => verifier.verify(body, headers));
    assert.throws(() => verifier.verify(body.replace('published', 'publishee'), headers));
    assert.throws(() => verifier.verify(body, { ...headers, 'webhook-id': newId() }));
    assert.throws(() => verifier.verify(body, { ...headers, 'webhook-timestamp': String(timestamp + 1) }));
    assert.throws(() => new Webhook(makeSecret()).verify(body, headers));
    const stale = signedHeaders({ webhookId: newId(), timestamp: timestamp - 301, body }, [secret]);
    assert.throws(() => verifier.verify(body, stale));
  });
});
