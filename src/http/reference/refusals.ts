import { type ProblemCode, problemTable } from '../../errors.ts';
import type { Route } from '../routing/route.ts';

const providerCodes: readonly ProblemCode[] = [
  'AI_NOT_CONFIGURED',
  'AI_KEY_INVALID',
  'AI_RATE_LIMITED',
  'AI_MODEL_UNAVAILABLE',
  'AI_PROVIDER_ERROR',
];
const allCodes = Object.keys(problemTable) as ProblemCode[];

/** The problem codes of a route, derived from its declaration, in the order of the problem table. */
export function refusalsOf(route: Route): ProblemCode[] {
  const codes = new Set<ProblemCode>([
    'INTERNAL_ERROR',
    ...(route.refusals ?? []),
    ...callerCodes(route),
    ...inputCodes(route),
  ]);
  // Every counted call needs a store.
  if (route.limit !== 'none') codes.add('RATE_LIMITED').add('SERVICE_UNAVAILABLE');
  if (route.asksProvider) for (const code of providerCodes) codes.add(code);
  if (route.asksProvider && route.access.kind === 'survey') codes.add('AI_DISABLED');
  return allCodes.filter((code) => codes.has(code));
}

const isChange = ({ method }: Route): boolean => method !== 'GET';
/** Called by a respondent, to whom the survey must be open. */
const isSubmission = ({ access, limit, bodyKind }: Route): boolean =>
  access.kind === 'public' && (limit === 'submit' || bodyKind === 'stream');

/** Codes that follow from the caller's rights and the state of the object. */
function callerCodes(route: Route): ProblemCode[] {
  const { access } = route;
  const codes: ProblemCode[] = [];
  if (access.kind !== 'public' || route.limit === 'auth') codes.push('UNAUTHORIZED');
  const mayLackRights =
    access.kind === 'admin' || access.kind === 'editor' || (access.kind === 'survey' && access.right !== 'read');
  if (mayLackRights || (isChange(route) && access.kind !== 'public') || isSubmission(route)) codes.push('FORBIDDEN');
  if (route.path.includes('{')) codes.push('NOT_FOUND');
  const isFile = route.replyMediaType !== undefined && access.kind === 'survey';
  if ((isChange(route) && access.kind !== 'public') || isSubmission(route) || isFile) codes.push('CONFLICT');
  return codes;
}

/** Codes that follow from headers, query and body. */
function inputCodes(route: Route): ProblemCode[] {
  // The length that a call declares is judged whatever its method.
  const codes: ProblemCode[] = ['VALIDATION_ERROR', 'PAYLOAD_TOO_LARGE'];
  const takesBody = route.method === 'POST' || route.method === 'PUT';
  if (takesBody && (route.body || route.bodyKind === 'stream')) codes.push('UNSUPPORTED_MEDIA_TYPE');
  return codes;
}
