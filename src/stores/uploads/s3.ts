import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  paginateListObjectsV2,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { notFound, unavailable } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { StoredBytes, UploadStorage } from './storage.ts';

export interface S3Options {
  bucket: string;
  /** Of another service than AWS: `https://host[:port]`; buckets are then named in the path. */
  endpoint?: string | undefined;
  region: string;
  /** Left out: the SDK's own chain of sources (environment, profile, role of the machine). */
  credentials?: { accessKeyId: string; secretAccessKey: string } | undefined;
  /** Of all keys in the bucket. */
  prefix: string;
  log: Log;
}

const connectTimeoutMs = 3000;
/** For one request's answer, and the longest silence while bytes flow. */
const requestTimeoutMs = 30_000;
/** The smallest that S3 takes: this much of a file is in memory at once, as a part and as what follows it. */
const partBytes = 5 * 1024 * 1024;
/** Whoever asked for a file but never began to read it has gone away. */
const firstReadTimeoutMs = 15_000;

/**
 * Uploads in a bucket of S3 or of a service that speaks its protocol. A file of more than one part is a multipart upload: under its key
 * there is nothing until it is whole. Whatever the service fails at is SERVICE_UNAVAILABLE.
 */
export function createS3Storage({ bucket, endpoint, region, credentials, prefix, log }: S3Options): UploadStorage {
  // Else it writes a notice about Node versions among the log lines.
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
  const client = new S3Client({
    region,
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    ...(credentials && { credentials }),
    maxAttempts: 3,
    // Services other than AWS need not know the newer checksums; bodies are signed by their SHA-256 all the same.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: connectTimeoutMs,
      requestTimeout: requestTimeoutMs,
      throwOnRequestTimeout: true,
      socketTimeout: requestTimeoutMs,
    },
  });
  const objectKeyOf = (id: string) => ({ Bucket: bucket, Key: `${prefix}${id}` });
  const toProblem = (error: unknown): Error => {
    if (error instanceof S3ServiceException && error.name === 'NoSuchKey') return notFound('file');
    // Not the whole error: it quotes what was signed.
    log.warn(
      { bucket, reason: error instanceof Error ? `${error.name}: ${error.message}` : String(error) },
      'the storage of uploads failed',
    );
    return unavailable('The storage of uploads cannot be reached right now', 5, error);
  };
  const orUnavailable = async <T>(step: () => Promise<T>): Promise<T> => {
    try {
      return await step();
    } catch (error) {
      throw toProblem(error);
    }
  };
  return {
    async write(id, bytes) {
      const source = measureStream(bytes);
      const upload = new Upload({
        client,
        params: { ...objectKeyOf(id), Body: Readable.from(source.bytes, { objectMode: false }) },
        partSize: partBytes,
        queueSize: 1,
      });
      try {
        await upload.done();
      } catch (error) {
        throw source.failure() ?? toProblem(error);
      }
      return source.measure();
    },
    read: (id, first, last) =>
      orUnavailable(async () =>
        readBody(await client.send(new GetObjectCommand({ ...objectKeyOf(id), Range: `bytes=${first}-${last}` }))),
      ),
    remove: (id) => orUnavailable(async () => void (await client.send(new DeleteObjectCommand(objectKeyOf(id))))),
    async *list(before) {
      await orUnavailable(() => abortStaleUploads(client, { bucket, prefix, before }));
      const pages = paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix })[Symbol.asyncIterator]();
      for (
        let page = await orUnavailable(() => pages.next());
        !page.done;
        page = await orUnavailable(() => pages.next())
      )
        for (const { Key, LastModified } of page.value.Contents ?? [])
          if (Key !== undefined && LastModified !== undefined && LastModified < before) yield Key.slice(prefix.length);
    },
    freeBytes: async () => undefined,
    close: () => client.destroy(),
  };
}

/** The same bytes, measured on their way; knows whether the source itself failed. */
function measureStream(bytes: AsyncIterable<Uint8Array>) {
  const hash = createHash('sha256');
  let size = 0;
  let failure: unknown;
  // What is thrown at a `yield` comes from the reader, so only the source's own step is watched.
  const step = (pieces: AsyncIterator<Uint8Array>) =>
    pieces.next().catch((error: unknown) => {
      failure = error;
      throw error;
    });
  return {
    bytes: (async function* () {
      const pieces = bytes[Symbol.asyncIterator]();
      try {
        for (let next = await step(pieces); !next.done; next = await step(pieces)) {
          hash.update(next.value);
          size += next.value.length;
          yield next.value;
        }
      } finally {
        await pieces.return?.();
      }
    })(),
    failure: () => failure,
    measure: (): StoredBytes => ({ size, sha256: hash.digest('hex') }),
  };
}

function readBody({ Body: body }: { Body?: unknown }): AsyncIterable<Uint8Array> {
  if (!(body instanceof Readable)) throw new Error('a file without a body');
  const unreadTimer = setTimeout(() => body.destroy(), firstReadTimeoutMs);
  unreadTimer.unref();
  // What breaks later is thrown where the pieces are read; unread, nobody else would hear of it.
  body.on('error', () => undefined);
  return (async function* () {
    clearTimeout(unreadTimer);
    for await (const piece of body) yield piece as Uint8Array;
  })();
}

/** Parts of writers that died cost money until somebody takes them away. Not every service can list them, and not every key may. */
async function abortStaleUploads(
  client: S3Client,
  { bucket, prefix, before }: { bucket: string; prefix: string; before: Date },
): Promise<void> {
  const { Uploads = [] } = await client
    .send(new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix }))
    .catch((error: unknown) => {
      if (error instanceof S3ServiceException && (error.$fault === 'client' || error.$metadata.httpStatusCode === 501))
        return { Uploads: [] };
      throw error;
    });
  for (const { Key, UploadId, Initiated } of Uploads)
    if (Key !== undefined && UploadId !== undefined && Initiated !== undefined && Initiated < before)
      await client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key, UploadId }));
}
