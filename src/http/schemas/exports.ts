import { z } from 'zod';
import { exportFormats } from '../../domain/export-formats.ts';
import { exportStatuses } from '../../stores/postgres/exports.ts';
import { countSchema, idSchema, timeSchema } from './common.ts';

export const exportFormatSchema = z
  .enum(exportFormats)
  .meta({ id: 'ExportFormat', description: 'EXCEL gives .xlsx, SPSS gives .sav.' });
export const exportStatusSchema = z.enum(exportStatuses).meta({
  id: 'ExportStatus',
  description:
    'PENDING → PROCESSING → COMPLETED or FAILED; a file expires after seven days, or when a response that it may show is deleted.',
});

const fields = {
  id: idSchema,
  exportId: idSchema.describe('The same as `id`'),
  surveyId: idSchema,
  format: exportFormatSchema,
  status: exportStatusSchema,
  progress: z.number().min(0).max(1).describe('0 to 1; never falls'),
  createdAt: timeSchema,
};

/** The reply that accepts an export. */
export const acceptedExportSchema = z
  .strictObject(fields)
  .meta({ id: 'AcceptedExport', description: 'An export that waits to be made.' });

export const exportSchema = z
  .strictObject({
    ...fields,
    rowCount: countSchema.nullable(),
    fileSize: countSchema.nullable().describe('Bytes'),
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .nullable(),
    downloadUrl: z.string().nullable().describe('Set while the file can be downloaded'),
    error: z.string().nullable().describe('Why it failed, or expired early because a response was deleted'),
    completedAt: timeSchema.nullable().optional(),
    expiresAt: timeSchema.nullable().optional(),
  })
  .meta({ id: 'Export', description: 'An export and its file.' });
