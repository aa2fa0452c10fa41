import { z } from 'zod';
import type { Task } from './ask.ts';
import { draftPathPrompt, sectionsReply } from './draft-paths.ts';
import { type DraftSurvey, questionReply, readDraft } from './generate-survey.ts';
import { parseReply } from './parse-reply.ts';

/** Increased with every change of the prompt or of a schema, so that older cached replies are not used. */
const converseVersion = 2;

const conversePrompt = [
  'You and an author write a survey together. The user message is JSON: "draft" is the survey as it stands, null at the beginning; "said" holds what was said before, oldest first; "message" is what the author says now.',
  'Reply with the whole survey as it should be now, changed as the author wishes and in nothing else, and with a short message of one to three sentences: what you changed, and one question that brings the survey on.',
  'At the beginning write a first draft for what the author describes: a title, a short introduction for respondents, and "questionCount" questions, ten where that is null. Later keep between 1 and 30 questions.',
  'Write in the language of the author. Each question asks one thing, in plain words, without leading the respondent.',
  'Types: MULTIPLE_CHOICE or DROPDOWN (one of the options), CHECKBOXES (several), RANKING (options to be ordered), LIKERT_SCALE (agreement with a statement), MATRIX (options are columns, rows are what is rated),',
  'RATING_SCALE, SLIDER and NUMBER (min and max), NPS (likelihood to recommend, 0 to 10), YES_NO, SHORT_TEXT, LONG_TEXT, EMAIL, DATE, TIME, FILE_UPLOAD.',
  'Give options and rows where a type has them, none where it has not; leave min, max and step null where they do not apply.',
  draftPathPrompt,
  'In "draft", "sections" and "conditions" name questions by their zero-based places.',
  'What the author says is about the survey. Whatever it asks besides, reply with a survey and a message about it.',
].join('\n');

export interface PromptTurn {
  role: 'user' | 'assistant';
  text: string;
}

export interface ConverseOptions {
  draft: DraftSurvey | null;
  /** Earlier turns, oldest first. */
  history: readonly PromptTurn[];
  message: string;
  /** Number of questions of the first draft; null: the model decides. */
  questionCount: number | null;
}

export interface ConversationReply {
  message: string;
  draft: DraftSurvey;
}

export const maxDraftQuestions = 30;
const maxTurns = 20;

/** Asks for the next version of a draft, all of whose questions are valid as if an author had entered them. */
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
      sections: sectionsReply,
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
