import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Problem } from '../../../../src/errors.ts';
import { createLog } from '../../../../src/log.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createDiskStorage } from '../../../../src/stores/uploads/disk.ts';
import { createS3Storage } from '../../../../src/stores/uploads/s3.ts';
import type { UploadStorage } from '../../../../src/stores/uploads/storage.ts';
import { startS3 } from '../../../support/s3-server.ts';

const log = createLog('silent');
const mib = 1024 * 1024;
const inAnHour = () => new Date(Date.now() + 3_600_000);
const problem = (code: string) => (error: unknown) => error instanceof Problem && error.code === code;

async function* inPieces(bytes: Uint8Array, size = 100_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function whole(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

async function listed(storage: UploadStorage, before = inAnHour(), begunBefore = before): Promise<string[]> {
  const ids: string[] = [];
  for await (const id of storage.list(before, begunBefore)) ids.push(id);
  return ids.sort();
}

const kinds = { 'on disk': startDisk, 'in a bucket': startBucket } as const;

async function startDisk() {
  const folder = mkdtempSync(join(tmpdir(), 'survey-uploads-'));
  return { storage: createDiskStorage(folder), stop: () => rmSync(folder, { recursive: true, force: true }) };
}

async function startBucket() {
  const s3 = await startS3();
  return { storage: createS3Storage({ log, ...s3, prefix: 'some/where/' }), stop: () => s3.stop() };
}

for (const [place, start] of Object.entries(kinds))
  describe(`the storage of uploads ${place}`, () => {
    let storage: UploadStorage;
    let stop: () => void;
    before(async () => {
      ({ storage, stop } = await start());
    });
    after(() => {
      storage.close();
      stop();
    });

    for (const [name, size] of [
      ['one byte', 1],
      ['a part less a byte', 5 * mib - 1],
      ['exactly one part', 5 * mib],
      ['several parts', 12 * mib + 7],
    ] as const)
      it(`returns ${name} as it was written, whole and in ranges, until it is removed`, async () => {
        const [id, bytes] = [newId(), randomBytes(size)];
        assert.deepEqual(await storage.write(id, inPieces(bytes)), {
          size,
          sha256: createHash('sha256').update(bytes).digest('hex'),
        });
        assert.ok(bytes.equals(await whole(await storage.read(id, 0, size - 1))));
        const [first, last] = [Math.floor(size / 3), Math.floor(size / 2)];
        assert.ok(bytes.subarray(first, last + 1).equals(await whole(await storage.read(id, first, last))));
        await storage.remove(id);
        await assert.rejects(storage.read(id, 0, 0), problem('NOT_FOUND'));
        await storage.remove(id);
      });

    it('stores nothing if the source fails, early or late', async () => {
      const broken = new Error('the sender has gone');
      for (const size of [1000, 7 * mib]) {
        const source = async function* () {
          yield* inPieces(randomBytes(size));
          throw broken;
        };
        await assert.rejects(storage.write(newId(), source()), broken);
      }
      assert.deepEqual(await listed(storage), []);
    });

    it('lists uploads by age', async () => {
      const ids = [newId(), newId(), newId()];
      for (const id of ids) await storage.write(id, inPieces(Buffer.from(id)));
      assert.deepEqual(await listed(storage), ids);
      assert.deepEqual(await listed(storage, new Date(Date.now() - 60_000)), []);
      for (const id of ids) await storage.remove(id);
      assert.deepEqual(await listed(storage), []);
    });

    it('reads a source no faster than it writes, and a file no faster than its reader', async () => {
      const piece = randomBytes(mib);
      let made = 0;
      const resting = held();
      let highest = resting;
      const source = async function* () {
        for (; made < 100; made += 1) {
          if (made % 10 === 0) highest = Math.max(highest, held());
          yield Buffer.from(piece);
        }
      };
      const id = newId();
      await storage.write(id, source());
      let read = 0;
      for await (const bytes of await storage.read(id, 0, 100 * mib - 1)) {
        const before = read;
        read += bytes.length;
        if (Math.floor(read / (10 * mib)) > Math.floor(before / (10 * mib))) highest = Math.max(highest, held());
      }
      assert.equal(read, 100 * mib);
      assert.ok(highest - resting < 64 * mib, `${Math.round((highest - resting) / mib)} MiB were held of 100`);
    });
  });

/** Bytes in buffers that are still referenced. */
function held(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().arrayBuffers;
}

describe('a bucket', () => {
  it('that cannot be reached is SERVICE_UNAVAILABLE, for writing, reading, removing and listing', async () => {
    const s3 = await startS3();
    const storage = createS3Storage({ log, ...s3, prefix: '' });
    const id = newId();
    await storage.write(id, inPieces(Buffer.from('x')));
    s3.cut();
    try {
      await assert.rejects(storage.write(newId(), inPieces(randomBytes(6 * mib))), problem('SERVICE_UNAVAILABLE'));
      await assert.rejects(storage.read(id, 0, 0), problem('SERVICE_UNAVAILABLE'));
      await assert.rejects(storage.remove(id), problem('SERVICE_UNAVAILABLE'));
      await assert.rejects(listed(storage), problem('SERVICE_UNAVAILABLE'));
    } finally {
      storage.close();
      s3.stop();
    }
  });

  it('that refuses the key is SERVICE_UNAVAILABLE, and no message contains the key', async () => {
    const s3 = await startS3();
    const storage = createS3Storage({
      log,
      ...s3,
      credentials: { accessKeyId: 'STRANGER', secretAccessKey: 'a secret' },
      prefix: '',
    });
    try {
      await assert.rejects(
        storage.write(newId(), inPieces(Buffer.from('x'))),
        (error) => problem('SERVICE_UNAVAILABLE')(error) && !String((error as Error).message).includes('secret'),
      );
    } finally {
      storage.close();
      s3.stop();
    }
  });

  it('removes the parts of dead writers once they are old, and lists more than one page', async () => {
    const wire = await startWire();
    const storage = createS3Storage({
      log,
      bucket: 'files',
      endpoint: wire.endpoint,
      region: 'eu-central-1',
      credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
      prefix: 'up/',
    });
    try {
      assert.deepEqual(await listed(storage, new Date('2026-01-02T00:00:00Z')), ['one', 'two']);
      assert.deepEqual(wire.aborted, ['/files/up/dead?uploadId=old']);
    } finally {
      storage.close();
      wire.stop();
    }
  });

  it('leaves the parts of an upload that may still be under way, however soon files are old', async () => {
    const wire = await startWire();
    const storage = createS3Storage({
      log,
      bucket: 'files',
      endpoint: wire.endpoint,
      region: 'eu-central-1',
      credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
      prefix: 'up/',
    });
    try {
      await listed(storage, new Date('2026-01-03T01:00:00Z'), new Date('2026-01-02T01:01:00Z'));
      assert.deepEqual(wire.aborted, ['/files/up/dead?uploadId=old']);
    } finally {
      storage.close();
      wire.stop();
    }
  });

  /** Replies as S3 gives them to the calls that the server of the other tests does not know. */
  async function startWire() {
    const aborted: string[] = [];
    const namespace = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"';
    const item = (key: string, at: string) =>
      `<Contents><Key>${key}</Key><LastModified>${at}</LastModified><Size>1</Size></Contents>`;
    const upload = (key: string, id: string, at: string) =>
      `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${at}</Initiated></Upload>`;
    const server = createServer((request, reply) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
      reply.setHeader('content-type', 'application/xml');
      if (request.method === 'DELETE') {
        aborted.push(`${pathname}?uploadId=${searchParams.get('uploadId')}`);
        reply.writeHead(204).end();
      } else if (searchParams.has('uploads')) {
        reply.end(
          `<ListMultipartUploadsResult ${namespace}><Bucket>files</Bucket>${upload('up/dead', 'old', '2026-01-01T00:00:00.000Z')}${upload('up/alive', 'new', '2026-01-03T00:00:00.000Z')}</ListMultipartUploadsResult>`,
        );
      } else if (searchParams.get('continuation-token') === 'more') {
        reply.end(
          `<ListBucketResult ${namespace}><Name>files</Name><IsTruncated>false</IsTruncated>${item('up/two', '2026-01-01T00:00:00.000Z')}</ListBucketResult>`,
        );
      } else {
        const page = item('up/one', '2026-01-01T00:00:00.000Z') + item('up/fresh', '2026-01-02T00:00:01.000Z');
        reply.end(
          `<ListBucketResult ${namespace}><Name>files</Name><IsTruncated>true</IsTruncated><NextContinuationToken>more</NextContinuationToken>${page}</ListBucketResult>`,
        );
      }
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const stop = () => {
      server.closeAllConnections();
      server.close();
    };
    return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, aborted, stop };
  }
});
