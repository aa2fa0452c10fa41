import fc from 'fast-check';
import type { GivenAnswer, KnownUpload } from '../../../../src/domain/questions/contract.ts';
import type { Question } from '../../../../src/domain/survey.ts';
import type { TypeName } from '../../../support/every-type.ts';
import { nextId } from '../../../support/questions.ts';

export type Values = Omit<GivenAnswer, 'questionId'>[];

const uploadId = nextId();

/** The one finished upload of these tests, for this question. */
export function uploadsFor(question: Question): Map<string, KnownUpload> {
  return new Map([[uploadId, { id: uploadId, questionId: question.id, mimeType: 'image/png', sizeBytes: 10 }]]);
}

/** Valid answers to the questions of `everyType`. */
export const valid: Record<TypeName, (question: Question) => fc.Arbitrary<Values>> = {
  MULTIPLE_CHOICE: (question) => fc.oneof(option(question), fc.constant<Values>([{ textValue: 'Something else' }])),
  DROPDOWN: (question) => option(question),
  YES_NO: (question) => option(question),
  LIKERT_SCALE: (question) => option(question),
  CHECKBOXES: (question) =>
    fc
      .uniqueArray(fc.nat(question.options.length - 1), { minLength: 1, maxLength: 2 })
      .map((chosen) => chosen.map((index) => ({ optionId: question.options[index]?.id ?? '' }))),
  RATING_SCALE: () => fc.integer({ min: 1, max: 5 }).map((numberValue) => [{ numberValue }]),
  NPS: () => fc.integer({ min: 0, max: 10 }).map((numberValue) => [{ numberValue }]),
  SLIDER: () => fc.integer({ min: 0, max: 100 }).map((numberValue) => [{ numberValue }]),
  NUMBER: () => fc.integer({ min: 0, max: 150 }).map((numberValue) => [{ numberValue }]),
  MATRIX: (question) =>
    fc.tuple(...question.rows.map((row) => option(question).map(([answer]) => ({ ...answer, rowId: row.id })))),
  RANKING: (question) =>
    fc
      .shuffledSubarray([...question.options], { minLength: 1 })
      .map((order) => order.map((item, index) => ({ optionId: item.id, rank: index + 1 }))),
  SHORT_TEXT: () =>
    fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
      .filter((text) => text.trim() !== '' && !/[\r\n\0]/.test(text))
      .map((textValue) => [{ textValue }]),
  LONG_TEXT: () =>
    fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 200 })
      .filter((text) => text.trim() !== '' && !text.includes('\0'))
      .map((textValue) => [{ textValue }]),
  EMAIL: () =>
    fc
      .tuple(fc.stringMatching(/^[a-z0-9]{1,20}$/), fc.stringMatching(/^[a-z]{1,10}\.[a-z]{2,5}$/))
      .map(([local, host]) => [{ textValue: `${local}@${host}` }]),
  DATE: () =>
    fc
      .date({ min: new Date('1900-01-01'), max: new Date('2100-12-31'), noInvalidDate: true })
      .map((day) => [{ textValue: day.toISOString().slice(0, 10) }]),
  TIME: () =>
    fc
      .tuple(fc.nat(23), fc.nat(59))
      .map(([hour, minute]) => [{ textValue: `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}` }]),
  FILE_UPLOAD: () => fc.constant([{ textValue: uploadId }]),
};

function option(question: Question): fc.Arbitrary<Values> {
  return fc.constantFrom(...question.options.filter(({ isHidden }) => !isHidden)).map(({ id }) => [{ optionId: id }]);
}
