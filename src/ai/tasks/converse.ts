import { z } from 'zod';
import type { Task } from './ask.ts';
import { type DraftSurvey, questionReply, readDraft } from './generate-survey.ts';
import { parseReply } from './parse-reply.ts';
import { conversePrompt, converseVersion } from './prompts/converse.ts';

export interface PromptTurn {
  role: 'user' | 'assistant';
  text: string;
}

export interface ConverseOptions {
  draft: DraftSurvey | null;
  /** What was said before, oldest first. */
  history: readonly PromptTurn[];
  message: string;
  /** Of the first draft. */
  questionCount: number | null;
}

export interface ConversationReply {
  message: string;
  draft: DraftSurvey;
}

export const maxDraftQuestions = 30;
const maxTurns = 20;

/** Asks for the next state of a draft; every question of it would be taken from an author. */
export function converseTask({ draft, history, message, questionCount }: ConverseOptions): Task<ConversationReply> {
  const [atLeast, atMost] = [questionCount ?? 1, questionCount ?? maxDraftQuestions];
  return {
    name: 'conversation',
    version: converseVersion,
    tier: 'high',
    system: conversePrompt,
    data: { draft, said: history.slice(-maxTurns), message, questionCount },
    schema: z.strictObject({
      message: z.string(),
      title: z.string(),
      description: z.string().nullable(),
      questions: z.array(questionReply).min(atLeast).max(atMost),
    }),
    read(reply) {
      const read = readDraft(reply, { atLeast, atMost });
      if ('wrong' in read) return read;
      const spoken = parseReply(z.object({ message: z.string().trim().min(1).max(5000) }), reply);
      return 'wrong' in spoken ? spoken : { value: { message: spoken.value.message, draft: read.value } };
    },
    maxOutputTokens: 12_000,
  };
}
