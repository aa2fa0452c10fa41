import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { accessWord, everyRoute, routeName } from '../../../support/every-route.ts';

/** The access of every route, stated independently: a route that is missing here or differs fails. */
const declared: Readonly<Record<string, string>> = {
  ...rows('public', [
    'POST /auth/login',
    'POST /auth/refresh',
    'GET /openapi.json',
    'GET /public/surveys/{id}',
    'GET /public/logos/{hash}',
    'GET /public/collectors/{link}',
    'POST /public/surveys/{id}/path',
    'POST /responses/surveys/{surveyId}/submit',
    'POST /uploads/surveys/{surveyId}/questions/{questionId}',
  ]),
  // The handler shows each caller its own.
  ...rows('user', [
    'GET /auth/me',
    'GET /api-keys',
    'DELETE /api-keys/{id}',
    'GET /exports',
    'GET /surveys',
    'POST /live/tickets',
    'GET /ai/jobs/{jobId}',
    'DELETE /ai/jobs/{jobId}',
  ]),
  ...rows('user, without a key', ['POST /auth/logout', 'POST /auth/password']),
  ...rows('editor, without a key', ['POST /api-keys']),
  ...rows('editor', [
    'POST /surveys',
    'POST /surveys/import',
    'GET /webhooks',
    'POST /webhooks',
    'GET /webhooks/{id}',
    'PUT /webhooks/{id}',
    'DELETE /webhooks/{id}',
    'GET /webhooks/{id}/deliveries',
    'POST /webhooks/{id}/test',
    'POST /webhooks/{id}/replay',
    'POST /webhooks/{id}/rotate-secret',
    'POST /webhooks/{id}/deliveries/{deliveryId}/redeliver',
    'POST /ai/generate-survey',
    'POST /ai/conversations',
    'GET /ai/conversations/{id}',
    'POST /ai/conversations/{id}/messages',
    'POST /ai/conversations/{id}/save',
    'GET /ai/usage',
  ]),
  ...rows('admin, without a key', ['POST /users', 'PUT /users/{id}', 'DELETE /users/{id}']),
  ...rows('admin', [
    'GET /service',
    'GET /users',
    'GET /users/{id}',
    'GET /audit',
    'GET /dead-letters',
    'POST /dead-letters/replay',
    'GET /ai/settings',
    'PUT /ai/settings/{provider}',
    'DELETE /ai/settings/{provider}',
    'POST /ai/settings/{provider}/test',
  ]),
  ...rows('read', [
    'GET /ai/surveys/{id}/reports',
    'GET /ai/surveys/{id}/reports/{reportId}',
    'GET /surveys/{id}',
    'POST /surveys/{id}/duplicate',
    'GET /surveys/{id}/live',
    'GET /surveys/{surveyId}/quotas',
    'GET /surveys/{surveyId}/questions/{questionId}/references',
    'GET /surveys/{id}/collectors',
    'GET /collectors/{collectorId}',
    'GET /collectors/{collectorId}/invitations',
    'GET /collectors/{collectorId}/invitations/counts',
    'GET /surveys/{id}/translations',
    'GET /surveys/{id}/translations/{language}',
    'GET /surveys/{id}/versions',
    'GET /surveys/{id}/versions/{version}',
    'GET /responses/surveys/{surveyId}',
    'GET /responses/surveys/{surveyId}/questions/{questionId}/texts',
    'GET /ai/surveys/{surveyId}/questions/{questionId}/annotations',
    'GET /ai/surveys/{id}/theme-names',
    'GET /responses/{responseId}',
    'GET /uploads/{uploadId}',
    'GET /analytics/surveys/{surveyId}',
    'POST /analytics/surveys/{surveyId}/crosstab',
    'GET /analytics/surveys/{surveyId}/questions/{questionId}',
    'POST /exports/surveys/{surveyId}',
    'GET /exports/{exportId}',
    'DELETE /exports/{exportId}',
    'GET /exports/{exportId}/download',
  ]),
  ...rows('edit', [
    'POST /ai/surveys/{id}/analyze',
    'POST /ai/questions/{questionId}/optimize',
    'GET /ai/questions/{questionId}/suggestions',
    'POST /ai/suggestions/{suggestionId}/accept',
    'POST /ai/suggestions/{suggestionId}/reject',
    'POST /ai/suggestions/{suggestionId}/undo',
    'POST /ai/surveys/{id}/translate',
    'PUT /ai/surveys/{id}/theme-names',
    'POST /ai/surveys/{id}/report',
    'PUT /surveys/{id}',
    'PUT /surveys/{id}/logo',
    'DELETE /surveys/{id}/logo',
    'POST /surveys/{id}/publish',
    'POST /surveys/{id}/rotate-token',
    'POST /surveys/{surveyId}/questions',
    'PUT /surveys/questions/{questionId}',
    'DELETE /surveys/{surveyId}/questions/{questionId}',
    'POST /surveys/{surveyId}/questions/reorder',
    'POST /surveys/{surveyId}/sections',
    'PUT /surveys/{surveyId}/sections/{sectionId}',
    'DELETE /surveys/{surveyId}/sections/{sectionId}',
    'POST /surveys/{surveyId}/sections/reorder',
    'POST /surveys/{surveyId}/quotas',
    'POST /surveys/{surveyId}/quotas/grid',
    'PUT /surveys/{surveyId}/quotas/{quotaId}',
    'DELETE /surveys/{surveyId}/quotas/{quotaId}',
    'POST /surveys/{id}/collectors',
    'PUT /collectors/{collectorId}',
    'DELETE /collectors/{collectorId}',
    'POST /collectors/{collectorId}/invitations',
    'POST /collectors/{collectorId}/invitations/revoke',
    'POST /collectors/{collectorId}/invitations/{invitationId}/revoke',
    'PUT /surveys/{id}/translations/{language}',
    'DELETE /surveys/{id}/translations/{language}',
    'DELETE /surveys/{id}/respondents/{respondent}',
    'DELETE /responses/{responseId}',
  ]),
  ...rows('own', [
    'DELETE /surveys/{id}',
    'GET /surveys/{id}/members',
    'POST /surveys/{id}/members',
    'PUT /surveys/{id}/members/{userId}',
    'PUT /surveys/{id}/owner',
  ]),
  ...rows('own, or about oneself', ['DELETE /surveys/{id}/members/{userId}']),
};

function rows(access: string, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, access]));
}

const { api } = await everyRoute();

describe('the rights of every route', () => {
  it('are declared in this test, for every route and no other', () => {
    const own = Object.fromEntries(api.map((route) => [routeName(route), accessWord(route.access)]));
    const differing = Object.entries(own)
      .filter(([name, word]) => declared[name] !== word)
      .map(([name, word]) => `${name} says ${word}; this test says ${declared[name] ?? 'nothing'}`);
    assert.deepEqual(differing, []);
  });
});
