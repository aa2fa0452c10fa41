/** One message to a client, made once however many receive it. */
export interface Frame {
  type: string;
  /** JSON. */
  text: string;
  bytes: Uint8Array;
  /** Set on responses and on `subscribed`: where a client goes on after them. */
  cursor?: string;
}

/** One client's way out, whatever carries it. What it holds back is bounded because nobody writes responses while it is congested. */
export interface Outlet {
  write(frames: readonly Frame[]): void;
  readonly isCongested: boolean;
  readonly isOver: boolean;
  /** Resolves when there is room again, or when the connection is over. */
  room(): Promise<void>;
}

export function frameOf(type: string, fields: Readonly<Record<string, unknown>> = {}): Frame {
  const text = JSON.stringify({ type, ...fields });
  return { type, text, bytes: Buffer.from(text) };
}
