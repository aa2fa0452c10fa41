import { createHash } from 'node:crypto';
import { registry } from '../../../domain/questions/registry.ts';
import { type Question, type SurveyWithQuestions, visibleQuestions } from '../../../domain/survey.ts';
import type { ResponseRecord } from '../../../stores/clickhouse/responses.ts';

export interface OpenAnswer {
  responseId: string;
  questionId: string;
  question: string;
  text: string;
  /** Of all that is sent of it: a finding holds for this wording of question and answer. */
  digest: Buffer;
}

interface OpenQuestion {
  question: Question;
  slot: number;
  presence: number;
}

/** Reads the free texts out of stored responses. What is counted by its words is a free text: addresses and names of files are not. */
export function openAnswerReader(survey: SurveyWithQuestions): (record: ResponseRecord) => OpenAnswer[] {
  const open = visibleQuestions(survey).flatMap((question): OpenQuestion[] => {
    const request = registry[question.type]
      .countPlan(question)
      .requests.find((candidate) => candidate.kind === 'text' && candidate.by === 'words');
    return request?.kind === 'text' ? [{ question, slot: request.slot, presence: request.presence }] : [];
  });
  return ({ responseId, row }) =>
    open.flatMap(({ question, slot, presence }) => {
      const text = (row.codes[presence] ?? 0) === 0 ? '' : (row.texts[slot] ?? '').trim();
      return text === ''
        ? []
        : [
            {
              responseId,
              questionId: question.id,
              question: question.text,
              text,
              digest: digestOf(question.text, text),
            },
          ];
    });
}

function digestOf(question: string, text: string): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([question, text]))
    .digest()
    .subarray(0, 16);
}
