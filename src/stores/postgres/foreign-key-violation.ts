/**
 * Who or what a row was to belong to, where it was deleted between the look at it and the writing: the person that calls, or another one that
 * the call names. Undefined: the error says nothing of that.
 */
export function missingOwnerOf(error: unknown): 'caller' | 'person' | undefined {
  if (!(error instanceof Error) || !('code' in error) || error.code !== foreignKeyViolationCode) return undefined;
  const constraint = 'constraint_name' in error ? String(error.constraint_name) : '';
  if (constraint === 'survey_members_user_id_fkey') return 'person';
  return /_(owner|user)_id_fkey$/.test(constraint) ? 'caller' : undefined;
}

const foreignKeyViolationCode = '23503';
