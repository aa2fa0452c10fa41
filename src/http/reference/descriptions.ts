import type { OptionSource } from '../../domain/questions/contract.ts';
import { registry } from '../../domain/questions/registry.ts';
import { maxCodePositions } from '../../domain/questions/slot-allocation.ts';
import { type QuestionTypeName, questionTypeNames } from '../../domain/questions/type-names.ts';
import { problemTable } from '../../errors.ts';
import { liveDescription } from './live-description.ts';
import { type JsonSchema, toJsonSchema } from './schema-components.ts';

/** The head of the reference: what holds for every call. */
export function introduction(): string {
  return [
    'Surveys, their questions, public submission of responses, exact analytics, live streams, exports, webhooks and optional AI.',
    '## Replies',
    'Success is `{"success": true, "data": …}`; lists add `pagination`. A refusal is `{"success": false, "message", "code", "requestId"}`, with `details` where they help: an array of ' +
      '`{path, message}` for VALIDATION_ERROR, otherwise an object with `reason`. Creation replies 201 and change 200, both with the whole resource; deletion replies 200 with `{id, deleted: true}`; accepted ' +
      'work replies 202. A method that a path does not take is a 404 whose `Allow` header names those that it takes; OPTIONS gives 204 with the same header, and 404 where there is no such path. New fields may appear in replies: ignore those that you do not know. Unknown fields of a body or query are refused, so that a misspelt one is never silently lost.',
    '## Connections',
    'HTTP/1.1 without pipelining: a request that comes before the reply to the one before closes the connection. At most 48 header lines and 16 KiB of them; with more, with HTTP/1.0 or without `Host` the connection is closed without a reply. ' +
      'Headers that are read hold visible ASCII characters, blanks and tabs only: any other value is a VALIDATION_ERROR that names the header; in a token, a key or a media type it is what any wrong one is. ' +
      'A call that got no reply may have been carried out: with an `Idempotency-Key` a repeat of a submission is safe.',
    '## Ids, times, numbers',
    'Ids are UUIDs in lower case (version 7 where the service makes them); a malformed one in a path, a body or a message is a 404, as an unknown one is; in a filter of a list, and where a body names questions, options or rows of the survey in its path, it is a VALIDATION_ERROR that says where. Times are ISO 8601 in UTC with milliseconds. Where a date is taken, a time is too; a date as an end includes that ' +
      'whole UTC day, and its start is that day’s first moment. In JSON, whole numbers past 2^53 − 1 are refused, of duplicate keys the last counts, and bodies are nested at most 16 levels deep. Texts hold no NUL and no lone surrogates.',
    '## Examples',
    'All are told of one survey, of a hotel’s guests; bodies that name ids show those of its questions and options, in whose place yours go. `GET /surveys/{id}` shows it whole.',
    '## Lists',
    '`page` counts from 1; `limit` is 20 by default and at most 100 (1000 for responses). Out of range is a VALIDATION_ERROR. A page past the end is empty. Responses also page by `cursor`: take `pagination.nextCursor` until it is null; the ' +
      'pages then neither repeat nor miss responses while others arrive.',
    '## Limits',
    'Sign-in and refresh together count by client address, submissions by client address and survey, everything else by user or API key (by address without a valid one). IPv6 addresses count by their /64. Each window of a minute starts ' +
      'with its first call. `X-RateLimit-Reset` is in Unix seconds. Past the limit: 429 with `Retry-After`.',
    '## Rights',
    'ADMIN: everything. EDITOR: its own surveys and those shared with it. VIEWER: reads the surveys shared with it. What a caller may not know of is a 404; what it may know but not do is a 403. An API key (`sk_…`) acts as its user with the ' +
      'lesser of both roles.',
    '## Codes',
    codeTable(),
  ].join('\n\n');
}

function codeTable(): string {
  const rows = Object.entries(problemTable).map(
    ([code, { status, message }]) => `| ${code} | ${status} | ${message} |`,
  );
  return ['| code | status | meaning |', '|---|---|---|', ...rows].join('\n');
}

/** What each group of operations is about, in the order shown; a route's `tag` must be one of these. */
export const tagDescriptions: Readonly<Record<string, () => string>> = {
  Authentication: () =>
    'Signing in, trading refresh tokens, signing out. Access tokens live 15 minutes and refresh tokens 30 days unless set otherwise; a refresh token is used once.',
  Surveys: () =>
    'A survey is a DRAFT until it is published. Only an ACTIVE one takes responses, from `startsAt` to `endsAt` and up to `responseQuota` complete responses. Every status may be set from every other, unless the end has passed or the quota is full.',
  Questions: () => `What differs between the types:\n\n${questionTable()}\n\n${questionRules}`,
  Translations: () =>
    'The texts of a survey in other languages, by hand; what is not translated is shown in the survey’s own language.',
  Public: () => 'What a respondent may see without a token.',
  Responses: () =>
    'Submitting is public; reading needs the right to read the survey. What was accepted is on disk, appears once, and is counted exactly.',
  Uploads: () => 'Files for FILE_UPLOAD questions: uploaded first, then named by an answer.',
  Analytics: () =>
    'Exact counts, never sampled. A submission shows here within two seconds of its acceptance. Percentages of the survey’s head have one decimal; all others full precision.',
  Live: liveDescription,
  Exports: () => 'Files of all responses, made behind the reply and kept for seven days.',
  Webhooks: () =>
    'Deliveries carry `webhook-id`, `webhook-timestamp` and `webhook-signature` as Standard Webhooks has them, and are repeated with the same `webhook-id` until a 2xx reply (15 s at most). Redirects count as failures, 410 switches the endpoint ' +
    'off, and so do five days of failure. Private, loopback and special addresses are refused.',
  AI: () =>
    'Needs a provider that is set up; everything else works without. Work that takes longer than 20 seconds, or waits for a provider’s limits, replies 202 with a `jobId`; a turn of a conversation comes in its own reply. Before a provider sees an answer, personal data is replaced by placeholders; EMAIL and FILE_UPLOAD answers ' +
    'are never sent.',
  Users: () => 'For an ADMIN: who can sign in, and with which role.',
  'API keys': () => 'Keys for programs, each with a role and, if wanted, its own requests a minute.',
  Members: () => 'Whose a survey is, and with whom it is shared.',
  Audit: () => 'What was done by whom. For an ADMIN.',
  Service: () => 'How the service is. These paths lie beside the base address, not below it.',
  Reference: () => 'This document.',
};

const answerDescriptions: Readonly<Record<QuestionTypeName, string>> = {
  MULTIPLE_CHOICE: '`optionId`; `textValue` where `allowOther` is set',
  CHECKBOXES: '`optionId`, one answer for each choice',
  DROPDOWN: '`optionId`; `textValue` where `allowOther` is set',
  RATING_SCALE: '`numberValue` on the scale',
  NPS: '`numberValue`, whole, 0–10',
  MATRIX: '`rowId` and `optionId`, one answer a row (several where `multiple` is set)',
  RANKING: '`optionId` and `rank` (1…n), or one `optionId` after the other',
  SHORT_TEXT: '`textValue`',
  LONG_TEXT: '`textValue`',
  EMAIL: '`textValue`, a valid address',
  NUMBER: '`numberValue`',
  DATE: '`textValue`, YYYY-MM-DD, of the years 1 to 9999',
  TIME: '`textValue`, HH:MM or HH:MM:SS',
  FILE_UPLOAD: '`textValue`, the `uploadId`',
  SLIDER: '`numberValue` on the scale',
  YES_NO: '`optionId`, or `textValue` "yes" or "no"',
  LIKERT_SCALE: '`optionId`, or `numberValue` 1…n',
};

const questionRules = [
  'A required MATRIX must have an answer in every row, and a required SHORT_TEXT or LONG_TEXT more than white space; any other required question must have an answer. A problem with one has the path of the first answer to it (`answers.3`), or where there is none `answers.` and the question’s id.',
  'A SHORT_TEXT or LONG_TEXT of white space alone is no answer: the question counts as skipped, and in a response that is continued an earlier answer to it is taken back.',
  '`pattern` (RE2 syntax) must match the whole text.',
  'A scale whose `step` does not divide it ends at its last step: 0 to 10 in steps of 3 ends at 9.',
  '`maxSelections` and `maxRanked` may exceed the number of options; `minSelections` may not, and is at least 1 where it is given.',
  'A LIKERT_SCALE may have any number of options from one; without any it gets `strongly-disagree`, `disagree`, `neutral`, `agree` and `strongly-agree`, labelled in English.',
  'A survey has at most 500 questions, a question 200 options and 200 rows. All questions of a survey together, with what was removed from it, take at most 2 MiB as JSON; a copy leaves deleted questions behind.',
  `A survey has ${maxCodePositions} places for answers. A question takes one; a MATRIX one for each row (with \`multiple\` one for each row and 16 columns), CHECKBOXES one for 16 options, RANKING one for each option. Questions, options and rows that were deleted keep theirs. What does not fit is a VALIDATION_ERROR.`,
  'The “other” text of a choice has at most 500 characters.',
  'When a question is made, a setting that is not wanted is left out; null puts one back to its default only when a question is changed.',
  'The options of YES_NO may be worded otherwise, but keep the values `yes` and `no`.',
  'The `distribution` of a RATING_SCALE has each step, that of a SLIDER of more than 20 steps 20 equal bins of the scale, `low` up to but not including `high`. Of more than 10,000 points both have bins.',
  'The `distribution` of DATE has the days that were answered, without those between.',
]
  .map((note) => `- ${note}`)
  .join('\n');

const optionDescriptions: Readonly<Record<OptionSource, string>> = {
  author: 'at least one',
  default: 'the usual ones by default',
  fixed: 'made by the service',
  none: '–',
};

function questionTable(): string {
  const rows = questionTypeNames.map((name) => {
    const { optionSource, hasRows, settings } = registry[name];
    const shown = [
      ...(hasRows ? ['`rows` (at least one)'] : []),
      ...settingNames(toJsonSchema(settings, 'input').root),
    ];
    return `| ${name} | ${optionDescriptions[optionSource]} | ${shown.length > 0 ? shown.join(', ') : '–'} | ${answerDescriptions[name]} |`;
  });
  return ['| type | options | settings | answer |', '|---|---|---|---|', ...rows].join('\n');
}

function settingNames(schema: JsonSchema): string[] {
  const properties = (schema['properties'] ?? {}) as Record<string, JsonSchema>;
  return Object.entries(properties).map(
    ([name, property]) =>
      `\`${name}\`${property['default'] === undefined ? '' : ` (${JSON.stringify(property['default'])})`}`,
  );
}
