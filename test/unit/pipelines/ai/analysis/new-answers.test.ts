import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Question, SurveyWithQuestions } from '../../../../../src/domain/survey.ts';
import { openAnswerReader } from '../../../../../src/pipelines/ai/analysis/new-answers.ts';
import type { ResponseRecord } from '../../../../../src/stores/clickhouse/responses.ts';

/** One answer to a LONG_TEXT, as an analysis reads it. */
function read(question: string, text: string) {
  const asked = {
    id: 'q',
    type: 'LONG_TEXT',
    text: question,
    isHidden: false,
    options: [],
    rows: [],
    settings: {},
    slots: { codes: { '': 0 }, numbers: {}, texts: { '': 0 } },
  } as unknown as Question;
  const record = { responseId: 'r', row: { codes: [1], numbers: [], texts: [text] } } as unknown as ResponseRecord;
  const [answer] = openAnswerReader({ questions: [asked] } as unknown as SurveyWithQuestions)(record);
  assert.ok(answer);
  return answer;
}

describe('an open answer that is analysed', () => {
  it('is recognised by the wording of its question and of itself', () => {
    const known = read('How was lunch?', ' cold ');
    assert.deepEqual([known.question, known.text], ['How was lunch?', 'cold']);
    assert.ok(read('How was lunch?', 'cold').digest.equals(known.digest));
    assert.ok(!read('How was lunch?', 'warm').digest.equals(known.digest));
    assert.ok(!read('How was dinner?', 'cold').digest.equals(known.digest));
  });
});
