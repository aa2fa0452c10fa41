/** A message to clients, serialised once for all that receive it. */
export interface LiveMessage {
  type: string;
  /** JSON. */
  text: string;
  bytes: Uint8Array;
  /** Live cursor behind this message; set on responses and on `subscribed`. */
  cursor?: string;
}

/**
 * The output to one client, over WebSocket or server-sent events. Nobody writes responses, analytics, statuses or the
 * progress of jobs while it is congested, so its buffer is bounded.
 */
export interface ClientStream {
  write(frames: readonly LiveMessage[]): void;
  readonly isCongested: boolean;
  readonly isOver: boolean;
  /** Resolves when there is room again, or when the connection is over. */
  whenWritable(): Promise<void>;
}

export function createLiveMessage(type: string, fields: Readonly<Record<string, unknown>> = {}): LiveMessage {
  const text = JSON.stringify({ type, ...fields });
  return { type, text, bytes: Buffer.from(text) };
}
