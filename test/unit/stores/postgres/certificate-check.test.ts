import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { TLSSocket } from 'node:tls';
import { createLog } from '../../../../src/log.ts';
import { warnOfUncheckedCertificate } from '../../../../src/stores/postgres/certificate-check.ts';
import { createPostgres } from '../../../../src/stores/postgres/client.ts';
import { foreignCertificate } from '../../../support/foreign-certificate.ts';

const password = 'hidden';
const askForPassword = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]);

describe('a server that poses as PostgreSQL with a certificate of its own', () => {
  let received = '';
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write('S');
      const secured = new TLSSocket(socket, { isServer: true, ...foreignCertificate });
      secured.on('error', () => undefined);
      secured.once('data', () => {
        secured.write(askForPassword);
        secured.once('data', (message) => {
          received = message.toString('latin1');
          secured.destroy();
        });
      });
    });
  });
  const addressWith = (parameters: string): string =>
    `postgres://survey:${password}@localhost:${(server.address() as AddressInfo).port}/survey?${parameters}`;
  before(() => once(server.listen(0, '127.0.0.1'), 'listening'));
  after(() => server.close());

  const getsPassword = async (parameters: string): Promise<boolean> => {
    received = '';
    const sql = createPostgres(addressWith(parameters), { log: createLog('silent'), poolSize: 1 });
    await assert.rejects(sql`SELECT 1`);
    await sql.end({ timeout: 0 });
    return received.includes(password);
  };
  const isWarnedOf = (parameters: string): boolean => {
    const warnings: unknown[] = [];
    warnOfUncheckedCertificate(addressWith(parameters), { warn: (fields: unknown) => void warnings.push(fields) });
    return warnings.length > 0;
  };

  it('gets the password where the start warns of the address, and nowhere else', async () => {
    for (const parameters of ['sslmode=require', 'sslmode=prefer', 'sslmode=allow', 'ssl=require']) {
      assert.equal(isWarnedOf(parameters), true, parameters);
      assert.equal(await getsPassword(parameters), true, parameters);
    }
    for (const parameters of [
      'sslmode=verify-full',
      'sslmode=verify-ca',
      'ssl=true',
      'sslmode=require&sslrootcert=system',
    ]) {
      assert.equal(isWarnedOf(parameters), false, parameters);
      assert.equal(await getsPassword(parameters), false, parameters);
    }
  });

  it('is not warned of where the address asks for no TLS, or there is none', () => {
    assert.deepEqual(['', 'sslmode=disable'].map(isWarnedOf), [false, false]);
  });
});
