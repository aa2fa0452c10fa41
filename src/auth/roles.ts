/** Roles in descending order of rights. */
export const userRoles = ['ADMIN', 'EDITOR', 'VIEWER'] as const;
export type UserRole = (typeof userRoles)[number];

/** Whether `role` grants no more rights than `bound`. */
export function isRoleWithin(role: UserRole, bound: UserRole): boolean {
  return userRoles.indexOf(role) >= userRoles.indexOf(bound);
}

export function lesserRole(a: UserRole, b: UserRole): UserRole {
  return isRoleWithin(a, b) ? a : b;
}

/** A user's relation to one survey. */
export interface SurveyRelation {
  role: UserRole;
  isOwner: boolean;
  memberRole: 'EDITOR' | 'VIEWER' | undefined;
}

/** The rights a caller can have on a survey, weakest first; each includes those before it. */
export const surveyRights = ['read', 'edit', 'own'] as const;
export type SurveyRight = (typeof surveyRights)[number];

export function includesRight(right: SurveyRight, wanted: SurveyRight): boolean {
  return surveyRights.indexOf(right) >= surveyRights.indexOf(wanted);
}

/**
 * A user's right on a survey: ADMIN and owner 'own', members as shared; the role VIEWER never exceeds 'read'.
 * Undefined: no access, the survey is reported as not found.
 */
export function surveyRight({ role, isOwner, memberRole }: SurveyRelation): SurveyRight | undefined {
  if (role === 'ADMIN') return 'own';
  if (!isOwner && memberRole === undefined) return undefined;
  if (role === 'VIEWER') return 'read';
  if (isOwner) return 'own';
  return memberRole === 'EDITOR' ? 'edit' : 'read';
}
