import type { OptionSource } from '../../domain/questions/contract.ts';
import { registry } from '../../domain/questions/registry.ts';
import { maxCodePositions } from '../../domain/questions/slot-allocation.ts';
import { type QuestionTypeName, questionTypeNames } from '../../domain/questions/type-names.ts';
import { maxRowBytes } from '../../domain/response-row.ts';
import { problemTable } from '../../errors.ts';
import { defaultMaxBodyBytes } from '../routing/route.ts';
import { queryLimits } from '../server/request-head.ts';
import { liveDescription } from './live-description.ts';
import { type JsonSchema, toJsonSchema } from './schema-components.ts';

/** The introduction of the reference: what holds for every call. */
export function introduction(): string {
  return [
    'Surveys, their questions, public submission of responses, exact analytics, live streams, exports, webhooks and optional AI.',
    '## Replies',
    'Success is `{"success": true, "data": …}`; lists add `pagination`. A refusal is `{"success": false, "message", "code", "requestId"}`, with `details` where they help: an array of ' +
      '`{path, message}` for VALIDATION_ERROR, otherwise an object with `reason`. Creation replies 201 and change 200, both with the whole resource; deletion replies 200 with `{id, deleted: true}`; accepted ' +
      'work replies 202. A method that a path does not have is a 405 whose `Allow` header names those that it has; OPTIONS gives 204 with the same header, and 404 for unknown paths. Replies may get new fields: ignore those that you do not know. Unknown fields in a body or query are refused, so that a misspelt one is never silently lost.',
    '## Connections',
    'HTTP/1.1 without pipelining: a request that comes while the previous one is being worked on closes the connection. At most 48 header lines, and 4 KiB of them where they arrive in several pieces; with more, with HTTP/1.0 or without `Host` the connection is closed without a reply. ' +
      'Headers that the service reads may contain visible ASCII characters, blanks and tabs only: any other value is a VALIDATION_ERROR that names the header; a token, key or media type with one is refused like any wrong one. ' +
      'A call without a reply may have been carried out: with an `Idempotency-Key` a submission can be repeated safely.',
    `A body of JSON takes at most ${defaultMaxBodyBytes / 1024} KiB where its operation names no other size, and a response, with all its parts, ${maxRowBytes / 1024} KiB as it is stored: more is PAYLOAD_TOO_LARGE.`,
    `A query of more than ${queryLimits.characters.toLocaleString('en')} characters, as it is sent, or of more than ${queryLimits.parameters.toLocaleString('en')} parameters is a VALIDATION_ERROR.`,
    'A change refused with SERVICE_UNAVAILABLE is not begun afterwards; one that a database had been given to commit by then may be made, so look before repeating it.',
    '## Ids, times, numbers',
    'Ids are UUIDs in lower case (version 7 if the service makes them). A malformed id in a path, a body or a message is a 404, like an unknown one; in the filter of a list, and where a body names questions, options or rows of the survey in its path, it is a VALIDATION_ERROR with the path of the field. Times are ISO 8601 in UTC with milliseconds. Where a date is accepted, a time is too; a start date counts from the first moment of that UTC day, an end date includes the ' +
      'whole day. In JSON, whole numbers past 2^53 − 1 are refused, the last of duplicate keys counts, and bodies may be nested 16 levels deep. Texts must not contain NUL or lone surrogates.',
    '## Examples',
    'All examples are about one survey among the guests of a hotel. Replace the ids of its questions and options by yours; the example of `GET /surveys/{id}` shows the whole survey.',
    '## Lists',
    '`page` counts from 1; `limit` is 20 by default; its description says how many at most. Values out of range are a VALIDATION_ERROR. A page past the end is empty. Responses can also be paged by `cursor`: follow `pagination.nextCursor` until it is null; the ' +
      'pages then neither repeat nor miss responses while others arrive.',
    '## Limits',
    'Sign-in and refresh together count by client address, submissions by client address and survey, everything else by user or API key (by address without a valid one). IPv6 addresses count by their /64. Each window lasts a minute and starts ' +
      'with its first call. `X-RateLimit-Reset` is in Unix seconds. Past the limit the reply is 429 with `Retry-After`.',
    '## Rights',
    'ADMIN: everything. EDITOR: its own surveys and those shared with it. VIEWER: reads the surveys shared with it. An object that the caller may not see is a 404; an action that is not allowed on an object that it may see is a 403. An API key (`sk_…`) acts as its user with the ' +
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

/** Descriptions of the groups of operations, in the order shown; the `tag` of a route must be one of these. */
export const tagDescriptions: Readonly<Record<string, () => string>> = {
  Authentication: () =>
    'Signing in, exchanging refresh tokens, signing out. By default access tokens are valid for 15 minutes and refresh tokens for 30 days; a refresh token can be used once.',
  Surveys: () =>
    'A survey is a DRAFT until it is published. Only an ACTIVE one takes responses, from `startsAt` to `endsAt` and up to `responseQuota` complete responses. Every status may be set from every other, unless the end has passed or the quota is full.',
  Questions: () => `Differences between the types:\n\n${questionTable()}\n\n${questionRules}`,
  Quotas: () =>
    'Quotas by cell limit how many responses a condition may hold for. They are decided exactly, whatever races, in the step that makes a response durable.',
  Collectors: () =>
    'The ways by which responses come to a survey: links, panels, and lists of invited persons. Responses, exports, filters (`collector:ID`) and crosstabs (`collector`) name them.',
  Translations: () =>
    'The texts of a survey in other languages, edited by hand; texts without a translation are shown in the survey’s own language.',
  Public: () => 'What a respondent may see without a token.',
  Responses: () =>
    'Submitting is public; reading needs the right to read the survey. An accepted response is on disk, appears once, and is counted exactly.',
  Uploads: () => 'Files for FILE_UPLOAD questions: they are uploaded first, then an answer names the `uploadId`.',
  Analytics: () =>
    'Exact counts, never sampled. A submission shows here within two seconds of its acceptance. `completionRate` has one decimal, all other percentages have full precision.',
  Live: liveDescription,
  Exports: () => 'Files with all responses, made in the background and kept for seven days.',
  Webhooks: () =>
    'Deliveries carry `webhook-id`, `webhook-timestamp` and `webhook-signature` as Standard Webhooks has them, and are repeated with the same `webhook-id` until a 2xx reply (15 s at most). It is the id of the event; a batch has one of its own, and the ids of its events in `data.events`. Redirects count as failures, 410 switches the endpoint ' +
    'off, and so does a failure five days or more after the first since the last success. Private, loopback and special addresses are refused.',
  AI: () =>
    'Needs a configured provider; everything else works without one. Calls that take longer than 20 seconds, or wait for the limits of a provider, reply 202 with a `jobId`; a turn of a conversation comes in its own reply. Personal data in answers is replaced by placeholders before they are sent to a provider; EMAIL and FILE_UPLOAD answers ' +
    'are never sent.',
  Users: () => 'For an ADMIN: the users who can sign in, with their roles.',
  'API keys': () => 'Keys for programs, each with a role and, optionally, its own limit of requests a minute.',
  Members: () => 'The owner of a survey, and the users with whom it is shared.',
  Audit: () => 'Who did what to which object. For an ADMIN.',
  Service: () => 'Health, metrics and dead letters. Health and metrics lie beside the base address, not below it.',
  Reference: () => 'This document.',
};

const answerDescriptions: Readonly<Record<QuestionTypeName, string>> = {
  MULTIPLE_CHOICE: '`optionId`; `textValue` where `allowOther` is set',
  CHECKBOXES: '`optionId`, one answer for each choice',
  DROPDOWN: '`optionId`; `textValue` where `allowOther` is set',
  RATING_SCALE: '`numberValue` on the scale',
  NPS: '`numberValue`, whole, 0–10',
  MATRIX: '`rowId` and `optionId`, one answer a row (several where `multiple` is set)',
  RANKING: '`optionId` and `rank` (1…n), or only `optionId`, in the order of the ranks',
  SHORT_TEXT: '`textValue`',
  LONG_TEXT: '`textValue`',
  EMAIL: '`textValue`, a valid address',
  NUMBER: '`numberValue`',
  DATE: '`textValue`, YYYY-MM-DD, in the years 1 to 9999',
  TIME: '`textValue`, HH:MM or HH:MM:SS',
  FILE_UPLOAD: '`textValue`, the `uploadId`',
  SLIDER: '`numberValue` on the scale',
  YES_NO: '`optionId`, or `textValue` "yes" or "no"',
  LIKERT_SCALE: '`optionId`, or `numberValue` 1…n',
};

const questionRules = [
  'A required MATRIX must have an answer in every row, and a required SHORT_TEXT or LONG_TEXT more than white space; any other required question must have an answer. An issue with one has the path of the first answer to it (`answers.3`), or `answers.` and the question’s id if there is none.',
  'A SHORT_TEXT or LONG_TEXT of white space alone is not an answer: the question counts as skipped, and in a response that is continued an earlier answer to it is removed.',
  '`pattern` (RE2 syntax) must match the whole text. Its counted repeats written out, it has at most 1,500 characters and classes, of which 6 Unicode classes (a range past ASCII counts as two where case is ignored); times the longest text that it allows at most 520,000; all patterns of a survey together at most 10,000,000.',
  'A scale that is not a multiple of `step` ends at its last step: 0 to 10 in steps of 3 ends at 9.',
  '`maxSelections` and `maxRanked` may exceed the number of options; `minSelections` may not, and is at least 1 if given.',
  'A LIKERT_SCALE may have any number of options; without any it gets `strongly-disagree`, `disagree`, `neutral`, `agree` and `strongly-agree`, labelled in English.',
  'A survey has at most 500 questions and 200 sections, a question 200 options and 200 rows. All questions and sections of a survey together, with what was removed from it, take at most 2 MiB as JSON; a copy leaves behind what was removed. The conditions of all its quotas together take at most 2 MiB, too.',
  `A survey has ${maxCodePositions} places for answers. A question takes one; a MATRIX one for each row (with \`multiple\` one for each row and 16 columns), CHECKBOXES one for 16 options, RANKING one for each option. Conditions and skips take one more for 16 questions, and rows that can be hidden alone. Deleted questions, options and rows keep their places, and a question may keep those of a former type; a copy of the survey has none of these. A change that does not fit is a VALIDATION_ERROR.`,
  'Sections come in their order, and questions within them in theirs, after those without a section; `order` counts over the whole survey. Conditions (`visibleIf`, `skips`), `optionsFrom` and placeholders (`{{question:ID}}`, `{{question:ID:row:ROWID}}`, `{{metadata:key}}`, `{{invitation:key}}`, each with `|fallback`) may name earlier questions only (`skips`: the question itself too, and a later target), and none that is shuffled with them. They make versions. A change that breaks one is 409 CONDITION_BROKEN; `details.broken` lists what, each with `kind`, `path` and `message`, and `removeConditions=true` removes it with the change.',
  'The “other” text of a choice has at most 500 characters.',
  'When a question is created, leave out settings that are not wanted; null resets a setting to its default only when a question is changed.',
  'The options of YES_NO may have other labels, but keep the values `yes` and `no`.',
  'The `distribution` of a RATING_SCALE has every step; that of a SLIDER with more than 20 steps has 20 equal bins of the scale, from `low` up to but not including `high`. Both have bins if the scale has more than 10,000 points.',
  'The `distribution` of DATE has only the days that were answered.',
]
  .map((note) => `- ${note}`)
  .join('\n');

const optionDescriptions: Readonly<Record<OptionSource, string>> = {
  author: 'at least one',
  default: 'optional, with defaults',
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
