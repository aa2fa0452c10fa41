import assert from 'node:assert/strict';
import type { z } from 'zod';
import { defineQuestion, type newQuestionBody } from '../../src/domain/questions/question-definition.ts';
import { allocateSlots } from '../../src/domain/questions/slot-allocation.ts';
import type { Question, SurveyWithQuestions } from '../../src/domain/survey.ts';
import { everyType, type TypeName } from './every-type.ts';

let ids = 0;
/** Ids that are easy to read in a failure: 00000000-0000-7000-8000-00000000002a. */
export const nextId = (): string => `00000000-0000-7000-8000-${(++ids).toString(16).padStart(12, '0')}`;

const at = new Date('2026-01-01T00:00:00.000Z');

export function blankSurvey(): SurveyWithQuestions {
  return {
    id: nextId(),
    ownerId: nextId(),
    title: 'A survey',
    description: null,
    status: 'ACTIVE',
    closedReason: null,
    isAnonymous: false,
    visibility: 'PUBLIC',
    accessToken: null,
    responseQuota: null,
    submissionRateLimit: null,
    startsAt: null,
    endsAt: null,
    aiEnabled: true,
    language: 'en',
    retentionDays: null,
    createdAt: at,
    updatedAt: at,
    publishedAt: at,
    closedAt: null,
    version: 1,
    revision: 1,
    slotCounts: { codes: 0, numbers: 0, texts: 0 },
    questions: [],
  };
}

/** Where a question of no survey stands. */
export const questionPlace = () => ({ id: nextId(), surveyId: nextId(), order: 0, newId: nextId });

/** A question without a survey, and without positions; throws what is wrong with it. */
export function define(input: Parameters<typeof defineQuestion>[0]): Question {
  const defined = defineQuestion(input, questionPlace());
  assert.ok('question' in defined, JSON.stringify(defined));
  return defined.question;
}

/** Adds a question as the interface would, with its positions; throws what is wrong with it. */
export function withQuestion(
  survey: SurveyWithQuestions,
  body: z.input<typeof newQuestionBody>,
): { survey: SurveyWithQuestions; question: Question } {
  const defined = defineQuestion(body as z.output<typeof newQuestionBody>, {
    id: nextId(),
    surveyId: survey.id,
    order: survey.questions.length,
    newId: nextId,
  });
  if ('issues' in defined) throw new Error(JSON.stringify(defined.issues));
  const { slots, counts } = allocateSlots(defined.question, survey.slotCounts);
  const question = { ...defined.question, slots };
  return { survey: { ...survey, slotCounts: counts, questions: [...survey.questions, question] }, question };
}

/** A survey with one question of every type. */
export function fullSurvey(): { survey: SurveyWithQuestions; questions: Record<TypeName, Question> } {
  let survey = blankSurvey();
  const questions: Partial<Record<TypeName, Question>> = {};
  for (const [type, body] of Object.entries(everyType)) {
    const added = withQuestion(survey, { type: type as TypeName, ...structuredClone(body) } as z.input<
      typeof newQuestionBody
    >);
    survey = added.survey;
    questions[type as TypeName] = added.question;
  }
  return { survey, questions: questions as Record<TypeName, Question> };
}
