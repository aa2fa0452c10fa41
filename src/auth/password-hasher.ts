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
 * Computes password hashes one after the other on a thread of its own, which the system runs after everything else that is ready: a
 * flood of sign-ins takes the time that submissions leave.
 */
export function createPasswordHasher() {
  const { run } = createWorkerThread<HashRequest, string | boolean>({
    script: new URL('./password-thread.js', import.meta.url),
    name: 'the thread for passwords',
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
