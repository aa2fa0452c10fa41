import type { Shard } from './shards.ts';

/**
 * Key of the recent deletions of a response id: the submission times, in Unix milliseconds joined by commas, of the
 * deleted responses that had this id.
 */
export const deletionKey = (shard: Shard, responseId: string): string => `${shard.prefix}removed:${responseId}`;

/** Whether the value of `deletionKey` includes the response that was submitted at this time. */
export function includesDeletion(deletions: string | null | undefined, submittedAtMs: number): boolean {
  const times = deletions?.split(',') ?? [];
  // Earlier versions stored '1' instead of times.
  return times.includes(String(submittedAtMs)) || times.includes('1');
}
