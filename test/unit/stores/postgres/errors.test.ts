import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem } from '../../../../src/errors.ts';
import { isUnreachableError } from '../../../../src/stores/connections/probe.ts';
import { withPostgres } from '../../../../src/stores/postgres/client.ts';

const unreachable = [
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ECONNABORTED',
  'EADDRNOTAVAIL',
];
const failure = (code: string) => Object.assign(new Error('refused'), { code });

test('a database that is read-only, or refuses the service since its start, is SERVICE_UNAVAILABLE', async () => {
  for (const code of ['25006', '28P01', '28000', '3D000', 'ECONNREFUSED'])
    await assert.rejects(
      withPostgres(() => Promise.reject(failure(code))),
      (error) => error instanceof Problem && error.code === 'SERVICE_UNAVAILABLE',
      code,
    );
  const wrong = failure('42601');
  await assert.rejects(
    withPostgres(() => Promise.reject(wrong)),
    (error) => error === wrong,
  );
});

test('a database whose name or network is gone is SERVICE_UNAVAILABLE, and waited for at the start', async () => {
  for (const code of unreachable) {
    await assert.rejects(
      withPostgres(() => Promise.reject(failure(code))),
      (error) => error instanceof Problem && error.code === 'SERVICE_UNAVAILABLE',
      code,
    );
    assert.ok(isUnreachableError(failure(code)), code);
  }
});

test('at the start a refused password or database is a wrong setting, and a standby is waited for', () => {
  assert.deepEqual(
    ['28P01', '28000', '3D000', '25006'].map((code) => isUnreachableError(failure(code))),
    [false, false, false, true],
  );
});
