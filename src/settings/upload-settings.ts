import { z } from 'zod';
import { address, documented, integer } from './value-kinds.ts';

export const uploadSettings = {
  UPLOAD_MAX_BYTES: integer(1)
    .default(25 * 1024 * 1024)
    .meta(documented({ description: 'Largest upload, unless a question takes less (`maxBytes`).', unit: 'bytes' })),
  UPLOAD_UNCLAIMED_MINUTES: integer(1, 7 * 24 * 60)
    .default(60)
    .meta(documented({ description: 'How long a file waits for a response that names it.', unit: 'minutes' })),
  UPLOAD_SURVEY_UNCLAIMED_BYTES: integer(1)
    .default(2 * 1024 * 1024 * 1024)
    .meta(
      documented({
        description:
          'Files of one survey that no response names yet, together. A larger file is refused, and so is one of unknown size where its question takes larger ones.',
        unit: 'bytes',
      }),
    ),
  UPLOAD_ADDRESS_HOURLY_BYTES: integer(1)
    .default(512 * 1024 * 1024)
    .meta(
      documented({
        description:
          'What one client address may upload in an hour, refused and broken-off files included. A larger file is refused, and so is one of unknown size where its question takes larger ones.',
        unit: 'bytes',
      }),
    ),
  UPLOAD_DISK_RESERVE_PERCENT: integer(0, 99)
    .default(10)
    .meta(
      documented({
        description:
          'Share of the disk of DATA_DIR that uploads and files of exports leave to the stores; at least 256 MiB. Below it uploads are refused, and exports fail.',
        unit: 'percent',
      }),
    ),
  UPLOAD_S3_BUCKET: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/, 'must be the name of a bucket')
    .optional()
    .meta(
      documented({
        description:
          'Bucket of an S3-compatible storage for uploads. The start is refused while DATA_DIR/uploads holds files: docs/operating.md says how to move them.',
        default: 'uploads are stored in DATA_DIR',
      }),
    ),
  UPLOAD_S3_ENDPOINT: address('http:', 'https:')
    .optional()
    .meta(
      documented({ description: 'Address of an S3-compatible service.', values: 'http or https URL', default: 'AWS' }),
    ),
  UPLOAD_S3_REGION: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,64}$/)
    .default('us-east-1')
    .meta(documented({ description: 'Region of the bucket.' })),
  UPLOAD_S3_ACCESS_KEY_ID: z
    .string()
    .optional()
    .meta(
      documented({
        description: 'Key of the storage; given together with UPLOAD_S3_SECRET_ACCESS_KEY.',
        default: 'the sources of the AWS SDK',
      }),
    ),
  UPLOAD_S3_SECRET_ACCESS_KEY: z
    .string()
    .optional()
    .meta(documented({ description: 'Secret of that key.', default: 'the sources of the AWS SDK' })),
  UPLOAD_S3_PREFIX: z
    .string()
    .max(500)
    .default('uploads/')
    .meta(
      documented({
        description: 'Prefix of the object keys in the bucket; each installation needs its own.',
        unit: 'characters',
      }),
    ),
};
