import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver from '@20minutes/s3rver';

/**
 * An S3 server on a free loopback port with one bucket. It knows its keys but not how the SDK signs calls on a whole
 * bucket, so it does not insist on signatures.
 */
export async function startS3() {
  const directory = mkdtempSync(join(tmpdir(), 'survey-s3-'));
  const bucket = 'files';
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    vhostBuckets: false,
    allowMismatchedSignatures: true,
    configureBuckets: [{ name: bucket }],
  });
  const { port } = await server.run();
  let isOpen = true;
  const cut = () => {
    if (!isOpen) return;
    isOpen = false;
    server.httpServer.closeAllConnections();
    server.httpServer.close();
  };
  const endpoint = `http://127.0.0.1:${port}`;
  return {
    bucket,
    endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
    env: {
      UPLOAD_S3_BUCKET: bucket,
      UPLOAD_S3_ENDPOINT: endpoint,
      UPLOAD_S3_ACCESS_KEY_ID: 'S3RVER',
      UPLOAD_S3_SECRET_ACCESS_KEY: 'S3RVER',
    },
    /** Ends it, its files stay. */
    cut,
    stop(): void {
      cut();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export type S3 = Awaited<ReturnType<typeof startS3>>;
