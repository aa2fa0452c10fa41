import { promisify } from 'node:util';
import { deserialize, serialize } from 'node:v8';
import { constants, deflateRaw, inflateRaw } from 'node:zlib';
import type { ResponseRecord } from '../../stores/clickhouse/responses.ts';
import type { ScratchFile } from '../../stores/export-files.ts';

type Batches = AsyncIterable<readonly ResponseRecord[]>;

const [deflate, inflate] = [promisify(deflateRaw), promisify(inflateRaw)];

/** Keeps responses in a file, so that they are the same when they are read again. */
export function createResponseSpool(file: ScratchFile) {
  /** The kept batches have these lengths in bytes. */
  const lengths: number[] = [];
  return {
    /** Gives the batches and keeps them. */
    async *keep(batches: Batches): Batches {
      for await (const batch of batches) {
        const bytes = await deflate(serialize(batch), { level: constants.Z_BEST_SPEED });
        await file.write(bytes);
        lengths.push(bytes.length);
        yield batch;
      }
    },
    /** Gives the kept batches. */
    async *read(): Batches {
      let position = 0;
      for (const length of lengths) {
        const buffer = Buffer.alloc(length);
        await file.read(buffer, position);
        yield deserialize(await inflate(buffer)) as ResponseRecord[];
        position += length;
      }
    },
  };
}
