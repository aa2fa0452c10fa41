import { z } from 'zod';
import { questionReply, readDraft, type DraftSurvey } from './generate-survey.ts';
import { conversePrompt, converseVersion } from './prompts/converse.ts';
import { readBy } from './read-reply.ts';
import type { Task } from './structured.ts';

export interface Spoken {
  role: 'user' | 'assistant';
  text: string;
}

export interface ConverseOptions {
  draft: DraftSurvey | null;
  /** What was said before, oldest first. */
  said: readonly Spoken[];
  message: string;
  /** Of the first draft. */
  questionCount: number | null;
}

export interface Reply {
  message: string;
  draft: DraftSurvey;
}

export const questionsAtMost = 30;
const turnsSent = 20;

/** Asks for the next state of a draft; every question of it would be taken from an author. */
export function converseTask({ draft, said, message, questionCount }: ConverseOptions): Task<Reply> {
  const [atLeast, atMost] = [questionCount ?? 1, questionCount ?? questionsAtMost];
  return {
    name: 'conversation', version: converseVersion, tier: 'high', system: conversePrompt,
    data: { draft, said: said.slice(-turnsSent), message, questionCount },
    schema: z.strictObject({ message: z.string(), title: z.string(), description: z.string().nullable(), questions: z.array(questionReply).min(atLeast).max(atMost) }),
    read(reply) {
      const read = readDraft(reply, { atLeast, atMost });
      if ('wrong' in read) return read;
      const spoken = readBy(z.object({ message: z.string().trim().min(1).max(5000) }), reply);
      return 'wrong' in spoken ? spoken : { value: { message: spoken.value.message, draft: read.value } };
    },
    maxOutputTokens: 12_000,
  };
}
