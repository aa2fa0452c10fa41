import type { Shard } from './shards.ts';

/** Where the deletions of a short while ago are noted: of each response under the id the moment at which it was submitted, with commas. */
export const deletionKey = (shard: Shard, responseId: string): string => `${shard.prefix}removed:${responseId}`;

/** Whether the response that was submitted at this moment is among them. */
export function isDeletionNoted(noted: string | null | undefined, submittedAtMs: number): boolean {
  const moments = noted?.split(',') ?? [];
  // A former version did not say which one.
  return moments.includes(String(submittedAtMs)) || moments.includes('1');
}
