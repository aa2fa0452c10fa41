import type { ResponseErasureDeps } from '../../src/actors/erasure/erasure.ts';

/** A call that does nothing. */
export const nothing = async () => undefined as never;

/** Stores that hold nothing, for what a test of erasure does not look at. */
export const emptyStoresAt = (nowMs: number) =>
  ({
    responses: {
      findMarkedForDeletion: async () => [],
      findUses: async () => [],
      findAll: async () => [],
      wasDeleted: async () => false,
    },
    reading: { caughtUp: nothing },
    uploads: { removeOfResponse: nothing },
    uploadRows: { markUnverified: async () => [] },
    annotations: { removeOfResponses: nothing },
    exports: { invalidate: async () => [], limitExpiry: nothing },
    audit: { record: nothing },
    now: () => nowMs,
  }) satisfies Partial<ResponseErasureDeps>;
