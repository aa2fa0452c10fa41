import type { DiskSpace } from '../../platform/disk-space.ts';

/** Storage of uploaded files. A file is stored whole or not at all. An unreachable storage is SERVICE_UNAVAILABLE. */
export interface UploadStorage {
  /** Stores the bytes as they arrive, with few pieces in memory. If the source throws, nothing is stored. */
  write(id: string, bytes: AsyncIterable<Uint8Array>): Promise<StoredBytes>;
  /** The bytes from `first` to `last`, both inclusive. Throws NOT_FOUND if the file does not exist. */
  read(id: string, first: number, last: number): Promise<AsyncIterable<Uint8Array>>;
  /** Removes the file if it exists. */
  remove(id: string): Promise<void>;
  /**
   * Ids of files written before that moment. May also remove remains of interrupted writes; one that was begun after
   * `begunBefore` may still be under way.
   */
  list(before: Date, begunBefore: Date): AsyncIterable<string>;
  /** Space of the disk in bytes; undefined if there is no limit. */
  diskSpace(): Promise<DiskSpace | undefined>;
  close(): void;
}

export interface StoredBytes {
  size: number;
  /** In lower-case hexadecimal. */
  sha256: string;
}
