/** Where the bytes of uploads lie. What is written is there whole or not at all. A storage that cannot be reached is SERVICE_UNAVAILABLE. */
export interface UploadStorage {
  /** Takes the bytes as they come, holding no more than a few pieces at once. What the source throws leaves nothing behind. */
  write(id: string, bytes: AsyncIterable<Uint8Array>): Promise<StoredBytes>;
  /** The bytes from `first` to `last`, both included, as they are asked for. NOT_FOUND when it is not there. */
  read(id: string, first: number, last: number): Promise<AsyncIterable<Uint8Array>>;
  /** Does nothing when it is not there. */
  remove(id: string): Promise<void>;
  /** Ids of what was written before that moment. May also remove what writers that died have left. */
  list(before: Date): AsyncIterable<string>;
  /** Bytes that can still be written; undefined where there is no such bound. */
  freeBytes(): Promise<number | undefined>;
  close(): void;
}

export interface StoredBytes {
  size: number;
  /** In lower-case hex. */
  sha256: string;
}
