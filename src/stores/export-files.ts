import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { link, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isId } from '../platform/ids.ts';

/** Where a writer puts its bytes. Resolves when there is room for more, so that a writer never runs ahead of the disk. */
export interface FileSink {
  write(bytes: Uint8Array): Promise<void>;
}

export interface StoredFile {
  fileSize: number;
  /** Of its bytes, in lower-case hex. */
  sha256: string;
}

const partSuffix = '.part';
const staleMs = 3_600_000;

/**
 * Export files in a folder of the data directory. A file is written under a name of its own and gets its real one when it is whole and on
 * disk: under that there is never half a file, nor ever another one than the first.
 */
export function createExportFiles(dataDir: string) {
  const folder = join(dataDir, 'exports');
  const path = (id: string) => join(folder, id);
  return {
    path,

    /**
     * Writes a whole file; what `fill` throws leaves nothing behind. A file that is there stays, and is the one that is told of: another
     * run may have said of it what it is, or be about to.
     */
    async write(id: string, writeContent: (sink: FileSink) => Promise<void>): Promise<StoredFile> {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const partPath = `${path(id)}.${randomBytes(6).toString('hex')}${partSuffix}`;
      const file = await open(partPath, 'wx', 0o600);
      const hash = createHash('sha256');
      let fileSize = 0;
      try {
        await writeContent({
          async write(bytes) {
            hash.update(bytes);
            fileSize += bytes.length;
            for (let rest = bytes; rest.length > 0; ) rest = rest.subarray((await file.write(rest)).bytesWritten);
          },
        });
        await file.sync();
        await file.close();
        const isFirst = await linkIfAbsent(partPath, path(id));
        await syncFolder(folder);
        if (!isFirst) return await measureFile(path(id));
      } catch (error) {
        await file.close().catch(() => undefined);
        await rm(partPath, { force: true });
        throw error;
      }
      return { fileSize, sha256: hash.digest('hex') };
    },

    /** Its size, or undefined when it is not there. */
    size: async (id: string): Promise<number | undefined> =>
      stat(path(id)).then(
        (found) => found.size,
        () => undefined,
      ),

    remove: (id: string): Promise<void> => rm(path(id), { force: true }),

    /** Ids of all files there, whatever else lies beside them. Removes what writers that died have left. */
    async list(nowMs: number): Promise<string[]> {
      const names = await readdir(folder).catch(() => []);
      const isStale = async (name: string) =>
        nowMs - ((await stat(path(name)).catch(() => undefined))?.mtimeMs ?? nowMs) > staleMs;
      for (const name of names)
        if (name.endsWith(partSuffix) && (await isStale(name))) await rm(path(name), { force: true });
      return names.filter(isId);
    },
  };
}

export type ExportFiles = ReturnType<typeof createExportFiles>;

/** Gives a file its real name, and says whether nobody had it before. Atomic where the disk knows hard links. */
async function linkIfAbsent(partPath: string, path: string): Promise<boolean> {
  try {
    await link(partPath, path);
  } catch {
    const isThere = await stat(path).then(
      () => true,
      () => false,
    );
    if (!isThere) await rename(partPath, path);
    return !isThere;
  } finally {
    await rm(partPath, { force: true });
  }
  return true;
}

async function measureFile(path: string): Promise<StoredFile> {
  const hash = createHash('sha256');
  let fileSize = 0;
  for await (const bytes of createReadStream(path)) {
    hash.update(bytes);
    fileSize += bytes.length;
  }
  return { fileSize, sha256: hash.digest('hex') };
}

/** The name itself must survive a power cut. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
