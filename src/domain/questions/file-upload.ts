import { z } from 'zod';
import { refuseExtraFields, singleAnswer } from './answer-fields.ts';
import type { QuestionType } from './contract.ts';
import { blankStatistic } from './numbers.ts';
import { slotAt, textSlotAt } from './slots.ts';
import { keyedCounts } from './text.ts';

/** The id of the upload that a stored text names; not an id where the text is another. */
export const uploadIdIn = (storedText: string): string => storedText.split(' ', 1)[0] ?? '';

/** Types of files that are told from each other only by directories anywhere in them. */
const oldOfficeTypes: ReadonlySet<string> = new Set([
  'application/msword',
  'application/vnd.ms-excel',
  'application/vnd.ms-powerpoint',
]);

/** The id of a finished upload; stored as `id mediaType`, counted by media type. */
export const fileUpload: QuestionType = {
  optionSource: 'none',
  hasRows: false,
  namesUploads: true,
  settings: z.strictObject({
    /** When a file is sent, UPLOAD_MAX_BYTES holds besides; without this it is the only limit. */
    maxBytes: z.number().int().min(1).optional(),
    mimeTypes: z
      .array(
        z
          .string()
          .max(255)
          .regex(/^[a-z]+\/(?:[a-z0-9.+-]+|\*)$/, 'must be a media type such as image/png or image/*')
          .refine(
            (type) => !oldOfficeTypes.has(type),
            'is never found by content: .doc, .xls, .ppt and installers are all application/x-cfb',
          ),
      )
      .min(1)
      .max(50)
      .optional(),
  }),
  frozenSettings: [],
  slotKeys: () => ({ codes: [''], numbers: [], texts: [''] }),
  read(question, answers, row, context) {
    const placed = singleAnswer(answers, context);
    const { textValue } = placed.answer;
    if (!refuseExtraFields(placed, { value: ['textValue'] }, context) || textValue === undefined) return;
    const upload = context.uploads.get(textValue);
    if (!upload || upload.questionId !== question.id)
      return context.report(placed.index, 'textValue', 'is not an upload for this question that is still free');
    row.codes[slotAt(question)] = 1;
    row.texts[textSlotAt(question)] = `${upload.id} ${upload.mimeType}`;
  },
  write: (question, row) =>
    (row.codes[slotAt(question)] ?? 0) === 0 ? [] : [{ textValue: uploadIdIn(row.texts[textSlotAt(question)] ?? '') }],
  countPlan: (question) => ({
    base: [slotAt(question)],
    requests: [{ kind: 'text', slot: textSlotAt(question), presence: slotAt(question), by: 'mediaType' }],
  }),
  statistic: (_question, results, base) => ({ ...blankStatistic(), ...keyedCounts(results, base) }),
  dimension: () => 'is a file, which has no categories',
  chart: 'bars',
  exportColumns: (question) => [
    {
      key: '',
      label: '',
      cell: { kind: 'text', presence: slotAt(question), slot: textSlotAt(question), form: 'upload' },
    },
  ],
};
