/** Messages between the respondent's page in a frame and the script of the page around it. */

/** Marks messages of this service, as pages get messages of many. */
const mark = 'survey-service';

/** How a response ended. */
export type EmbedOutcome = 'COMPLETED' | 'SCREENED_OUT' | 'OVER_QUOTA';

/** From the page around: says to which origin the page in the frame may talk. */
type HostMessage = { type: 'hello' };

/** From the page in the frame. */
export type FrameMessage =
  /** The reply to `hello`. */
  | { type: 'ready'; title: string }
  /** Height of the content in CSS pixels. */
  | { type: 'size'; height: number }
  /** Another page of the survey is shown, from its top. */
  | { type: 'page' }
  /** Escape was pressed and meant nothing to the page. */
  | { type: 'escape' }
  /** There is nothing to answer: `notice` says why. */
  | { type: 'unavailable'; notice: string }
  | { type: 'outcome'; outcome: EmbedOutcome; redirectUrl: string | null };

export const marked = <Message extends HostMessage | FrameMessage>(message: Message) => ({ ...message, from: mark });

/** The message of an event, if it is one of ours by its form; whose it is must be checked by origin and source. */
export function messageIn(data: unknown): { type: string; [field: string]: unknown } | undefined {
  if (typeof data !== 'object' || data === null) return undefined;
  const { from, type } = data as { from?: unknown; type?: unknown };
  return from === mark && typeof type === 'string' ? { ...data, type } : undefined;
}

/** The address if it is http or https: nothing else may be opened by what another page says. */
export function webAddressIn(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  try {
    const { protocol, href } = new URL(value);
    return protocol === 'https:' || protocol === 'http:' ? href : null;
  } catch {
    return null;
  }
}
