import { notFound, Problem } from '../../errors.ts';
import { isId } from '../../ids.ts';
import type { Log } from '../../log.ts';
import { check } from '../dispatch.ts';
import { liveClientMessageSchema } from '../schemas/live.ts';
import { liveLimits } from './live-limits.ts';
import { frameOf } from './outlet.ts';
import type { Session } from './session.ts';

export interface ConversationDeps {
  session: Session;
  close(code: number, reason: string): void;
  log: Log;
}

const { burst, perSecond, refused: patience } = liveLimits;

/** Hears one client's messages, one after the other, and answers each. */
export function createConversation({ session, close, log }: ConversationDeps) {
  const mayPass = createAllowance();
  let refused = 0;
  let last = Promise.resolve();

  const answer = async (text: string): Promise<void> => {
    const message = check(liveClientMessageSchema, readJson(text));
    if (message.type === 'ping') return session.tell(frameOf('pong'));
    if (!isId(message.surveyId)) throw notFound('survey');
    if (message.type === 'unsubscribe') session.unsubscribe(message.surveyId, message.channels);
    else await session.subscribe({ ...message, after: message.after || undefined });
  };

  const answerOrRefuse = async (text: string): Promise<void> => {
    if (session.outlet.isOver) return;
    try {
      await answer(text);
    } catch (error) {
      if (!(error instanceof Problem)) log.error({ err: error }, 'a live message could not be answered');
      const { code, message } = error instanceof Problem ? error : new Problem('INTERNAL_ERROR');
      session.tellProblem(code, message, surveyIn(text));
    }
  };

  return {
    hear(text: string, isBinary: boolean): void {
      if (isBinary) {
        session.tellProblem('UNSUPPORTED_MEDIA_TYPE', 'Messages are JSON texts');
        return close(1003, 'Only text is understood');
      }
      if (mayPass()) return void (last = last.then(() => answerOrRefuse(text)));
      refused += 1;
      if (refused > patience) return close(1008, 'Too many messages');
      if (refused % 50 === 1) session.tellProblem('RATE_LIMITED', `At most ${perSecond} messages a second`);
    },
  };
}

export type Conversation = ReturnType<typeof createConversation>;

function createAllowance(): () => boolean {
  let [left, filledAt]: [number, number] = [burst, performance.now()];
  return () => {
    const now = performance.now();
    left = Math.min(burst, left + ((now - filledAt) / 1000) * perSecond);
    filledAt = now;
    if (left < 1) return false;
    left -= 1;
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

/** The survey that a refused message was about, if it can be told. */
function surveyIn(text: string): string | undefined {
  const found = /"surveyId"\s*:\s*"([0-9a-f-]{36})"/.exec(text)?.[1];
  return found;
}
