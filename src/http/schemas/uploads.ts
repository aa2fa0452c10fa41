import { z } from 'zod';
import { countSchema, idSchema } from './common.ts';

export const uploadSchema = z
  .strictObject({
    uploadId: idSchema.describe('The `textValue` of the answer'),
    size: countSchema.describe('Bytes'),
    mimeType: z.string().describe('Found by looking at the content'),
  })
  .meta({ id: 'Upload', description: 'A file that an answer can name; it goes after 24 hours unless one does.' });
