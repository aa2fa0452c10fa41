import { queryOptions } from '@tanstack/react-query';
import { api, type components, dataOf, pageOf } from './api.ts';
import { keepLastOf, queryClient } from './query-client.ts';
import { refreshSurvey } from './survey-reads.ts';
import { leaveBy } from './surveys.ts';

export type Member = components['schemas']['Member'];
export type MemberRole = components['schemas']['MemberRole'];

export const membersPageSize = 20;
const membersKey = (surveyId: string) => ['surveys', surveyId, 'members'];

/** A page of the users with whom a survey is shared. For its owner and an ADMIN. */
export const memberListQuery = (surveyId: string, page: number) =>
  queryOptions({
    queryKey: [...membersKey(surveyId), page],
    queryFn: ({ signal }) => {
      const params = { path: { id: surveyId }, query: { page, limit: membersPageSize } };
      return pageOf(api.GET('/surveys/{id}/members', { params, signal }));
    },
    placeholderData: keepLastOf(...membersKey(surveyId)),
  });

const membersChanged = (surveyId: string) => queryClient.invalidateQueries({ queryKey: membersKey(surveyId) });

/** Shares a survey with the user of an address. */
export async function addMember(surveyId: string, body: { email: string; role: MemberRole }): Promise<void> {
  await dataOf(api.POST('/surveys/{id}/members', { params: { path: { id: surveyId } }, body }));
  await membersChanged(surveyId);
}

export async function setMember(surveyId: string, userId: string, role: MemberRole): Promise<void> {
  const path = { id: surveyId, userId };
  await dataOf(api.PUT('/surveys/{id}/members/{userId}', { params: { path }, body: { role } }));
  await membersChanged(surveyId);
}

/** Ends the sharing with a user. */
export async function removeMember(surveyId: string, userId: string): Promise<void> {
  await dataOf(api.DELETE('/surveys/{id}/members/{userId}', { params: { path: { id: surveyId, userId } } }));
  await membersChanged(surveyId);
}

/** Leaves a survey that is shared with the signed-in user. */
export async function leaveSurvey(surveyId: string, userId: string): Promise<void> {
  const path = { id: surveyId, userId };
  await leaveBy(surveyId, () => dataOf(api.DELETE('/surveys/{id}/members/{userId}', { params: { path } })));
}

/** Hands a survey over; its former owner stays as a member. */
export async function setOwner(surveyId: string, userId: string): Promise<void> {
  await dataOf(api.PUT('/surveys/{id}/owner', { params: { path: { id: surveyId } }, body: { userId } }));
  // A former owner does not see the members any more: the view without them comes first.
  await refreshSurvey(surveyId);
  await membersChanged(surveyId);
}
