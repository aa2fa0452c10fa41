import { createHash, randomBytes } from 'node:crypto';
import { access, mkdir, open, opendir, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { notFound } from '../../errors.ts';
import { diskSpaceOf } from '../../platform/disk-space.ts';
import { readFileRange } from '../../platform/file-range.ts';
import { isId } from '../../platform/ids.ts';
import { syncFolder } from '../../platform/sync-folder.ts';
import { SettingsError } from '../../settings/settings.ts';
import type { UploadStorage } from './storage.ts';

const partSuffix = '.part';

const folderOfUploads = (dataDir: string): string => join(dataDir, 'uploads');

/**
 * Refuses a bucket while files of uploads lie in DATA_DIR: they could not be read there any more, and an erasure would
 * leave them.
 */
export async function refuseUploadsOnDisk(dataDir: string): Promise<void> {
  const root = folderOfUploads(dataDir);
  const names = await readdir(root, { recursive: true }).catch(() => []);
  const files = names.filter((name) => isId(basename(name))).length;
  if (files > 0)
    throw new SettingsError(
      `UPLOAD_S3_BUCKET is set, but ${root} holds ${files} uploaded files: copy them to the bucket as docs/operating.md says (Move uploads to a bucket), and move the folder away`,
    );
}

/**
 * Uploads in DATA_DIR, in 256 folders by the last two digits of the id. A file is written under a temporary name,
 * synced and renamed, so that it is never partial under its own name.
 */
export function createDiskStorage(dataDir: string): UploadStorage {
  const root = folderOfUploads(dataDir);
  const folderOf = (id: string) => join(root, id.slice(-2));
  const pathOf = (id: string) => join(folderOf(id), id);
  return {
    async write(id, bytes) {
      await mkdir(folderOf(id), { recursive: true, mode: 0o700 });
      const partPath = `${pathOf(id)}.${randomBytes(6).toString('hex')}${partSuffix}`;
      try {
        const stored = await writePart(partPath, bytes);
        await rename(partPath, pathOf(id));
        await syncFolder(folderOf(id));
        return stored;
      } catch (error) {
        await rm(partPath, { force: true });
        throw error;
      }
    },
    async read(id, first, last) {
      await access(pathOf(id)).catch(() => {
        throw notFound('file');
      });
      return readFileRange(pathOf(id), first, last);
    },
    remove: (id) => rm(pathOf(id), { force: true }),
    list: (before) => listOld(root, before),
    async diskSpace() {
      await mkdir(root, { recursive: true, mode: 0o700 });
      return diskSpaceOf(root);
    },
    close: () => undefined,
  };
}

async function writePart(path: string, bytes: AsyncIterable<Uint8Array>) {
  const file = await open(path, 'wx', 0o600);
  try {
    const hash = createHash('sha256');
    let size = 0;
    for await (const piece of bytes) {
      hash.update(piece);
      size += piece.length;
      await file.writeFile(piece);
    }
    await file.sync();
    return { size, sha256: hash.digest('hex') };
  } finally {
    await file.close();
  }
}

async function* listOld(root: string, before: Date): AsyncGenerator<string> {
  const folders = await opendir(root).catch(() => undefined);
  if (!folders) return;
  for await (const folder of folders) {
    if (!folder.isDirectory()) continue;
    for await (const file of await opendir(join(root, folder.name))) {
      const path = join(root, folder.name, file.name);
      const found = await stat(path).catch(() => undefined);
      if (!found || found.mtime >= before) continue;
      if (file.name.endsWith(partSuffix)) await rm(path, { force: true });
      else yield file.name;
    }
  }
}
