import { statfs } from 'node:fs/promises';

export interface DiskSpace {
  freeBytes: number;
  totalBytes: number;
}

/** Kept free however small the disk is. */
const minReservedBytes = 256 * 1024 * 1024;

export async function diskSpaceOf(folder: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}

/** Whether so many more bytes leave the stores their share of the disk. */
export const leavesReserve = (
  { freeBytes, totalBytes }: DiskSpace,
  { bytes, reservePercent }: { bytes: number; reservePercent: number },
): boolean => freeBytes - bytes >= Math.max(minReservedBytes, (totalBytes * reservePercent) / 100);
