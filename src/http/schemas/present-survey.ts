import type { SurveyRight } from '../../auth/roles.ts';
import { type Appearance, defaultAppearance, type Logo } from '../../domain/appearance.ts';
import { describeQuestion, describeWithHidden } from '../../domain/questions/question-definition.ts';
import {
  type Question,
  type Survey,
  type SurveyStatus,
  type SurveyWithQuestions,
  visibleQuestions,
} from '../../domain/survey.ts';
import { describeSection } from '../../domain/survey-edits.ts';

const isoOrNull = (date: Date | null): string | null => date?.toISOString() ?? null;

/** A survey past its end is closed, even if its row does not say so yet. */
export function effectiveStatus(survey: Survey, nowMs: number): SurveyStatus {
  const isOver = survey.endsAt !== null && nowMs >= survey.endsAt.getTime();
  return isOver && survey.status !== 'DRAFT' ? 'CLOSED' : survey.status;
}

export interface PresentOptions {
  responseCount: number;
  nowMs: number;
  /** Whether the access token of a PRIVATE survey is shown: only to callers who may edit it. */
  isTokenShown: boolean;
}

/** The fields of a survey as the API shows them. */
export interface PresentToOptions extends Omit<PresentOptions, 'isTokenShown'> {
  /** What the caller may do with the survey. */
  right: SurveyRight;
}

export function presentSurvey(survey: Survey, { responseCount, nowMs, isTokenShown }: PresentOptions) {
  return {
    id: survey.id,
    title: survey.title,
    description: survey.description,
    status: effectiveStatus(survey, nowMs),
    isAnonymous: survey.isAnonymous,
    visibility: survey.visibility,
    ...(isTokenShown &&
      survey.visibility === 'PRIVATE' &&
      survey.accessToken !== null && { accessToken: survey.accessToken }),
    responseQuota: survey.responseQuota,
    submissionRateLimit: survey.submissionRateLimit,
    startsAt: isoOrNull(survey.startsAt),
    endsAt: isoOrNull(survey.endsAt),
    aiEnabled: survey.aiEnabled,
    language: survey.language,
    isShuffled: survey.isShuffled ?? false,
    retentionDays: survey.retentionDays,
    appearance: presentAppearance(survey.appearance),
    createdAt: survey.createdAt.toISOString(),
    updatedAt: survey.updatedAt.toISOString(),
    publishedAt: isoOrNull(survey.publishedAt),
    closedAt: isoOrNull(survey.closedAt),
    responseCount,
    ownerId: survey.ownerId,
    version: survey.version,
  };
}

export function presentAppearance(appearance: Appearance = defaultAppearance) {
  const { allowedOrigins } = appearance;
  return { ...presentPublicAppearance(appearance), allowedOrigins };
}

const logoUrl = ({ hash }: Logo): string => `/api/v1/public/logos/${hash}`;

/** As respondents see it. */
export function presentPublicAppearance({ logo, allowedOrigins: _, ...rest }: Appearance = defaultAppearance) {
  return { ...rest, logo: logo && { url: logoUrl(logo), width: logo.width, height: logo.height } };
}

export function presentSurveyWithQuestions(survey: SurveyWithQuestions, { right, ...options }: PresentToOptions) {
  return {
    ...presentSurvey(survey, { ...options, isTokenShown: right !== 'read' }),
    right,
    sections: (survey.sections ?? []).map(describeSection),
    questions: visibleQuestions(survey).map(describeQuestion),
  };
}

/** Including deleted questions, which come last, and removed options and rows. */
export function presentSurveyWithHidden(survey: SurveyWithQuestions, { right, ...options }: PresentToOptions) {
  const deleted: Question[] = survey.questions.filter(({ isHidden }) => isHidden);
  return {
    ...presentSurvey(survey, { ...options, isTokenShown: right !== 'read' }),
    right,
    sections: (survey.sections ?? []).map(describeSection),
    questions: [...visibleQuestions(survey), ...deleted].map(describeWithHidden),
  };
}
