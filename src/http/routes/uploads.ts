import { z } from 'zod';
import type { FormerVersions } from '../../actors/former-versions.ts';
import { closedCollectorsProblem } from '../../actors/submissions/collector-choice.ts';
import { closedProblem, isInvited } from '../../actors/submissions/refusals.ts';
import type { CachedSurvey } from '../../actors/survey-cache.ts';
import type { CurrentSurvey } from '../../actors/survey-lookup.ts';
import { type Question, visibleQuestions } from '../../domain/survey.ts';
import { notFound, Problem, validationProblem } from '../../errors.ts';
import { inspectContent } from '../../stores/uploads/media-type.ts';
import type { Uploads } from '../../stores/uploads/uploads.ts';
import { objectInSurvey } from '../routing/audit.ts';
import { created, type Route, route } from '../routing/route.ts';
import { countSchema, idSchema } from '../schemas/common.ts';
import { rateLimitKeyOf } from '../server/client-address.ts';
import { replyWithFile } from '../server/file-reply.ts';
import { assertNotCompressed } from '../server/request-body.ts';

export interface UploadRoutesDeps {
  uploads: Pick<Uploads, 'reserveRoom' | 'save' | 'find' | 'read'>;
  currentSurvey: CurrentSurvey;
  formerVersions: Pick<FormerVersions, 'removedQuestion'>;
  /** Limit for every file; questions may have a lower one. */
  maxBytes: number;
  /** Keyed hash, in place of an address. */
  keyedHash(scope: string, text: string): string;
  unclaimedMinutes: number;
  now(): number;
  newId(): string;
}

const uploadSchema = z
  .strictObject({
    id: idSchema.describe('The `textValue` of the answer'),
    uploadId: idSchema.describe('The same as `id`'),
    size: countSchema.describe('Bytes'),
    mimeType: z.string().describe('Detected from the content'),
  })
  .meta({ id: 'Upload', description: 'An uploaded file. It is deleted soon unless an answer names it.' });

export function uploadRoutes(deps: UploadRoutesDeps): Route[] {
  return [uploadRoute(deps), downloadRoute(deps)];
}

function uploadRoute({
  uploads,
  currentSurvey,
  formerVersions,
  maxBytes,
  keyedHash,
  unclaimedMinutes,
  now,
  newId,
}: UploadRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/uploads/surveys/{surveyId}/questions/{questionId}',
    operationId: 'uploadFile',
    tag: 'Uploads',
    summary: 'Upload a file for an answer',
    description: [
      'Public. The body is the file itself. Its type is detected from the content, not from its name; the Content-Type only chooses among kinds of plain text, and among the names of one type that the question takes (`audio/webm` and `video/webm`, `audio/mp4` and `video/mp4`, `text/xml` and `application/xml`). The type of an archive is known at its end (ZIP where the question takes ZIP but not what the end says), and a file that is text throughout is text, whatever its first letters are. The question’s `mimeTypes` apply; ' +
        'without `mimeTypes` all types are accepted except archives, programs and documents with macros (415). Names that end as programs, scripts or shortcuts do are refused too, as are those of pages where the question takes no `text/html`, and `image/*` does not include SVG. A body with a `Content-Encoding` is a 415.',
      `A file may have ${maxBytes} bytes, or as few as the question’s \`maxBytes\` says; more is a 413. A \`maxBytes\` beyond that has no effect.`,
      `The answer names the \`uploadId\` as \`textValue\`. An upload belongs to this survey and question and to one response; it is deleted unless a response names it within ${unclaimedMinutes} minutes. A question that was removed takes files as long as a version with it may still be submitted to. An upload names no collector or invitation: it is refused as a submission is (409 COLLECTOR_CLOSED) where no collector of the survey is open.`,
      'An address may upload so many bytes an hour (429), those of refused and broken-off files included, the files of a survey that no response names yet have a budget, and a share of the disk stays free (503 with Retry-After).',
    ].join('\n\n'),
    access: { kind: 'public' },
    limit: 'api',
    bodyKind: 'stream',
    maxBodyBytes: maxBytes,
    reply: uploadSchema,
    replyStatus: 201,
    readsSurveyToken: true,
    handle: async (request) => {
      // A compressed body would be stored as it is, which is another file than the one that was meant.
      assertNotCompressed(request.header('content-encoding'));
      const fileName = readFileName(request.header('x-filename'));
      const cached = await currentSurvey(request.params['surveyId'] ?? '');
      if (!cached) throw notFound('survey');
      const questionId = request.params['questionId'] ?? '';
      assertOpen(cached, { token: request.header('x-survey-token'), nowMs: now() });
      const question =
        visibleQuestions(cached.survey).find(({ id }) => id === questionId) ??
        (await formerVersions.removedQuestion(cached, questionId));
      if (!question) throw notFound('question');
      if (question.type !== 'FILE_UPLOAD')
        throw validationProblem([{ path: 'questionId', message: `takes no files: its type is ${question.type}` }]);
      const limit = Math.min(maxBytes, Number(question.settings['maxBytes'] ?? maxBytes));
      const length = request.header('content-length');
      if (Number(length ?? 0) > limit) throw fileTooLarge(limit);
      const room = await uploads.reserveRoom({
        surveyId: cached.survey.id,
        sender: keyedHash('uploads', rateLimitKeyOf(request.address)),
        bytes: length === undefined ? limit : Number(length),
      });
      let readBytes = 0;
      let countedBytes = 0;
      const countRead = (size: number): void => {
        readBytes = size;
      };
      try {
        const chunks = limitSize(request.bodyChunks(), limit, countRead);
        const { bytes, mimeType } = await inspectContent(chunks, {
          declared: request.header('content-type'),
          acceptedTypes: allowedTypesOf(question),
          fileName,
        });
        const id = newId();
        const saved = await uploads.save(
          { id, surveyId: cached.survey.id, questionId: question.id, fileName, mimeType },
          bytes,
        );
        countedBytes = saved.size;
        return created({ id, uploadId: id, ...saved });
      } catch (error) {
        // A refused or broken-off file was written as far as it was read. A failure of the service is not the sender's.
        if (error instanceof Problem && error.status < 500) countedBytes = readBytes;
        throw error;
      } finally {
        room.settle(countedBytes);
      }
    },
  });
}

function downloadRoute({ uploads }: UploadRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/uploads/{uploadId}',
    operationId: 'downloadUpload',
    tag: 'Uploads',
    summary: 'Download an uploaded file',
    description: 'Always as an attachment. One range of bytes can be requested.',
    access: { kind: 'survey', right: 'read', by: 'uploadId' },
    limit: 'api',
    reply: null,
    replyMediaType: 'application/octet-stream',
    mediaTypes: ['*/*'],
    replyStatus: 200,
    audit: { action: 'upload.downloaded', objectKind: 'upload', describe: objectInSurvey('uploadId') },
    handle: async (request) => {
      const upload = await uploads.find(request.params['uploadId'] ?? '');
      if (!upload) throw notFound('upload');
      return replyWithFile(request, {
        read: (first, last) => uploads.read(upload.id, first, last),
        size: upload.size,
        etag: upload.sha256,
        mediaType: upload.mimeType,
        fileName: upload.fileName,
      });
    },
  });
}

/**
 * Throws the same refusals as a submission. An upload names no collector, so it is refused only where no collector takes
 * a response that could claim it.
 */
function assertOpen(
  { survey, compiled }: CachedSurvey,
  { token, nowMs }: { token: string | undefined; nowMs: number },
): void {
  if (!isInvited(survey, token)) throw new Problem('FORBIDDEN', 'This survey takes uploads only with its token');
  const problem = closedProblem(survey, nowMs) ?? closedCollectorsProblem(compiled.collectors, nowMs);
  if (problem) throw problem;
}

const allowedTypesOf = ({ settings }: Question): string[] | undefined =>
  z.array(z.string()).optional().parse(settings['mimeTypes']);

function fileTooLarge(limit: number): Problem {
  return new Problem('PAYLOAD_TOO_LARGE', `The file is larger than ${limit} bytes`);
}

async function* limitSize(
  chunks: AsyncGenerator<Buffer>,
  limit: number,
  onRead: (size: number) => void,
): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    onRead(size);
    if (size > limit) throw fileTooLarge(limit);
    yield chunk;
  }
}

const maxNameLength = 200;

/** The last part of a percent-encoded path, without control and direction marks, which could mislead a reader. */
export function readFileName(header: string | undefined): string {
  if (header === undefined) return 'upload';
  if (header.length > 2000 || !/^[\x20-\x7e]*$/.test(header))
    throw validationProblem([
      { path: 'X-Filename', message: 'must be percent-encoded UTF-8 of at most 2000 characters' },
    ]);
  let name: string;
  try {
    name = decodeURIComponent(header);
  } catch {
    throw validationProblem([{ path: 'X-Filename', message: 'is not valid percent-encoded UTF-8' }]);
  }
  const last = name.split(/[/\\]/).at(-1) ?? '';
  const clean = last
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '')
    .trim()
    .replace(/^\.+/, '');
  return clean === '' ? 'upload' : [...clean].slice(-maxNameLength).join('');
}
