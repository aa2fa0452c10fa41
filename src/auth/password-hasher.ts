import { createWorkerThread } from '../platform/worker-thread.ts';

export interface Argon2Cost {
  /** KiB */
  memoryCost: number;
  timeCost: number;
  parallelism: number;
}

export type HashRequest =
  | { kind: 'hash'; password: string; cost: Argon2Cost }
  | { kind: 'verify'; password: string; stored: string };

/**
 * Computes password hashes one at a time on a low-priority worker thread, so that many sign-ins do not slow down
 * submissions.
 */
export function createPasswordHasher() {
  const { run } = createWorkerThread<HashRequest, string | boolean>({
    script: new URL('./password-thread.js', import.meta.url),
    name: 'the password thread',
  });
  return {
    /** A PHC string. */
    hash: async (password: string, cost: Argon2Cost): Promise<string> =>
      String(await run({ kind: 'hash', password, cost })),
    verify: async (stored: string, password: string): Promise<boolean> =>
      (await run({ kind: 'verify', password, stored })) === true,
  };
}

export type PasswordHasher = ReturnType<typeof createPasswordHasher>;
