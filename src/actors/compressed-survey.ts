import { deserialize, serialize } from 'node:v8';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { SurveyWithQuestions } from '../domain/survey.ts';

/** A survey that nobody asks for, in about a tenth of the memory. As text, since a buffer of zlib's holds on to far more than its bytes. */
export type CompressedSurvey = string;

export function compressSurvey(survey: SurveyWithQuestions): CompressedSurvey {
  return deflateRawSync(serialize(survey)).toString('latin1');
}

export function decompressSurvey(compressed: CompressedSurvey): SurveyWithQuestions {
  return deserialize(inflateRawSync(Buffer.from(compressed, 'latin1'))) as SurveyWithQuestions;
}
