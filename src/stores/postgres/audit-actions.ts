/** Every deed that the audit knows: `<object>.<what happened>`. Writers of entries are typed with it, and the reference shows it. */
export const auditActions = [
  'session.started', 'session.refused', 'session.ended', 'session.token-reused',
  'user.created', 'user.changed', 'user.deleted', 'user.password-changed',
  'api-key.created', 'api-key.deleted',
  'survey.created', 'survey.changed', 'survey.published', 'survey.duplicated', 'survey.token-rotated', 'survey.handed-over', 'survey.closed', 'survey.deleted',
  'member.set', 'member.removed', 'member.left',
  'question.created', 'question.changed', 'question.deleted', 'questions.reordered',
  'translation.changed', 'translation.deleted',
  'response.deleted', 'responses.expired', 'respondent.erased', 'upload.downloaded',
  'export.requested', 'export.downloaded', 'export.deleted',
  'webhook.created', 'webhook.changed', 'webhook.deleted', 'webhook.secret-rotated', 'webhook.tested', 'webhook.redelivered', 'webhook.replayed',
  'ai.used', 'ai-provider.changed', 'ai-provider.removed',
  'dead-letters.replayed',
] as const;
export type AuditAction = (typeof auditActions)[number];

/** What a deed can be done to. */
export const auditObjectKinds = ['session', 'user', 'api-key', 'survey', 'question', 'response', 'upload', 'export', 'webhook', 'ai', 'ai-provider', 'service'] as const;
export type AuditObjectKind = (typeof auditObjectKinds)[number];
