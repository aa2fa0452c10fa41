import type { Client } from './client.ts';
import { makeInvitations } from './invitations.ts';
import { callOnce, type OneReply } from './one-connection.ts';
import type { RunningService } from './service.ts';

/** Surveys of one question to which people are invited. */
export function invitedSurveys(served: () => { service: RunningService; admin: Client }) {
  const invite = (collectorId: string, rows: readonly object[] = [{}]) =>
    makeInvitations(served().service, served().admin, collectorId, rows);
  return {
    async makeSurvey(fields: Record<string, unknown> = {}) {
      const { admin } = served();
      const survey = await admin.create('/surveys', { title: 'By invitation', status: 'ACTIVE', ...fields });
      const question = await admin.create(`/surveys/${survey.id}/questions`, { type: 'SHORT_TEXT', text: 'Well?' });
      const collector = await admin.create(`/surveys/${survey.id}/collectors`, { name: 'List', kind: 'INVITATION' });
      return { id: survey.id as string, questionId: question.id as string, collectorId: collector.id as string };
    },
    invite,
    /** Gives the token. */
    inviteOne: async (collectorId: string, row: object = {}) => (await invite(collectorId, [row]))[0]?.token ?? '',
    /** On a connection of its own, so that every process gets some. */
    submit: (surveyId: string, body: Record<string, unknown>, headers: Record<string, string> = {}) =>
      callOnce(served().service.base, 'POST', `/responses/surveys/${surveyId}/submit`, {
        body: { answers: [], ...body },
        headers,
      }),
    /** 201, or the status with the reason. */
    outcomeOf: ({ status, body }: OneReply) =>
      status === 201 ? 201 : `${status} ${body?.details?.reason ?? body?.code}`,
    statuses: async (collectorId: string): Promise<string[]> =>
      (await served().admin.get(`/collectors/${collectorId}/invitations`)).map(({ status }: any) => status),
  };
}
