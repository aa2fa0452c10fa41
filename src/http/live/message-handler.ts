import { notFound, Problem } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { isId } from '../../platform/ids.ts';
import { validateInput } from '../routing/read-input.ts';
import { liveClientMessageSchema } from '../schemas/live.ts';
import { createLiveMessage } from './client-stream.ts';
import { liveLimits } from './live-limits.ts';
import type { Session } from './session.ts';

export interface MessageHandlerDeps {
  session: Session;
  close(code: number, reason: string): void;
  log: Log;
}

const { burst, perSecond, waitingCharacters, maxRefusedMessages: maxRefused } = liveLimits;

/** Handles the messages of one client, one after the other. */
export function createMessageHandler({ session, close, log }: MessageHandlerDeps) {
  const takeToken = createTokenBucket();
  let refusedCount = 0;
  let queue = Promise.resolve();
  let waiting = 0;

  const handleMessage = async (text: string): Promise<void> => {
    const message = validateInput(liveClientMessageSchema, readJson(text));
    if (message.type === 'ping') return session.send(createLiveMessage('pong'));
    if (!isId(message.surveyId)) throw notFound('survey');
    if (message.type === 'unsubscribe') session.unsubscribe(message.surveyId, message.channels);
    else await session.subscribe({ ...message, after: message.after || undefined });
  };

  const handleSafely = async (text: string): Promise<void> => {
    if (session.client.isOver) return;
    try {
      await handleMessage(text);
    } catch (error) {
      if (!(error instanceof Problem)) log.error({ err: error }, 'handling a live message failed');
      const { code, message } = error instanceof Problem ? error : new Problem('INTERNAL_ERROR');
      session.sendProblem(code, message, surveyIdIn(text));
    }
  };

  return {
    handle(text: string, isBinary: boolean): void {
      if (isBinary) {
        session.sendProblem('UNSUPPORTED_MEDIA_TYPE', 'Messages are JSON texts');
        close(1003, 'Only text is understood');
        return;
      }
      if (takeToken() && waiting + text.length <= waitingCharacters) {
        waiting += text.length;
        queue = queue.then(async () => {
          await handleSafely(text);
          waiting -= text.length;
        });
        return;
      }
      refusedCount += 1;
      if (refusedCount > maxRefused) close(1008, 'Too many messages');
      else if (refusedCount % 50 === 1)
        session.sendProblem('RATE_LIMITED', 'Too many messages, or too long ones, wait for a reply');
    },
  };
}

export type MessageHandler = ReturnType<typeof createMessageHandler>;

function createTokenBucket(): () => boolean {
  let [tokens, filledAt]: [number, number] = [burst, performance.now()];
  return () => {
    const now = performance.now();
    tokens = Math.min(burst, tokens + ((now - filledAt) / 1000) * perSecond);
    filledAt = now;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem('VALIDATION_ERROR', 'The message is not JSON');
  }
}

/** The survey that a refused message names, if any. */
function surveyIdIn(text: string): string | undefined {
  return /"surveyId"\s*:\s*"([0-9a-f-]{36})"/.exec(text)?.[1];
}
