/** Strongest first. */
export const userRoles = ['ADMIN', 'EDITOR', 'VIEWER'] as const;
export type UserRole = (typeof userRoles)[number];

/** Whether `role` gives nothing that `bound` does not. */
export function isRoleWithin(role: UserRole, bound: UserRole): boolean {
  return userRoles.indexOf(role) >= userRoles.indexOf(bound);
}

export function lesserRole(a: UserRole, b: UserRole): UserRole {
  return isRoleWithin(a, b) ? a : b;
}

/** How somebody stands to one survey. */
export interface SurveyRelation {
  role: UserRole;
  isOwner: boolean;
  memberRole: 'EDITOR' | 'VIEWER' | undefined;
}

/**
 * What somebody may do with a survey: an ADMIN everything; its owner everything; a member what was shared. Whoever has the role
 * VIEWER never has more than reading. Undefined: may not even know of it.
 */
export function surveyRight({ role, isOwner, memberRole }: SurveyRelation): 'read' | 'edit' | 'own' | undefined {
  if (role === 'ADMIN') return 'own';
  if (!isOwner && memberRole === undefined) return undefined;
  if (role === 'VIEWER') return 'read';
  if (isOwner) return 'own';
  return memberRole === 'EDITOR' ? 'edit' : 'read';
}
