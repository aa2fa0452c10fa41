import { z } from 'zod';
import { editionsOf } from '../../domain/analytics/annotation-variables.ts';
import { exportFileTypes, metadataPrefix, responseFieldNames } from '../../domain/export-formats.ts';
import type { SurveyWithQuestions } from '../../domain/survey.ts';
import { conflict, notFound, Problem, type ValidationIssue } from '../../errors.ts';
import type { AnnotationStore } from '../../stores/annotations.ts';
import type { ExportFiles } from '../../stores/export-files.ts';
import {
  type CreatedExport,
  type ExportRecord,
  type ExportStore,
  endedRetentionDays,
  maxOpenExports,
} from '../../stores/postgres/exports.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import { loadSurvey } from '../load-survey.ts';
import { objectInSurvey } from '../routing/audit.ts';
import { accepted, ok, page, type Route, route } from '../routing/route.ts';
import { conditionsOf, filterField } from '../schemas/analytics-variables.ts';
import { deletedSchema, idSchema } from '../schemas/common.ts';
import { acceptedExportSchema, exportFormatSchema, exportSchema, exportStatusSchema } from '../schemas/exports.ts';
import { countedOutcomesText, outcomeBodyField } from '../schemas/outcome.ts';
import { endField, invertedRangeIssue, isRangeInverted, pageFields, startField } from '../schemas/query-fields.ts';
import { replyWithFile } from '../server/file-reply.ts';

export interface ExportRoutesDeps {
  exports: Pick<ExportStore, 'create' | 'find' | 'list' | 'remove'>;
  files: Pick<ExportFiles, 'path' | 'size' | 'remove'>;
  surveys: Pick<SurveyStore, 'load'>;
  annotations: Pick<AnnotationStore, 'findByNames'>;
  /** Maximum bytes of the finished files of a user; above it no more are begun. */
  maxUserBytes: number;
  now(): number;
  newId(): string;
}

const exportBody = z
  .strictObject({
    format: exportFormatSchema,
    startDate: startField.optional(),
    endDate: endField.optional(),
    isComplete: z.boolean().optional().describe('Only complete or only incomplete responses'),
    outcome: outcomeBodyField,
    filters: z
      .array(filterField)
      .max(20)
      .default([])
      .describe(
        '`questionId:optionValue`, or `questionId:rowValue:columnValue` for a MATRIX; all must hold. After an AI analysis also annotations, as in `filter` of the statistics: those of the last analysis that had finished when the export was requested',
      ),
    columns: z
      .array(z.string().min(1).max(200))
      .min(1)
      .max(1000)
      .optional()
      .describe(
        `The columns of the file, in this order: any of ${responseFieldNames.join(', ')}, ids of questions, and \`metadata.key\` for one key of the metadata (JSON and NDJSON have all metadata or none). By default all of these (surveyId only in JSON and NDJSON, since it is the same in every line, and collectorId only where the survey has a second collector), without removed questions`,
      ),
    labels: z
      .enum(['text', 'value'])
      .default('text')
      .describe(
        'Options and headings as labels, or as values and numbers of questions: `Q1`, `Q2:optionValue`. A PDF and the summary of a workbook always have labels',
      ),
    missing: z
      .enum(['empty', 'labelled'])
      .default('empty')
      .describe(
        '`labelled` tells skipped answers from questions that were not asked: CSV and EXCEL have `(not asked)` in the cells of the latter, SPSS user-missing values with the labels Skipped and Not asked (-99 and -98, or -999 and -998 … where answers reach that far; a text has only the second, and is empty if it was skipped), PARQUET a column with the status of each question or row, JSON and NDJSON `statuses`. A question of a partial response after the last answered one was not asked',
      ),
  })
  .refine((body) => !isRangeInverted(body), invertedRangeIssue);

const columnsText = `One line a response, oldest first, with the responses that were accepted before the request. The columns are id, surveyVersion, submittedAt, completedAt, isComplete, durationSeconds, language,
respondent (not for anonymous surveys), outcome, then the questions, then a column \`metadata.key\` for each of the 100 most frequent keys of the metadata, then all metadata as a JSON text. CHECKBOXES and a MATRIX with several answers have a column an option that holds 1 or 0 (empty: not answered), a MATRIX has a column
a row, a RANKING a column an item that holds its rank; \`allowOther\` adds a column for the other text. With labels "value" a heading is Q1 or Q1:optionValue; questions are numbered by their order in the survey, in a PDF too, whatever columns are asked for. CSV is UTF-8 with a byte order mark (RFC 4180);
text that begins with apostrophes, if any, and one of = + - @ tab CR LF NUL or their full-width forms gets one more apostrophe in front, so that no spreadsheet runs it, and so does such a sign behind a semicolon, tab or
line end within a text (with apostrophes or quotation marks between them, if any), since some spreadsheets begin a cell there; ";-)" stays as it is. Taking each away again gives the exact text. Semicolons in metadata are spelled \\u003b.
JSON and NDJSON hold responses with the fields that GET /responses/surveys/{surveyId} gives, and the wording (or value) of options and rows beside their ids, as \`option\` and \`row\`. isComplete is true or false in CSV, JSON and
NDJSON, a boolean in PARQUET, in EXCEL the number 1 or 0 shown as true or false, and in SPSS 1 or 0 with the labels Yes and No. Variables of an SPSS file are named Q1, or Q2_1, Q2_2 … where a question has several columns (Q3_2_1 for row 2 and option 1 of a MATRIX with several answers; options and rows are numbered as they were made, so another order renames nothing), M_key for the metadata (a number if all its values are), and labelled by the headings in 255 bytes: a longer question is cut at its end, its option or row in the middle. Answers in it are cut at 32,767 bytes, which are 8,191 characters of four bytes such as emoji; the metadata as a JSON text are left out where those of any response take more. Labels of options have 120 bytes: longer ones are cut in the middle, and where two would be alike then, have their value in front. The value of an option is the value that the author set if those of all options are numbers (a value that the service made from a text with a minus or a decimal point in front of its digits, as 2 from -2, is none),
otherwise the point on the scale (1…n) for LIKERT_SCALE and MATRIX, which are ordinal, and a fixed number for others; "Other" has the greatest number from 0 down that no option has, and is user-missing if the options are numbers of the author. CHECKBOXES are a multiple-response set, and so is each row of a MATRIX with several answers. EXCEL continues on a further sheet after 1,048,576 rows, leaves out characters that XML forbids and
cuts texts at 32,767 characters. The tables of a MATRIX and RANKING in its summary have at most 200,000 counts and percentages: a line stands for each that is left out. A file fails, and says so, as EXCEL above 16,384 columns, and as PARQUET where it would have more than 300,000 pieces of columns (from some 5,000 responses on with 15,000 columns, from 300,000 on with 2,000; with fewer where open answers are long). A PDF, and the summary of a workbook, count what the file covers: the head all responses, by outcome too. ${countedOutcomesText} The head then says which are left out, and how many. Of a selection the head also names the days, outcomes, filters and the number of questions that were chosen. The responses that a question counts answered it, skipped it or, where there are any, were not asked. Answers are in the order of the scale or of the author’s options and rows. Percentages are of those who answered the question, for a MATRIX
of those who answered the row; where several may be chosen they can add up to more than 100. Words are counted by mentions and have no percentage. Of words the 15 most frequent are shown, of other answers 40, each with
a last line that says how many different ones are left out and how often they occur. Days are shown in order of time: where there are more than 40, by month, year or decade, those without an answer included. The chart of responses in a PDF has all of them by day in UTC, and by month or year where more than 60 days lie between the first and the last. A PDF of all responses and questions shows the themes of the last AI analysis, as percentages of the responses that were analysed, whose number it tells. A PDF draws Latin, Greek, Cyrillic, Devanagari, Arabic, Hebrew, Chinese, Japanese and Korean letters and emoji; letters of other scripts, as Thai or Bengali, are empty boxes that can be searched and copied. It rounds (percentages
to one decimal, means to two decimals or four digits); the summary of a workbook holds full values. The mean duration is averageDuration of the statistics. A row of a MATRIX has a mean only if its columns are labelled 1, 2, 3 …, since others need not be a scale.`;

/** An export as the API shows it. */
export function presentExport(record: ExportRecord) {
  const {
    id,
    surveyId,
    format,
    status,
    progress,
    createdAt,
    rowCount,
    fileSize,
    sha256,
    error,
    completedAt,
    expiresAt,
  } = record;
  return {
    id,
    exportId: id,
    surveyId,
    format,
    status,
    progress,
    createdAt: createdAt.toISOString(),
    rowCount,
    fileSize,
    sha256,
    downloadUrl: status === 'COMPLETED' ? `/api/v1/exports/${id}/download` : null,
    error,
    completedAt: completedAt?.toISOString() ?? null,
    expiresAt: expiresAt?.toISOString() ?? null,
  };
}

function refusedExport(
  created: Exclude<CreatedExport, { kind: 'created' }>,
  { maxUserBytes }: Pick<ExportRoutesDeps, 'maxUserBytes'>,
): Problem {
  if (created.kind === 'too many')
    return new Problem(
      'RATE_LIMITED',
      `You have ${maxOpenExports} files that are not made yet: wait for them, or remove some`,
      { retryAfterSeconds: 10 },
    );
  const message = `Your files have ${created.userBytes} bytes, and may have ${maxUserBytes}: remove some`;
  return new Problem('RATE_LIMITED', message, { retryAfterSeconds: 60 });
}

export function exportRoutes(deps: ExportRoutesDeps): Route[] {
  const find = async (id: string | undefined): Promise<ExportRecord> => {
    const record = await deps.exports.find(id ?? '');
    if (!record) throw notFound('export');
    return record;
  };
  return [
    route({
      method: 'POST',
      path: '/exports/surveys/{surveyId}',
      operationId: 'requestExport',
      tag: 'Exports',
      summary: 'Request an export',
      description: `${columnsText}\n\nExports are made one after the other; a user may have ${maxOpenExports} unfinished ones, and finished files of so many bytes (429). Where the disk has no room beside its reserve, an export fails.`,
      access: { kind: 'survey', right: 'read', by: 'surveyId' },
      limit: 'api',
      body: exportBody,
      reply: acceptedExportSchema,
      replyStatus: 202,
      audit: {
        action: 'export.requested',
        objectKind: 'export',
        describe: ({ survey }, data) => ({
          objectId: String(data['exportId']),
          details: { surveyId: survey.id, format: data['format'] },
        }),
      },
      handle: async ({ params, body, principal }) => {
        const survey = await loadSurvey(deps.surveys, params['surveyId']);
        const known = await deps.annotations.findByNames(survey.id, { filters: body.filters });
        const issues = columnIssues(survey, body.columns);
        // They keep what they select, so that later changes of the survey, or other rules of a newer version, do not
        // change the file.
        const conditions = await conditionsOf({ survey, known }, body.filters, 'filters', issues);
        const record = {
          id: deps.newId(),
          surveyId: survey.id,
          userId: principal.userId,
          format: body.format,
          surveyVersion: survey.version,
          createdAt: new Date(deps.now()),
          options: {
            startDate: body.startDate?.toISOString(),
            endDate: body.endDate?.toISOString(),
            isComplete: body.isComplete,
            outcomes: body.outcome,
            filters: body.filters,
            conditions,
            editions: editionsOf(known),
            columns: body.columns,
            labels: body.labels,
            missing: body.missing === 'labelled' ? body.missing : undefined,
          },
        };
        const created = await deps.exports.create(record, { maxUserBytes: deps.maxUserBytes });
        if (created.kind !== 'created') throw refusedExport(created, deps);
        return accepted({
          id: record.id,
          exportId: record.id,
          surveyId: survey.id,
          format: body.format,
          status: 'PENDING',
          progress: 0,
          createdAt: record.createdAt.toISOString(),
        });
      },
    }),
    route({
      method: 'GET',
      path: '/exports',
      operationId: 'listExports',
      tag: 'Exports',
      summary: 'List one’s own exports, newest first',
      description: `Only those of surveys that the caller may still read. Failed and expired ones are removed from the list after ${endedRetentionDays} days.`,
      access: { kind: 'user' },
      limit: 'api',
      query: z.strictObject({
        ...pageFields(100),
        surveyId: idSchema.optional(),
        status: exportStatusSchema.optional(),
      }),
      reply: z.array(exportSchema),
      replyStatus: 200,
      isPaged: true,
      handle: async ({ query, principal }) => {
        const readsAllSurveys = principal.role === 'ADMIN';
        const { items, total } = await deps.exports.list({ userId: principal.userId, readsAllSurveys, ...query });
        return page(items.map(presentExport), { page: query.page, limit: query.limit, total });
      },
    }),
    route({
      method: 'GET',
      path: '/exports/{exportId}',
      operationId: 'getExport',
      tag: 'Exports',
      summary: 'See how far an export is',
      access: { kind: 'survey', right: 'read', by: 'exportId' },
      limit: 'api',
      reply: exportSchema,
      replyStatus: 200,
      handle: async ({ params }) => ok(presentExport(await find(params['exportId']))),
    }),
    route({
      method: 'GET',
      path: '/exports/{exportId}/download',
      operationId: 'downloadExport',
      tag: 'Exports',
      summary: 'Download the file',
      description:
        'With Content-Disposition, Content-Length and ETag. 409 EXPORT_NOT_READY before the file is there, 404 when it has expired or was lost.',
      access: { kind: 'survey', right: 'read', by: 'exportId' },
      limit: 'api',
      reply: null,
      mediaTypes: Object.values(exportFileTypes).map(({ mediaType }) => mediaType.split(';', 1)[0] ?? mediaType),
      replyMediaType: 'application/octet-stream',
      replyStatus: 200,
      audit: { action: 'export.downloaded', objectKind: 'export', describe: objectInSurvey('exportId') },
      handle: async (request) => {
        const record = await find(request.params['exportId']);
        if (record.status === 'EXPIRED')
          throw notFound(`file any more${record.error === null ? ': it has expired' : `. ${record.error}`}`);
        if (record.status === 'FAILED') throw conflict('EXPORT_NOT_READY', 'The export failed: there is no file');
        if (record.status !== 'COMPLETED' || record.sha256 === null)
          throw conflict('EXPORT_NOT_READY', 'The file is not ready yet');
        const size = await deps.files.size(record.id);
        // As after a restore, since backups need not hold the files.
        if (size === undefined) throw notFound('file any more: it was lost. Please ask for it again');
        const { mediaType, ending } = exportFileTypes[record.format];
        return replyWithFile(request, {
          path: deps.files.path(record.id),
          size,
          etag: record.sha256,
          mediaType,
          fileName: `${fileNameOf(request.survey.title)}-${record.createdAt.toISOString().slice(0, 10)}.${ending}`,
        });
      },
    }),
    route({
      method: 'DELETE',
      path: '/exports/{exportId}',
      operationId: 'deleteExport',
      tag: 'Exports',
      summary: 'Cancel an export, or remove its file',
      description:
        'For the user who requested it, and for callers who may edit the survey; others who may read the survey get 403.',
      access: { kind: 'survey', right: 'read', by: 'exportId' },
      limit: 'api',
      reply: deletedSchema,
      replyStatus: 200,
      audit: { action: 'export.deleted', objectKind: 'export', describe: objectInSurvey('exportId') },
      handle: async ({ params, principal, right }) => {
        const record = await find(params['exportId']);
        if (record.userId !== principal.userId && right === 'read') throw new Problem('FORBIDDEN');
        await deps.exports.remove(record.id);
        await deps.files.remove(record.id);
        return ok({ id: record.id, deleted: true });
      },
    }),
  ];
}

function columnIssues(survey: SurveyWithQuestions, columns: readonly string[] = []): ValidationIssue[] {
  const issues: ValidationIssue[] = [];
  for (const [index, name] of columns.entries()) {
    const isField = responseFieldNames.some((field) => field === name) || name.startsWith(metadataPrefix);
    if (!isField && !survey.questions.some(({ id }) => id === name))
      issues.push({ path: `columns.${index}`, message: 'is neither a column nor a question of this survey' });
    else if (columns.indexOf(name) < index) issues.push({ path: `columns.${index}`, message: 'is named twice' });
    else if (name === 'respondent' && survey.isAnonymous)
      issues.push({ path: `columns.${index}`, message: 'is not known of an anonymous survey' });
  }
  return issues;
}

/** The title of a survey as a part of a file name: no path, no control characters, at most 80 characters. */
function fileNameOf(title: string): string {
  const plain = title
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}/\\:*?"<>|]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return (
    [...plain]
      .slice(0, 80)
      .join('')
      .replace(/^[. ]+|[. ]+$/g, '') || 'survey'
  );
}
