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
  /** URL of a service other than AWS, `https://host[:port]`; buckets are then named in the path. */
  endpoint?: string | undefined;
  region: string;
  /** Default: the SDK's own sources (environment, profile, role of the machine). */
  credentials?: { accessKeyId: string; secretAccessKey: string } | undefined;
  /** Prefix of all keys in the bucket. */
  prefix: string;
  log: Log;
}

const connectTimeoutMs = 3000;
/** For the answer to a request, and for silence while bytes flow. */
const requestTimeoutMs = 30_000;
/** The minimum of S3. About two parts of a file are in memory at once. */
const partBytes = 5 * 1024 * 1024;
/** A reader that has not begun by then is taken to have gone away. */
const firstReadTimeoutMs = 15_000;

/**
 * Uploads in a bucket of S3 or of a compatible service. A file of several parts is a multipart upload, so that its key
 * exists only when it is whole. Failures of the service are SERVICE_UNAVAILABLE.
 */
export function createS3Storage({ bucket, endpoint, region, credentials, prefix, log }: S3Options): UploadStorage {
  // Otherwise the SDK prints a notice about Node versions.
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
  const client = new S3Client({
    region,
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    ...(credentials && { credentials }),
    maxAttempts: 3,
    // Other services may not know the newer checksums; bodies are signed by their SHA-256 anyway.
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
    // Not the whole error, which quotes the signed request.
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
    async *list(before, begunBefore) {
      await orUnavailable(() => abortStaleUploads(client, { bucket, prefix, begunBefore }));
      const pages = paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix })[Symbol.asyncIterator]();
      for (
        let page = await orUnavailable(() => pages.next());
        !page.done;
        page = await orUnavailable(() => pages.next())
      )
        for (const { Key, LastModified } of page.value.Contents ?? [])
          if (Key !== undefined && LastModified !== undefined && LastModified < before) yield Key.slice(prefix.length);
    },
    diskSpace: async () => undefined,
    close: () => client.destroy(),
  };
}

/** Counts and hashes the bytes of a stream, and notes whether the source failed. */
function measureStream(bytes: AsyncIterable<Uint8Array>) {
  const hash = createHash('sha256');
  let size = 0;
  let failure: unknown;
  // Errors thrown at a `yield` come from the reader, so only the source's own steps are watched.
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
  // Later errors are thrown to the reader; without a reader they must not be unhandled.
  body.on('error', () => undefined);
  return (async function* () {
    clearTimeout(unreadTimer);
    for await (const piece of body) yield piece as Uint8Array;
  })();
}

/**
 * Removes the parts of interrupted uploads, which cost money. Not every service can list them, and not every key may.
 */
async function abortStaleUploads(
  client: S3Client,
  { bucket, prefix, begunBefore }: { bucket: string; prefix: string; begunBefore: Date },
): Promise<void> {
  const { Uploads = [] } = await client
    .send(new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix }))
    .catch((error: unknown) => {
      if (error instanceof S3ServiceException && (error.$fault === 'client' || error.$metadata.httpStatusCode === 501))
        return { Uploads: [] };
      throw error;
    });
  for (const { Key, UploadId, Initiated } of Uploads)
    if (Key !== undefined && UploadId !== undefined && Initiated !== undefined && Initiated < begunBefore)
      await client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key, UploadId }));
}
