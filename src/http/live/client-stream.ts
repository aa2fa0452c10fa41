/** One message to a client, made once however many receive it. */
export interface LiveMessage {
  type: string;
  /** JSON. */
  text: string;
  bytes: Uint8Array;
  /** Set on responses and on `subscribed`: where a client goes on after them. */
  cursor?: string;
}

/** One client's way out, whatever carries it. What it holds back is bounded because nobody writes responses while it is congested. */
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
