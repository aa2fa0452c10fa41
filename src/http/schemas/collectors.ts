import { z } from 'zod';
import { collectorKinds } from '../../domain/collectors/collector.ts';
import { invitationStatuses } from '../../domain/collectors/invitation.ts';
import { maxMetadataKeyLength, maxMetadataPairs, maxMetadataTextLength } from '../../domain/metadata.ts';
import { boundedRecord } from '../../platform/bounded-record.ts';
import { countSchema, daySchema, idSchema, languageField, languageSchema, timeSchema } from './common.ts';
import { timestampField } from './query-fields.ts';

export const collectorStateSchema = z.enum(['OPEN', 'PAUSED', 'NOT_OPEN_YET', 'ENDED', 'QUOTA_REACHED']).meta({
  id: 'CollectorState',
  description:
    'What follows from `isActive`, the dates and the quota of a collector. It takes submissions while it is OPEN and its survey is open.',
});

const kindSchema = z.enum(collectorKinds).meta({
  id: 'CollectorKind',
  description: 'OPEN takes submissions from everybody, INVITATION only with the token of an invitation.',
});

/** Texts by key, as notes of whoever runs the survey. */
export const notesSchema = boundedRecord(
  z.string().min(1).max(maxMetadataKeyLength),
  z.string().max(maxMetadataTextLength),
  { maxProperties: maxMetadataPairs, noun: 'pairs' },
);

export const collectorSchema = z
  .strictObject({
    id: idSchema,
    surveyId: idSchema,
    linkId: z.string().describe('A short id for links; it never changes'),
    name: z.string(),
    kind: kindSchema,
    isDefault: z.boolean().describe('Whether submissions that name no collector come by this one'),
    isActive: z.boolean(),
    state: collectorStateSchema,
    opensAt: timeSchema.nullable(),
    closesAt: timeSchema.nullable(),
    responseQuota: z.number().int().min(1).nullable(),
    completeResponses: countSchema.nullable().describe('Null while the intake cannot be asked'),
    language: languageSchema.nullable().describe('Of responses that name no language; null: that of the survey'),
    metadata: z.record(z.string(), z.string()).describe('Notes; they are not stored with responses'),
    createdAt: timeSchema,
    updatedAt: timeSchema,
  })
  .meta({ id: 'Collector', description: 'A way by which responses come to a survey.' });

export const publicCollectorSchema = z
  .strictObject({
    surveyId: idSchema,
    collectorId: idSchema.describe('For `collectorId` of submissions'),
    kind: kindSchema,
    language: languageSchema.nullable(),
  })
  .meta({ id: 'PublicCollector', description: 'What the link of a collector stands for.' });

const fields = {
  name: z.string().trim().min(1).max(200),
  kind: kindSchema,
  isActive: z.boolean().describe('False pauses the collector'),
  opensAt: timestampField.nullable(),
  closesAt: timestampField.nullable(),
  responseQuota: z
    .number()
    .int()
    .min(1)
    .nullable()
    .describe('Complete responses after which it takes no more; never exceeded. A deletion gives a seat back'),
  language: languageField.nullable(),
  metadata: notesSchema,
};

export const newCollectorBody = z.strictObject(fields).partial().required({ name: true });
export const collectorChangeBody = z
  .strictObject(fields)
  .partial()
  .refine((body) => Object.keys(body).length > 0, 'name at least one field');

const invitationStatusSchema = z.enum(invitationStatuses).meta({
  id: 'InvitationStatus',
  description:
    'STARTED: a response was saved in part. COMPLETED: the response is complete. EXPIRED: past `expiresAt` without a complete response. In an anonymous survey an invitation is STARTED or COMPLETED by what opened it, and stays so.',
});

export const invitationSchema = z
  .strictObject({
    id: idSchema,
    collectorId: idSchema,
    reference: z.string().nullable(),
    language: languageSchema.nullable().describe('Of a response that names none; not in an anonymous survey'),
    expiresAt: timeSchema.nullable(),
    metadata: z.record(z.string(), z.string()),
    status: invitationStatusSchema,
    createdAt: timeSchema,
    usedOn: daySchema.nullable().describe('UTC day of the first save'),
    startedAt: timeSchema.nullable().describe('Null in an anonymous survey'),
    completedAt: timeSchema.nullable().describe('Null in an anonymous survey'),
    revokedAt: timeSchema.nullable(),
    responseId: idSchema.nullable().describe('Null in an anonymous survey'),
  })
  .meta({
    id: 'Invitation',
    description: 'An invitation to give one response. Its token is shown once, when it is made.',
  });

export const revokedUploadBody = z.strictObject({
  uploadedAt: timestampField.describe('The `createdAt` of each of its invitations'),
});

export const invitationCountsSchema = z
  .strictObject({
    total: countSchema,
    byStatus: z.strictObject(
      Object.fromEntries(invitationStatuses.map((status) => [status, countSchema])) as Record<
        (typeof invitationStatuses)[number],
        typeof countSchema
      >,
    ),
  })
  .meta({ id: 'InvitationCounts', description: 'Numbers of invitations, for response rates.' });
