import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { refusal } from '../../actors/submissions/refusals.ts';
import type { Collector } from '../../domain/collectors/collector.ts';
import {
  type InvitationStatus,
  invitationStatusAt,
  invitationStatuses,
  maxInvitations,
} from '../../domain/collectors/invitation.ts';
import { notFound, unavailable, validationProblem } from '../../errors.ts';
import type { Secrets } from '../../platform/secrets.ts';
import { createSemaphore } from '../../platform/semaphore.ts';
import { runInSlices, type SlicedWork } from '../../platform/slices.ts';
import type { InvitationRecord, InvitationStore, InvitationToAdd } from '../../stores/postgres/invitations.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import { invitationMediaTypes, readInvitationRows } from '../invitation-rows.ts';
import { objectInSurvey } from '../routing/audit.ts';
import { ok, pageInSlices, type Route, route } from '../routing/route.ts';
import { invitationCountsSchema, invitationSchema, revokedUploadBody } from '../schemas/collectors.ts';
import { countSchema } from '../schemas/common.ts';
import { pageFields } from '../schemas/query-fields.ts';
import { assertNotCompressed } from '../server/request-body.ts';

export interface InvitationRoutesDeps {
  invitations: InvitationStore;
  surveys: Pick<SurveyStore, 'load'>;
  secrets: Pick<Secrets, 'invitationHash'>;
  now(): number;
  newId(): string;
}

const maxUploadBytes = 64 * 1024 * 1024;
/** A slower upload is refused, so that its rows do not stay in memory. */
const uploadTimeoutMs = 120_000;
const uploadLimits = {
  concurrency: 2,
  maxQueued: 0,
  retryAfterSeconds: 10,
  queueFullMessage: 'Too many invitations are being made right now',
};
/** 128 random bits: 22 characters. */
const tokenBytes = 16;
/** Lines that one piece of the reply has. */
const linesAtOnce = 1000;
const replyType = 'application/x-ndjson; charset=utf-8';

export function invitationRoutes(deps: InvitationRoutesDeps): Route[] {
  const { invitations, surveys, now } = deps;
  const uploads = createSemaphore(uploadLimits);
  const findCollector = async (surveyId: string, collectorId: string): Promise<Collector> => {
    const survey = await surveys.load(surveyId);
    const found = survey?.collectors?.find(({ id, isDeleted }) => id === collectorId && !isDeleted);
    if (!found) throw notFound('collector');
    return found;
  };
  const presented = (record: InvitationRecord) => presentInvitation(record, now());

  return [
    route({
      method: 'POST',
      path: '/collectors/{collectorId}/invitations',
      operationId: 'createInvitations',
      tag: 'Collectors',
      summary: 'Make invitations',
      description: [
        `Takes up to ${maxInvitations.toLocaleString('en')} rows in up to ${maxUploadBytes / 2 ** 20} MiB, as JSON lines (\`application/x-ndjson\`: \`{reference?, language?, expiresAt?, metadata?}\`) or CSV (\`text/csv\`, with a line of names: reference, language, expiresAt, and metadata.KEY for each key of the metadata; semicolons or tabs may separate where that line has no comma). Only for a collector of kind INVITATION. Either all rows are stored or none: VALIDATION_ERROR names what is wrong by line (\`lines.7.expiresAt\`). A \`reference\` stands once in a file.`,
        'The reply has one line of JSON for each row, in the same order: `{"reference": "guest-17", "token": "…"}`. A token has 128 random bits and is shown only here: where the reply was lost, revoke the upload and make another. It is sent as `invitation` in the body of a submission, and is good for one response.',
      ].join('\n\n'),
      access: { kind: 'survey', right: 'edit', by: 'collectorId' },
      limit: 'api',
      bodyKind: 'stream',
      bodyMediaTypes: invitationMediaTypes,
      maxBodyBytes: maxUploadBytes,
      reply: null,
      replyMediaType: 'application/x-ndjson',
      replyStatus: 201,
      audit: { action: 'invitations.created', objectKind: 'collector', describe: objectInSurvey('collectorId') },
      handle: async ({ params, survey, header, bodyChunks }) => {
        const collectorId = params['collectorId'] ?? '';
        assertNotCompressed(header('content-encoding'));
        const { kind } = await findCollector(survey.id, collectorId);
        if (kind !== 'INVITATION')
          throw validationProblem([
            { path: 'collectorId', message: 'is a collector of kind OPEN, which has no invitations' },
          ]);
        const made = await uploads.run(async () => {
          const rows = await readInvitationRows(inTime(bodyChunks()), header('content-type'), now());
          const withTokens = await runInSlices(addTokens(deps, rows));
          await invitations.add({ collectorId, surveyId: survey.id, at: new Date(now()) }, withTokens);
          return withTokens;
        });
        return {
          kind: 'stream',
          status: 201,
          headers: [
            ['content-type', replyType],
            ['cache-control', 'no-store'],
            ['x-content-type-options', 'nosniff'],
          ],
          source: replyLines(made),
        };
      },
    }),
    route({
      method: 'GET',
      path: '/collectors/{collectorId}/invitations',
      operationId: 'listInvitations',
      tag: 'Collectors',
      summary: 'List invitations',
      description: `In the order of the uploaded rows. The use of an invitation shows within seconds; in an anonymous survey by its day alone, once ten of the collector were used or after an hour; until then it is UNUSED.`,
      access: { kind: 'survey', right: 'read', by: 'collectorId' },
      limit: 'api',
      query: z.strictObject({
        ...pageFields(100),
        status: z.enum(invitationStatuses).optional(),
        reference: z.string().min(1).max(200).optional().describe('Exactly this reference'),
      }),
      reply: z.array(invitationSchema),
      replyStatus: 200,
      isPaged: true,
      handle: async ({ params, query, principal }) => {
        const collectorId = params['collectorId'] ?? '';
        const { items, total } = await invitations.list({ collectorId, ...query, now: new Date(now()) });
        return pageInSlices(items.map(presented), { page: query.page, limit: query.limit, total }, principal.userId);
      },
    }),
    route({
      method: 'GET',
      path: '/collectors/{collectorId}/invitations/counts',
      operationId: 'countInvitations',
      tag: 'Collectors',
      summary: 'Count invitations by status',
      access: { kind: 'survey', right: 'read', by: 'collectorId' },
      limit: 'api',
      reply: invitationCountsSchema,
      replyStatus: 200,
      handle: async ({ params }) => {
        const byStatus = await invitations.counts(params['collectorId'] ?? '', new Date(now()));
        return ok({ total: Object.values(byStatus).reduce((sum, count) => sum + count, 0), byStatus });
      },
    }),
    route({
      method: 'POST',
      path: '/collectors/{collectorId}/invitations/revoke',
      operationId: 'revokeUploadedInvitations',
      tag: 'Collectors',
      summary: 'Revoke the unused invitations of an upload',
      description:
        'For an upload whose reply was lost, and with it the tokens. Invitations that were used stay as they are; those of an anonymous survey whose use is not shown yet are revoked too.',
      access: { kind: 'survey', right: 'edit', by: 'collectorId' },
      limit: 'api',
      body: revokedUploadBody,
      reply: z.strictObject({ revoked: countSchema }),
      replyStatus: 200,
      audit: {
        action: 'invitations.revoked',
        objectKind: 'collector',
        describe: ({ params, survey }, { revoked }) => ({
          objectId: params['collectorId'] ?? '',
          details: { surveyId: survey.id, revoked },
        }),
      },
      handle: async ({ params, body }) => {
        const moments = { madeAt: body.uploadedAt, at: new Date(now()) };
        return ok({ revoked: await invitations.revokeUpload(params['collectorId'] ?? '', moments) });
      },
    }),
    route({
      method: 'POST',
      path: '/collectors/{collectorId}/invitations/{invitationId}/revoke',
      operationId: 'revokeInvitation',
      tag: 'Collectors',
      summary: 'Revoke an invitation',
      description:
        'Submissions that begin after the reply get 409 INVITATION_REVOKED. What was saved in part stays. 409 INVITATION_USED if the response is complete, or if the survey is anonymous and has a response.',
      access: { kind: 'survey', right: 'edit', by: 'collectorId' },
      limit: 'api',
      reply: invitationSchema,
      replyStatus: 200,
      audit: { action: 'invitation.revoked', objectKind: 'invitation', describe: objectInSurvey('invitationId') },
      handle: async ({ params, survey }) => {
        const revoked = await invitations.revoke(params['collectorId'] ?? '', params['invitationId'] ?? '', {
          at: new Date(now()),
          isAnonymous: survey.isAnonymous,
        });
        if (!revoked) throw notFound('invitation');
        if (revoked.status !== 'REVOKED') throw refusal('invitationUsed');
        return ok(presented(revoked));
      },
    }),
  ];
}

/** Chunks of a body; SERVICE_UNAVAILABLE once it has taken too long. */
async function* inTime(chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  let timer: NodeJS.Timeout | undefined;
  const tooSlow = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(unavailable('The upload takes too long', 10)), uploadTimeoutMs);
    timer.unref();
  });
  tooSlow.catch(() => undefined);
  try {
    for (;;) {
      const { done, value } = await Promise.race([chunks.next(), tooSlow]);
      if (done) return;
      yield value;
    }
  } finally {
    clearTimeout(timer);
  }
}

type WithToken = InvitationToAdd & { token: string };

function* addTokens(
  { secrets, newId }: InvitationRoutesDeps,
  rows: Awaited<ReturnType<typeof readInvitationRows>>,
): SlicedWork<WithToken[]> {
  const made: WithToken[] = [];
  // At once: a call for each takes as long as all the rest.
  const random = randomBytes(tokenBytes * rows.length);
  for (const [index, row] of rows.entries()) {
    const token = random.toString('base64url', tokenBytes * index, tokenBytes * (index + 1));
    made.push({ ...row, id: newId(), token, tokenHash: secrets.invitationHash(token) });
    if (index % 50 === 49) yield;
  }
  return made;
}

async function* replyLines(made: readonly WithToken[]): AsyncGenerator<Buffer> {
  for (let from = 0; from < made.length; from += linesAtOnce) {
    const lines = made
      .slice(from, from + linesAtOnce)
      .map(({ reference, token }) => `${JSON.stringify({ reference: reference === '' ? null : reference, token })}\n`);
    yield Buffer.from(lines.join(''));
    await nextTurn();
  }
}

const isoOrNull = (date: Date | null): string | null => date?.toISOString() ?? null;

function presentInvitation(record: InvitationRecord, nowMs: number) {
  const status: InvitationStatus = invitationStatusAt(record, nowMs);
  return {
    id: record.id,
    collectorId: record.collectorId,
    reference: record.reference,
    language: record.language,
    expiresAt: isoOrNull(record.expiresAt),
    metadata: record.metadata,
    status,
    createdAt: record.createdAt.toISOString(),
    usedOn: record.usedOn,
    startedAt: isoOrNull(record.startedAt),
    completedAt: isoOrNull(record.completedAt),
    revokedAt: isoOrNull(record.revokedAt),
    responseId: record.responseId,
  };
}
