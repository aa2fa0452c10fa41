import { createHash, randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { failingWith } from './errors.ts';

export const ticketSeconds = 60;

const keyOf = (ticket: string): string => `live:ticket:${createHash('sha256').update(ticket).digest('base64url')}`;
const ticketPattern = /^[A-Za-z0-9_-]{43}$/;
const orUnavailable = failingWith('Tickets cannot be kept right now');

/**
 * Tickets that open a WebSocket, since a browser cannot send a header with it: 256 random bits, valid for one minute
 * and one use.
 */
export function createTickets<Holder>(redis: Pick<Redis, 'set' | 'getdel'>) {
  return {
    async issue(holder: Holder): Promise<string> {
      const ticket = randomBytes(32).toString('base64url');
      await orUnavailable(redis.set(keyOf(ticket), JSON.stringify(holder), 'EX', ticketSeconds));
      return ticket;
    },
    /** Consumes the ticket; undefined if it is unknown, used or expired. */
    async redeem(ticket: string): Promise<Holder | undefined> {
      const text = ticketPattern.test(ticket) ? await orUnavailable(redis.getdel(keyOf(ticket))) : null;
      return text === null ? undefined : (JSON.parse(text) as Holder);
    },
  };
}

export interface Tickets<Holder> {
  issue(holder: Holder): Promise<string>;
  redeem(ticket: string): Promise<Holder | undefined>;
}
