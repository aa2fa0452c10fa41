import { createHash } from 'node:crypto';

/** Work on a survey that is no analysis of its answers. */
export const surveyJobKinds = ['translate', 'report', 'optimise'] as const;
export type SurveyJobKind = (typeof surveyJobKinds)[number];

export interface SurveyJobOrder {
  work: SurveyJobKind;
  /** Names the wording that is worked on, where that counts: with another one the work is another. */
  version: number | null;
  model: string;
  request: Readonly<Record<string, string>>;
}

/** What a job for such work is known by: equal orders have the same topic. */
export function describeSurveyJob({ work, version, model, request }: SurveyJobOrder): {
  topic: string;
  request: Record<string, string>;
} {
  return {
    topic: `${work}/${createHash('sha256')
      .update(JSON.stringify([version, model, request]))
      .digest('base64url')}`,
    request: { ...request, work },
  };
}

/** Analyses have workers of their own: they may take hours, and what somebody waits for must not stand behind them. */
export function queueOf({ request }: { request: Readonly<Record<string, string>> }): 'ai' | 'analyses' {
  return request['analysisType'] === undefined ? 'ai' : 'analyses';
}

/** Undefined: the job is an analysis, or writes a survey. */
export function surveyJobKindOf({ request }: { request: Readonly<Record<string, string>> }): SurveyJobKind | undefined {
  return surveyJobKinds.find((work) => work === request['work']);
}
