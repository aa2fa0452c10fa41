import type { Appearance } from '../../domain/appearance.ts';
import { blankSurvey } from '../../domain/blank-survey.ts';
import { canonicalLanguage } from '../../domain/language.ts';
import type { Condition, OptionsFrom, Section, Skip } from '../../domain/path/definition.ts';
import { registry } from '../../domain/questions/registry.ts';
import type { QuestionTypeName } from '../../domain/questions/type-names.ts';
import type {
  ClosedReason,
  MatrixRow,
  NotAskedBits,
  Option,
  Question,
  QuestionSettings,
  Slots,
  Survey,
  SurveyStatus,
  SurveyWithQuestions,
  Visibility,
} from '../../domain/survey.ts';
import { Problem } from '../../errors.ts';
import type { Tx } from './client.ts';

/** A row of `surveys` as postgres.js returns it. */
export interface SurveyRow {
  id: string;
  owner_id: string;
  title: string;
  description: string | null;
  status: SurveyStatus;
  closed_reason: ClosedReason | null;
  is_anonymous: boolean;
  anonymity_begun: number | null;
  anonymous_until: Date | null;
  visibility: Visibility;
  access_token: string | null;
  response_quota: number | null;
  submission_rate_limit: number | null;
  starts_at: Date | null;
  ends_at: Date | null;
  ai_enabled: boolean;
  language: string;
  retention_days: number | null;
  created_at: Date;
  updated_at: Date;
  published_at: Date | null;
  closed_at: Date | null;
  version: number;
  revision: number;
  code_slots: number;
  number_slots: number;
  text_slots: number;
  collector_slot: number | null;
  sections: Section[] | null;
  is_shuffled: boolean;
  partials_marked_from: number | null;
  quota_codes: number;
  appearance: Appearance | null;
}

export interface QuestionRow {
  id: string;
  survey_id: string;
  type: QuestionTypeName;
  text: string;
  description: string | null;
  is_required: boolean;
  position: number;
  options: Option[];
  rows: MatrixRow[];
  settings: QuestionSettings;
  /** `absentIn` of the question stands here too, so that it needs no column of its own. */
  slots: Slots & Pick<Question, 'absentIn'>;
  is_hidden: boolean;
  section_id: string | null;
  is_anchored: boolean;
  visible_if: Condition | null;
  skips: Skip[] | null;
  options_from: OptionsFrom | null;
  not_asked: NotAskedBits | null;
  first_version: number | null;
}

/** Makes a value a parameter of type jsonb. */
export type ToJson = (value: unknown) => ReturnType<Tx['json']>;

export function surveyFromRow(row: Omit<SurveyRow, 'sections'>): Survey {
  return {
    id: row.id,
    ownerId: row.owner_id,
    title: row.title,
    description: row.description,
    status: row.status,
    closedReason: row.closed_reason,
    isAnonymous: row.is_anonymous,
    anonymityBegun: row.anonymity_begun,
    ...(row.anonymous_until && { anonymousUntil: row.anonymous_until }),
    visibility: row.visibility,
    accessToken: row.access_token,
    responseQuota: row.response_quota,
    submissionRateLimit: row.submission_rate_limit,
    startsAt: row.starts_at,
    endsAt: row.ends_at,
    aiEnabled: row.ai_enabled,
    language: canonicalLanguage(row.language) ?? row.language,
    retentionDays: row.retention_days,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    publishedAt: row.published_at,
    closedAt: row.closed_at,
    version: row.version,
    revision: row.revision,
    slotCounts: { codes: row.code_slots, numbers: row.number_slots, texts: row.text_slots },
    collectorSlot: row.collector_slot,
    ...(row.is_shuffled && { isShuffled: true }),
    ...(row.partials_marked_from !== null && { partialsMarkedFrom: row.partials_marked_from }),
    ...(row.quota_codes > 0 && { quotaCodes: row.quota_codes }),
    ...(row.appearance && { appearance: row.appearance }),
  };
}

export function surveyToColumns(survey: SurveyWithQuestions, json: ToJson) {
  return {
    id: survey.id,
    owner_id: survey.ownerId,
    title: survey.title,
    description: survey.description,
    status: survey.status,
    closed_reason: survey.closedReason,
    is_anonymous: survey.isAnonymous,
    anonymity_begun: survey.anonymityBegun ?? null,
    anonymous_until: survey.anonymousUntil ?? null,
    visibility: survey.visibility,
    access_token: survey.accessToken,
    response_quota: survey.responseQuota,
    submission_rate_limit: survey.submissionRateLimit,
    starts_at: survey.startsAt,
    ends_at: survey.endsAt,
    ai_enabled: survey.aiEnabled,
    language: survey.language,
    retention_days: survey.retentionDays,
    created_at: survey.createdAt,
    updated_at: survey.updatedAt,
    published_at: survey.publishedAt,
    closed_at: survey.closedAt,
    version: survey.version,
    revision: survey.revision,
    code_slots: survey.slotCounts.codes,
    number_slots: survey.slotCounts.numbers,
    text_slots: survey.slotCounts.texts,
    collector_slot: survey.collectorSlot ?? null,
    sections: survey.sections?.length ? json(survey.sections) : null,
    is_shuffled: survey.isShuffled ?? false,
    partials_marked_from: survey.partialsMarkedFrom ?? null,
    quota_codes: survey.quotaCodes ?? 0,
    appearance: survey.appearance ? json(survey.appearance) : null,
  };
}

/** The columns of `Survey` in the table `surveys s`: all but the sections, which may take megabytes. */
export const surveyColumns = Object.keys(surveyToColumns(blankSurvey('', '', 0), (value) => value as never))
  .filter((name) => name !== 'sections')
  .map((name) => `s.${name}`);

/** SERVICE_UNAVAILABLE for a survey that only a newer version of the service can read; another process serves it. */
export class OfNewerVersion extends Problem {
  constructor() {
    const message = 'This survey has questions that only a newer version of the service knows';
    super('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 10 });
  }
}

/** Throws OfNewerVersion for a question type that only a newer version knows. */
export function assertKnownType({ type }: { type: string }): void {
  if (!Object.hasOwn(registry, type)) throw new OfNewerVersion();
}

export function questionFromRow(row: QuestionRow): Question {
  assertKnownType(row);
  const { absentIn, ...slots } = row.slots;
  return {
    id: row.id,
    surveyId: row.survey_id,
    type: row.type,
    text: row.text,
    description: row.description,
    isRequired: row.is_required,
    order: row.position,
    options: row.options,
    rows: row.rows,
    settings: row.settings,
    slots,
    isHidden: row.is_hidden,
    ...(row.section_id !== null && { sectionId: row.section_id }),
    ...(row.is_anchored && { isAnchored: true }),
    ...(row.visible_if && { visibleIf: row.visible_if }),
    ...(row.skips && { skips: row.skips }),
    ...(row.options_from && { optionsFrom: row.options_from }),
    ...(row.not_asked && { notAsked: row.not_asked }),
    ...(row.first_version !== null && { firstVersion: row.first_version }),
    ...(absentIn && { absentIn }),
  };
}

export function questionToColumns(question: Question, json: ToJson) {
  const jsonOrNull = (value: unknown) => (value === undefined ? null : json(value));
  return {
    id: question.id,
    survey_id: question.surveyId,
    type: question.type,
    text: question.text,
    description: question.description,
    is_required: question.isRequired,
    position: question.order,
    options: json(question.options),
    rows: json(question.rows),
    settings: json(question.settings),
    slots: json({ ...question.slots, absentIn: question.absentIn }),
    is_hidden: question.isHidden,
    section_id: question.sectionId ?? null,
    is_anchored: question.isAnchored ?? false,
    visible_if: jsonOrNull(question.visibleIf),
    skips: jsonOrNull(question.skips),
    options_from: jsonOrNull(question.optionsFrom),
    not_asked: jsonOrNull(question.notAsked),
    first_version: question.firstVersion ?? null,
  };
}
