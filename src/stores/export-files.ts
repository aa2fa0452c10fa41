import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, link, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PermanentFailure } from '../errors.ts';
import { diskSpaceOf, leavesReserve } from '../platform/disk-space.ts';
import { isId } from '../platform/ids.ts';
import { syncFolder } from '../platform/sync-folder.ts';

/** Receives a file's bytes. `write` resolves when they are written, so that a writer never runs ahead of the disk. */
export interface FileSink {
  write(bytes: Uint8Array): Promise<void>;
}

/** A file without a name; `read` fills the whole buffer from a position, or throws. */
export interface ScratchFile extends FileSink {
  read(buffer: Buffer, position: number): Promise<void>;
}

export interface StoredFile {
  fileSize: number;
  /** SHA-256 of the file in lower-case hex. */
  sha256: string;
}

/** A file under its temporary name. */
interface Part {
  file: FileHandle;
  partPath: string;
}

const partSuffix = '.part';
const staleMs = 3_600_000;
/** How much is written between two looks at the disk. */
const bytesBetweenLooks = 16 * 1024 * 1024;

/**
 * Export files in a folder of the data directory. A file is written under a temporary name and renamed when it is
 * complete and synced. The final name never holds half a file, and never changes its content. Writing fails for good
 * where the disk has less left than the stores' share.
 */
export function createExportFiles(
  dataDir: string,
  { diskReservePercent = 0, spaceOf = diskSpaceOf }: { diskReservePercent?: number; spaceOf?: typeof diskSpaceOf } = {},
) {
  const folder = join(dataDir, 'exports');
  const path = (id: string) => join(folder, id);
  /** Removes what writers of this file have begun: those that died, as one that still writes then takes what is there. */
  const removeParts = async (id: string): Promise<void> => {
    for (const name of await readdir(folder).catch(() => []))
      if (name.startsWith(`${id}.`) && name.endsWith(partSuffix)) await rm(join(folder, name), { force: true });
  };
  const assertRoom = async (): Promise<void> => {
    if (!leavesReserve(await spaceOf(folder), { bytes: 0, reservePercent: diskReservePercent }))
      throw new PermanentFailure('There is no room on the disk for files right now');
  };
  const prepareFolder = async (): Promise<void> => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await assertRoom();
  };
  /** Makes an empty file that is to become this one, or is needed for it. */
  const createPart = async (id: string): Promise<Part> => {
    const partPath = `${path(id)}.${randomBytes(6).toString('hex')}${partSuffix}`;
    return { file: await open(partPath, 'wx+', 0o600), partPath };
  };
  /** Makes what appends bytes to a file, and looks at the disk from time to time. */
  const createAppend = (openFile: () => Promise<FileHandle>) => {
    let written = 0;
    return async (bytes: Uint8Array): Promise<void> => {
      if ((written % bytesBetweenLooks) + bytes.length >= bytesBetweenLooks) await assertRoom();
      written += bytes.length;
      const file = await openFile();
      await file.writeFile(bytes);
    };
  };
  return {
    path,

    /**
     * Writes a file; nothing remains if `writeContent` throws. If the file exists already, it stays, and the result
     * describes it, because another run may have recorded its size and hash.
     */
    async write(id: string, writeContent: (sink: FileSink) => Promise<void>): Promise<StoredFile> {
      await prepareFolder();
      let part: Promise<Part> | undefined;
      // Only with the first byte: a writer may read for hours before it, and an old file seems to be of a dead one.
      const openPart = () => (part ??= createPart(id));
      const append = createAppend(async () => (await openPart()).file);
      const hash = createHash('sha256');
      let fileSize = 0;
      try {
        await writeContent({
          async write(bytes) {
            hash.update(bytes);
            fileSize += bytes.length;
            await append(bytes);
          },
        });
        const { file, partPath } = await openPart();
        await file.sync();
        await file.close();
        const isFirst = await linkIfAbsent(partPath, path(id));
        await removeParts(id);
        await syncFolder(folder);
        if (!isFirst) return await measureFile(path(id));
      } catch (error) {
        const begun = await part?.catch(() => undefined);
        if (begun) {
          await begun.file.close().catch(() => undefined);
          await rm(begun.partPath, { force: true });
        }
        throw error;
      }
      return { fileSize, sha256: hash.digest('hex') };
    },

    /** Opens a file without a name for what a writer reads again; it is gone when `use` or the process has ended. */
    async withScratchFile<Result>(id: string, use: (file: ScratchFile) => Promise<Result>): Promise<Result> {
      await prepareFolder();
      const { file, partPath } = await createPart(id);
      try {
        await rm(partPath, { force: true });
        return await use({
          write: createAppend(async () => file),
          async read(buffer, position) {
            for (let read = 0; read < buffer.length; ) {
              const { bytesRead } = await file.read(buffer, read, buffer.length - read, position + read);
              if (bytesRead === 0) throw new Error('a file ended too early');
              read += bytesRead;
            }
          },
        });
      } finally {
        await file.close();
      }
    },

    /** The size in bytes, or undefined if there is no file. */
    size: async (id: string): Promise<number | undefined> =>
      stat(path(id)).then(
        (found) => found.size,
        () => undefined,
      ),

    /** Removes the file and what is written of it. */
    async remove(id: string): Promise<void> {
      await rm(path(id), { force: true });
      await removeParts(id);
    },

    /** Ids of all complete files. Removes temporary files that nobody has written to for more than an hour. */
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

/** Renames a file unless the name exists; returns whether it did. Atomic on file systems with hard links. */
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
