import type { Tx } from './client.ts';

/** An event of a committed change. At most one event is written for each `cause`. */
export interface OutboxEvent {
  kind: string;
  cause?: string;
  payload: Readonly<Record<string, unknown>>;
}

export async function writeOutbox(tx: Tx, events: readonly OutboxEvent[]): Promise<void> {
  for (const event of events)
    await tx`INSERT INTO outbox (kind, cause, payload)
      VALUES (${event.kind}, ${event.cause ?? null}, ${tx.json(event.payload as never)})
      ON CONFLICT (cause) DO NOTHING`;
}
