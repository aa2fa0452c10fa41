import { jsonDigest } from '../platform/json-digest.ts';

/** AI jobs on a survey other than analyses of its answers. */
export const surveyJobKinds = ['translate', 'report', 'optimise'] as const;
export type SurveyJobKind = (typeof surveyJobKinds)[number];

export interface SurveyJobOrder {
  work: SurveyJobKind;
  /** The survey version, where the result depends on the wording; null otherwise. */
  version: number | null;
  model: string;
  request: Readonly<Record<string, string>>;
}

/** Returns the topic and request of a job; equal orders have the same topic. */
export function describeSurveyJob({ work, version, model, request }: SurveyJobOrder): {
  topic: string;
  request: Record<string, string>;
} {
  return {
    topic: `${work}/${jsonDigest([version, model, request])}`,
    request: { ...request, work },
  };
}

/**
 * Analyses have a queue of their own: they may take hours, and jobs that a user waits for must not queue behind them.
 */
export function queueOf({ request }: { request: Readonly<Record<string, string>> }): 'ai' | 'analyses' {
  return request['analysisType'] === undefined ? 'ai' : 'analyses';
}

/** Undefined for an analysis, and for a job that generates a survey. */
export function surveyJobKindOf({ request }: { request: Readonly<Record<string, string>> }): SurveyJobKind | undefined {
  return surveyJobKinds.find((work) => work === request['work']);
}
