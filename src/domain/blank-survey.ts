import type { SurveyWithQuestions } from './survey.ts';

export const firstVersion = 1;

/** A new, empty survey in status DRAFT. */
export function blankSurvey(id: string, ownerId: string, nowMs: number): SurveyWithQuestions {
  const at = new Date(nowMs);
  return {
    id,
    ownerId,
    title: '',
    description: null,
    status: 'DRAFT',
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
    publishedAt: null,
    closedAt: null,
    version: firstVersion,
    revision: 1,
    slotCounts: { codes: 0, numbers: 0, texts: 0 },
    collectorSlot: null,
    questions: [],
  };
}
