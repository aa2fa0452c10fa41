import { responseIdFromKey } from '../../platform/ids.ts';
import { accepted, append, type CallerContext, rateLimitAfter, type SubmissionsDeps, startAttempt } from './attempt.ts';
import { createFrozenSubmissions } from './frozen-submissions.ts';
import { planFast, planSubmission } from './plan.ts';
import { keyHashOf } from './repeats.ts';
import type { SubmissionOutcome, SubmissionRequest, UnparsedSubmission } from './request.ts';
import { type RetryDeps, retryOnConflict } from './retry.ts';

/**
 * Takes submissions: plan (check and encode), append to the intake, which makes it durable, and reply. Whatever is not
 * accepted at the first attempt goes to `retryOnConflict`, which retries or refuses.
 */
export function createSubmissions(given: SubmissionsDeps) {
  const deps: RetryDeps = { ...given, frozenSubmissions: createFrozenSubmissions(given) };
  return (call: SubmissionRequest | UnparsedSubmission): Promise<SubmissionOutcome> =>
    'bytes' in call ? (submitFast(deps, call) ?? submit(deps, call.read(call.bytes))) : submit(deps, call);
}

export type Submissions = ReturnType<typeof createSubmissions>;

/** The general path, for every submission. */
function submit(deps: RetryDeps, request: SubmissionRequest): Promise<SubmissionOutcome> {
  const pressure = deps.pressure();
  if (pressure) return Promise.resolve({ kind: 'refused', problem: pressure, rateLimit: undefined });
  const attempt = startAttempt(deps, request, deps.newId());
  const cached = deps.actors.peek(request.surveyId);
  if (!cached) return retryOnConflict(deps, attempt);
  const plan = planSubmission(deps, request, cached, attempt);
  // Most plans need no lookup: such a submission waits for nothing but the disk.
  if (plan instanceof Promise) return plan.then((ready) => retryOnConflict(deps, attempt, { cached, plan: ready }));
  return append(deps, attempt, cached, plan).then((result) =>
    result.code === 'ACCEPTED'
      ? accepted(plan, rateLimitAfter(attempt, cached, deps, result))
      : retryOnConflict(deps, attempt, { cached, plan, result }),
  );
}

/**
 * The fast path: the body is compared with the survey as bytes, and parsed only if the intake does not accept it.
 * Undefined: the form is unusual, so the general path must take it. Nothing was appended then.
 */
function submitFast(deps: RetryDeps, call: UnparsedSubmission): Promise<SubmissionOutcome> | undefined {
  const { surveyId, idempotencyKey, address, bytes } = call;
  const cached =
    deps.pressure() || (idempotencyKey !== undefined && deps.mayHaveLegacyKeys())
      ? undefined
      : deps.actors.peek(surveyId);
  if (!cached) return undefined;
  const keyHash = keyHashOf(call);
  const fast = planFast(deps, call, cached, {
    keyHash,
    idAt: keyHash === '' ? deps.newId : (nowMs) => responseIdFromKey(nowMs, keyHash),
  });
  if (!fast) return undefined;
  const { plan, digest } = fast;
  const caller: CallerContext = {
    caller: deps.secrets.keyedHash(surveyId, address),
    keyHash,
    digest,
    rateLimit: undefined,
  };
  // The bytes are valid only until this call returns.
  const body = bytes.toString('latin1');
  return append(deps, caller, cached, plan).then((result) => {
    if (result.code === 'ACCEPTED') return accepted(plan, rateLimitAfter(caller, cached, deps, result));
    return retryOnConflict(deps, startAttempt(deps, call.read(Buffer.from(body, 'latin1')), plan.responseId), {
      cached,
      plan,
      result,
    });
  });
}
