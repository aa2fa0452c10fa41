import { z } from 'zod';
import { annotationVariablesText, filterField } from './analytics-variables.ts';
import { outcomeField } from './outcome.ts';
import { booleanField, endField, listField, pageFields, startField } from './query-fields.ts';

/** Which responses a query is about; `isRangeInverted` checks the dates. */
export const selectionFields = {
  startDate: startField.optional(),
  endDate: endField.optional(),
  isComplete: booleanField.optional(),
  outcome: outcomeField,
};

/** `filter` of a query. */
export const filtersField = listField(filterField, 20).default([]);

/** The query of a list of responses, or of parts of them; `max` is the greatest limit. */
export const responseListFields = (max: number) => ({
  ...pageFields(max),
  cursor: z.string().max(200).optional().describe('`nextCursor` of the previous page; then `page` is ignored'),
  ...selectionFields,
  filter: filtersField.describe(
    `As \`filter\` of the statistics; may be repeated, all must hold. ${annotationVariablesText}`,
  ),
});
