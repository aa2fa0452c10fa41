import { z } from 'zod';
import { isEmail } from '../../auth/email.ts';
import { isPasswordLength, longestPassword, shortestPassword } from '../../auth/passwords.ts';
import { userRoles } from '../../auth/roles.ts';
import { weaknessOf } from '../../auth/weak-passwords.ts';
import { auditActions, auditObjectKinds } from '../../stores/postgres/audit-actions.ts';
import { idSchema, timeSchema } from './common.ts';

export const roleSchema = z.enum(userRoles).meta({
  id: 'Role',
  description: 'ADMIN: everything. EDITOR: own surveys and those shared with it. VIEWER: reads what is shared with it.',
});
export const memberRoleSchema = z
  .enum(['EDITOR', 'VIEWER'])
  .meta({ id: 'MemberRole', description: 'The role that a member has in a survey.' });

export const emailField = z
  .string()
  .trim()
  .refine(isEmail, 'must be a valid e-mail address')
  .meta({ format: 'email', maxLength: 254 });

/** `abort` keeps an overlong password from being judged, which takes time for each character. */
export const newPasswordField = z
  .string()
  .refine(isPasswordLength, { abort: true, error: `must have ${shortestPassword} to ${longestPassword} characters` })
  .superRefine((password, context) => {
    const message = weaknessOf(password);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  })
  .meta({ minLength: shortestPassword, maxLength: longestPassword });

/**
 * A password to be checked: its length is not validated as that of a new one. `abort` keeps an overlong one from being
 * compared with another.
 */
export const givenPasswordField = z
  .string()
  .min(1, 'must not be empty')
  .max(2 * longestPassword, { abort: true, error: 'is longer than any password' });

export const tokenPairFields = {
  accessToken: z.string().describe('For the header `Authorization: Bearer …`'),
  refreshToken: z.string().optional().describe('For POST /auth/refresh, once; left out for a session by cookie'),
  expiresIn: z.number().int().describe('Lifetime of the access token in seconds'),
};

export const userSchema = z
  .strictObject({
    id: idSchema,
    email: z.string(),
    role: roleSchema,
    isDisabled: z.boolean(),
    apiKeyRequestsPerMinute: z
      .number()
      .int()
      .nullable()
      .describe('Calls a minute of all API keys of the user together; null: API_KEY_REQUESTS_PER_MINUTE'),
    mustChangePassword: z
      .boolean()
      .describe(
        'Whether somebody else chose the password: the service at the first start, or an ADMIN. Interfaces for people ask for another; calls are not refused',
      ),
    createdAt: timeSchema,
    updatedAt: timeSchema,
  })
  .meta({ id: 'User', description: 'A user who can sign in.' });

export const apiKeySchema = z
  .strictObject({
    id: idSchema,
    userId: idSchema,
    name: z.string(),
    role: roleSchema.describe("The greatest role of the key; the lesser of it and its user's role counts"),
    requestsPerMinute: z.number().int().nullable().describe('Null: the general limit'),
    lastFour: z.string(),
    createdAt: timeSchema,
    lastUsedAt: timeSchema.nullable().describe('To the minute'),
    expiresAt: timeSchema.nullable().describe('From then on the key is refused; null: it does not end by itself'),
  })
  .meta({ id: 'ApiKey', description: 'A key for a program. It acts as its user, with the lesser of both roles.' });

export const memberSchema = z
  .strictObject({ userId: idSchema, email: z.string(), role: memberRoleSchema, addedAt: timeSchema })
  .meta({ id: 'Member', description: 'A user with whom a survey is shared.' });

export const auditActionSchema = z
  .enum(auditActions)
  .meta({ id: 'AuditAction', description: 'What was done. Later versions may add actions.' });
export const auditObjectKindSchema = z
  .enum(auditObjectKinds)
  .meta({ id: 'AuditObjectKind', description: 'The kind of object.' });

export const auditEntrySchema = z
  .strictObject({
    id: z.string(),
    at: timeSchema,
    actorId: idSchema.nullable(),
    actorKind: z.enum(['USER', 'API_KEY', 'SYSTEM']),
    keyId: idSchema.nullable(),
    action: auditActionSchema,
    objectKind: auditObjectKindSchema,
    objectId: z.string(),
    details: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'AuditEntry', description: 'One audit event.' });
