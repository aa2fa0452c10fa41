import { z } from 'zod';
import { closedProblem, isInvited } from '../../actors/submissions/refusals.ts';
import type { CachedSurvey } from '../../actors/survey-cache.ts';
import type { CurrentSurvey } from '../../actors/survey-lookup.ts';
import type { Question } from '../../domain/survey.ts';
import { notFound, Problem, validationProblem } from '../../errors.ts';
import { inspectContent } from '../../stores/uploads/media-type.ts';
import type { Uploads } from '../../stores/uploads/uploads.ts';
import { objectInSurvey } from '../routing/audit.ts';
import { created, type Route, route } from '../routing/route.ts';
import { countSchema, idSchema } from '../schemas/common.ts';
import { replyWithFile } from '../server/file-reply.ts';

export interface UploadRoutesDeps {
  uploads: Pick<Uploads, 'save' | 'find' | 'read'>;
  currentSurvey: CurrentSurvey;
  /** The largest file that is ever taken. */
  maxBytes: number;
  now(): number;
  newId(): string;
}

const uploadSchema = z
  .strictObject({
    uploadId: idSchema.describe('The `textValue` of the answer'),
    size: countSchema.describe('Bytes'),
    mimeType: z.string().describe('Found by looking at the content'),
  })
  .meta({ id: 'Upload', description: 'A file that an answer can name; it goes after 24 hours unless one does.' });

export function uploadRoutes(deps: UploadRoutesDeps): Route[] {
  return [uploadRoute(deps), downloadRoute(deps)];
}

function uploadRoute({ uploads, currentSurvey, maxBytes, now, newId }: UploadRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/uploads/surveys/{surveyId}/questions/{questionId}',
    tag: 'Uploads',
    summary: 'Upload a file for an answer',
    description: [
      'Public. The body is the file itself. Its type is found by looking at the content, not at its name or Content-Type, which only chooses among kinds of plain text. The question’s `maxBytes` and `mimeTypes` hold; ' +
        'without `mimeTypes` everything is taken but packed files and programs (415). A body with a `Content-Encoding` is a 415.',
      'The answer names the `uploadId` as `textValue`. An upload belongs to this survey and question and to one response; unless a response claims it within 24 hours, it goes.',
    ].join('\n\n'),
    access: { kind: 'public' },
    limit: 'api',
    bodyKind: 'stream',
    maxBodyBytes: maxBytes,
    reply: uploadSchema,
    replyStatus: 201,
    handle: async (request) => {
      assertNotCompressed(request.header('content-encoding'));
      const fileName = readFileName(request.header('x-filename'));
      const cached = await currentSurvey(request.params['surveyId'] ?? '');
      if (!cached) throw notFound('survey');
      const question = findOpenQuestion(cached, request.params['questionId'] ?? '', {
        token: request.header('x-survey-token'),
        nowMs: now(),
      });
      const limit = Math.min(maxBytes, Number(question.settings['maxBytes'] ?? maxBytes));
      if (Number(request.header('content-length') ?? 0) > limit) throw fileTooLarge(limit);
      const chunks = limitSize(request.bodyChunks(), limit);
      const { bytes, mimeType } = await inspectContent(chunks, {
        declared: request.header('content-type'),
        acceptedTypes: allowedTypesOf(question),
      });
      const id = newId();
      const saved = await uploads.save(
        { id, surveyId: cached.survey.id, questionId: question.id, fileName, mimeType },
        bytes,
      );
      return created({ uploadId: id, ...saved });
    },
  });
}

function downloadRoute({ uploads }: UploadRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/uploads/{uploadId}',
    tag: 'Uploads',
    summary: 'Download an uploaded file',
    description: 'Always as an attachment. One range of bytes may be asked for.',
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

/** The question, if it takes files now from who asks; the refusals are those of a submission. */
function findOpenQuestion(
  cached: CachedSurvey,
  questionId: string,
  { token, nowMs }: { token: string | undefined; nowMs: number },
): Question {
  const { survey } = cached;
  if (!isInvited(survey, token)) throw new Problem('FORBIDDEN', 'This survey takes uploads only with its token');
  const question = survey.questions.find(({ id, isHidden }) => id === questionId && !isHidden);
  if (!question) throw notFound('question');
  if (question.type !== 'FILE_UPLOAD')
    throw validationProblem([{ path: 'questionId', message: `takes no files: its type is ${question.type}` }]);
  const problem = closedProblem(survey, nowMs);
  if (problem) throw problem;
  return question;
}

const allowedTypesOf = ({ settings }: Question): string[] | undefined =>
  z.array(z.string()).optional().parse(settings['mimeTypes']);

/** A packed body would be kept as it came, and be another file than the one that was meant. */
function assertNotCompressed(encoding: string | undefined): void {
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity')
    throw new Problem('UNSUPPORTED_MEDIA_TYPE', 'The body must not be compressed for the way');
}

function fileTooLarge(limit: number): Problem {
  return new Problem('PAYLOAD_TOO_LARGE', `The file is larger than ${limit} bytes`);
}

async function* limitSize(chunks: AsyncGenerator<Buffer>, limit: number): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > limit) throw fileTooLarge(limit);
    yield chunk;
  }
}

const maxNameLength = 200;

/** The last part of a percent-encoded name, without what could mislead a reader: control and direction marks, folders. */
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
