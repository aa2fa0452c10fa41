import { z } from 'zod';
import { isEmail } from '../../auth/email.ts';
import { isPasswordLength, longestPassword, shortestPassword } from '../../auth/passwords.ts';
import { userRoles } from '../../auth/roles.ts';

export const idSchema = z.uuid();
const timeSchema = z.iso.datetime();
export const roleSchema = z.enum(userRoles);
export const memberRoleSchema = z.enum(['EDITOR', 'VIEWER']);

export const emailField = z.string().trim().refine(isEmail, 'must be a valid e-mail address').meta({ format: 'email', maxLength: 254 });

export const newPasswordField = z
  .string()
  .refine(isPasswordLength, `must have ${shortestPassword} to ${longestPassword} characters`)
  .meta({ minLength: shortestPassword, maxLength: longestPassword });

/** A password to be checked: its length tells nothing about whether it is right. */
export const givenPasswordField = z.string().min(1, 'must not be empty').max(2 * longestPassword, 'is longer than any password');

export const tokenPairFields = {
  accessToken: z.string().describe('For the header `Authorization: Bearer …`'),
  refreshToken: z.string().describe('For POST /auth/refresh, once'),
  expiresIn: z.number().int().describe('Seconds that the access token lives'),
};

export const userSchema = z.object({
  id: idSchema, email: z.string(), role: roleSchema, isDisabled: z.boolean(), createdAt: timeSchema, updatedAt: timeSchema,
});

export const apiKeySchema = z.object({
  id: idSchema,
  userId: idSchema,
  name: z.string(),
  role: roleSchema.describe("The most that the key gives; its user's own role may allow less"),
  requestsPerMinute: z.number().int().nullable().describe('Null: the general limit'),
  lastFour: z.string(),
  createdAt: timeSchema,
  lastUsedAt: timeSchema.nullable().describe('To the minute'),
});

export const memberSchema = z.object({ userId: idSchema, email: z.string(), role: memberRoleSchema, addedAt: timeSchema });

export const auditEntrySchema = z.object({
  id: z.string(),
  at: timeSchema,
  actorId: idSchema.nullable(),
  actorKind: z.enum(['USER', 'API_KEY', 'SYSTEM']),
  keyId: idSchema.nullable(),
  action: z.string(),
  objectKind: z.string(),
  objectId: z.string(),
  details: z.record(z.string(), z.unknown()),
});
