import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeOpaqueToken } from '../../../../src/auth/opaque-tokens.ts';
import { Problem } from '../../../../src/errors.ts';
import type { Principal } from '../../../../src/http/routing/principal.ts';
import { createRefusalAudit } from '../../../../src/http/routing/refusal-audit.ts';

const principal = { userId: 'ada', keyId: null } as Principal;
const forbidden = {
  problem: new Problem('FORBIDDEN'),
  route: 'POST /users',
  principal,
  authorization: undefined,
  address: '192.0.2.1',
};
const badKey = {
  problem: new Problem('UNAUTHORIZED'),
  route: 'GET /surveys',
  principal: undefined,
  authorization: `Bearer ${makeOpaqueToken('apiKey')}`,
  address: '192.0.2.1',
};

describe('the audit of refusals', () => {
  const open = () => {
    const records: string[] = [];
    let now = 0;
    const audit = createRefusalAudit(
      {
        record: async ({ action, objectId, details }) =>
          void records.push(`${action} ${objectId} ${details?.['address']}`),
      },
      () => now,
    );
    return { audit, records, wait: (ms: number) => (now += ms) };
  };

  it('records a call beyond the rights once a minute for each route and actor', () => {
    const { audit, records, wait } = open();
    for (let n = 0; n < 1000; n += 1) audit(forbidden);
    audit({ ...forbidden, principal: { ...principal, keyId: 'key' } });
    audit({ ...forbidden, route: 'GET /audit' });
    assert.deepEqual(records, [
      'access.refused POST /users 192.0.2.1',
      'access.refused POST /users 192.0.2.1',
      'access.refused GET /audit 192.0.2.1',
    ]);
    wait(60_000);
    audit(forbidden);
    assert.equal(records.length, 4);
  });

  it('records a refused API key once a minute for each address, and never the key', () => {
    const { audit, records } = open();
    audit(badKey);
    audit({ ...badKey, authorization: `bearer ${makeOpaqueToken('apiKey')}` });
    audit({ ...badKey, address: '192.0.2.2' });
    assert.deepEqual(records, ['api-key.refused unknown 192.0.2.1', 'api-key.refused unknown 192.0.2.2']);
  });

  it('records keys of a wrong form, as those that are guessed have', () => {
    const { audit, records } = open();
    const keys = ['sk_guess', 'sk_', `${makeOpaqueToken('apiKey')}x`, 'sk_live_0123 4567'];
    for (const [n, key] of keys.entries())
      audit({ ...badKey, authorization: `Bearer ${key}`, address: `192.0.2.${n + 1}` });
    assert.deepEqual(
      records,
      keys.map((_, n) => `api-key.refused unknown 192.0.2.${n + 1}`),
    );
  });

  it('records nothing of calls without a key, expired sessions and other refusals', () => {
    const { audit, records } = open();
    audit({ ...badKey, authorization: undefined });
    audit({ ...badKey, authorization: 'Bearer abc.def.ghi' });
    audit({ ...forbidden, problem: new Problem('NOT_FOUND') });
    audit({ ...forbidden, principal: undefined });
    assert.deepEqual(records, []);
  });
});
