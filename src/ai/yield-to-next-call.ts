import { setTimeout as pause } from 'node:timers/promises';

/** Resolves when another call, of which all is ready, had time to go out. */
export const yieldToNextCall = (): Promise<void> => pause(5);
