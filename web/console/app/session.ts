import { createSurveyClient, dataOf, SurveyApiError } from '../../../client/src/index.ts';
import { inOneTab } from '../../shared/in-one-tab.ts';
import { fetchWithin } from '../data/fetch-within.ts';
import { isRefusal } from '../data/problems.ts';
import { readStored, store } from './storage.ts';

/*
 * The session of this tab. The access token is held in memory alone; the refresh token is a cookie that scripts cannot
 * read, so a reload goes on and nothing is left for another script to find.
 */

/** Renewed when it has less than this left, or than a third of its lifetime. */
const renewBeforeMs = 30_000;

const anyone = createSurveyClient({ origin: location.origin, fetch: fetchWithin });
let access: { token: string; untilMs: number; untilElapsedMs: number; renewBeforeMs: number } | undefined;
/** The session that was open here has ended. */
let isOver = false;
/** Who signed in here. Another tab may sign in somebody else, whose session the cookie then is. */
let userId: string | undefined;
/** Another tab has signed in somebody else. Nothing is asked of their session until somebody signs in here. */
let isCookieOfOther = false;
/** Whose session was the last one in this tab. */
let lastUserId: string | undefined;
/** How often somebody else has signed in in this tab. */
let changesOfUser = 0;
let renewing: Promise<void> | undefined;
const endListeners = new Set<() => void>();
const signInListeners = new Set<() => void>();
const renewalListeners = new Set<() => void>();
const otherUserListeners = new Set<() => void>();

/** Whether this browser has a session, so that a first visit asks for none. It is no secret: the cookie is the session. */
const markKey = 'has-session';

const keep = ({ accessToken, expiresIn }: { accessToken: string; expiresIn: number }): void => {
  store(markKey, '1');
  isOver = false;
  isCookieOfOther = false;
  userId = userOf(accessToken);
  access = {
    token: accessToken,
    untilMs: Date.now() + expiresIn * 1000,
    untilElapsedMs: performance.now() + expiresIn * 1000,
    renewBeforeMs: Math.min(renewBeforeMs, (expiresIn * 1000) / 3),
  };
  const isOther = lastUserId !== undefined && lastUserId !== userId;
  lastUserId = userId;
  if (!isOther) return;
  changesOfUser += 1;
  for (const listener of otherUserListeners) listener();
};

/** By the clock, which may be set, or by that of the page, which may stand still while the machine sleeps. */
const leftMs = ({ untilMs, untilElapsedMs }: NonNullable<typeof access>): number =>
  Math.min(untilMs - Date.now(), untilElapsedMs - performance.now());

const userOf = (token: string): string => {
  const payload = token.split('.')[1] ?? '';
  return (JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))) as { sub: string }).sub;
};

const unauthorized = (message: string) =>
  new SurveyApiError(401, { success: false, code: 'UNAUTHORIZED', message, requestId: '' });
const otherUser = unauthorized('Somebody else has signed in');
const sessionOver = unauthorized('The session has ended');

/** Throws a SurveyApiError for a wrong e-mail or password. */
export async function signIn(email: string, password: string): Promise<void> {
  keep(await dataOf(anyone.POST('/auth/login', { body: { email, password, session: 'cookie' } })));
  for (const listener of signInListeners) listener();
}

/**
 * `fetch` for calls with a token of this session. The sign-in of another tab replaces the session of this browser, and
 * ends that of the token: a call that is refused is made again with a token of the session that the cookie is now, if
 * that is of the same user: nothing is sent in the name of somebody who has signed in over the view meanwhile. Only
 * where the service refuses the cookie too, has the session of the browser ended.
 */
export async function fetchSignedIn(request: Request): Promise<Response> {
  const again = request.clone();
  const reply = await fetchWithin(request);
  if (reply.status !== 401) return reply;
  // Another call may have been refused before, and the token is a new one already.
  if (access && again.headers.get('authorization') === bearer(access.token)) await renew();
  const token = await accessToken();
  if (userOf(again.headers.get('authorization') ?? '') !== userOf(token)) throw otherUser;
  again.headers.set('authorization', bearer(token));
  const second = await fetchWithin(again);
  if (second.status === 401) forgetAccess();
  return second;
}

const bearer = (token: string): string => `Bearer ${token}`;

/** Whether the session is over, until somebody signs in, here or in another tab. */
export const hasSessionEnded = (): boolean => isOver && readStored(markKey) === undefined;

/** The token for a call. Throws a SurveyApiError, and tells the listeners, where the session has ended. */
export async function accessToken(): Promise<string> {
  // Each call would count as an attempt to sign in.
  if (hasSessionEnded()) throw sessionOver;
  if (isCookieOfOther) throw otherUser;
  if (!access || leftMs(access) < access.renewBeforeMs) await renew();
  return access?.token ?? '';
}

/** The token for the last call of a page, which would not live to see a renewal: the present one as long as it lasts. */
export async function tokenWhileLeaving(): Promise<string> {
  return access && leftMs(access) > 0 ? access.token : accessToken();
}

/**
 * Several calls wait for the same renewal; so do several tabs, since each token can be used once. Where there are no
 * locks for that, the service forgives for ten seconds.
 */
function renew(): Promise<void> {
  renewing ??= inOneTab('survey-session', async () => {
    const renewed = await dataOf(anyone.POST('/auth/refresh'));
    if (userId !== undefined && userOf(renewed.accessToken) !== userId) throw otherUser;
    keep(renewed);
    for (const listener of renewalListeners) listener();
  })
    .catch((error: unknown) => {
      // The session is not over, but nobody shall act in the name of another.
      if (error === otherUser) {
        isCookieOfOther = true;
        forgetAccess();
      } else if (isEnd(error)) endHere();
      throw error;
    })
    .finally(() => {
      renewing = undefined;
    });
  return renewing;
}

/** Whether a renewal failed because the session has ended. Reloads count as attempts to sign in: 429 is no end of it. */
const isEnd = (error: unknown): boolean => isRefusal(error) && error.status !== 429;

/** Whether a session of before goes on. Throws where that cannot be known at present. */
export async function resume(): Promise<boolean> {
  if (readStored(markKey) === undefined) return false;
  try {
    await accessToken();
    return true;
  } catch (error) {
    if (isEnd(error)) return false;
    throw error;
  }
}

/**
 * Ends the session in the service and here, or all sessions of the user, also those in other browsers. An access token
 * that has expired is renewed for it. Where that fails it throws, and the session goes on. That of somebody else who
 * has signed in in another tab goes on, too.
 */
export async function signOut(isEverywhere = false): Promise<void> {
  let isOfOther = false;
  try {
    const client = createSurveyClient({ origin: location.origin, token: await accessToken(), fetch: fetchSignedIn });
    await dataOf(client.POST('/auth/logout', { body: { everywhere: isEverywhere } }));
  } catch (error) {
    const hasEndedBefore = error instanceof SurveyApiError && error.status === 401;
    if (isEverywhere || !hasEndedBefore) throw error;
    isOfOther = error === otherUser;
  }
  userId = undefined;
  isCookieOfOther = false;
  if (isOfOther) forgetAccess();
  else endHere();
}

/** Forgets the session in this browser. */
function endHere(): void {
  store(markKey, undefined);
  isOver = true;
  forgetAccess();
}

/** Forgets the session in this tab. */
function forgetAccess(): void {
  access = undefined;
  for (const listener of endListeners) listener();
}

/** Calls the listener after each sign-in. */
export function onSignIn(listener: () => void): void {
  signInListeners.add(listener);
}

/** Calls the listener whenever the session goes on with another access token. */
export function onRenewal(listener: () => void): void {
  renewalListeners.add(listener);
}

/**
 * Calls the listener when somebody else has signed in in this tab, before anything is sent in the new name: what the
 * user before has typed, asked for or seen is to be forgotten.
 */
export function onOtherUser(listener: () => void): void {
  otherUserListeners.add(listener);
}

/**
 * Begins something that takes a while: the function says whether its user is still the one who began it. Otherwise
 * nothing more of it is asked for or shown.
 */
export function noteUser(): () => boolean {
  const before = changesOfUser;
  return () => changesOfUser === before;
}

/** Why what one user began comes to nothing when the next one has signed in. */
export const otherUserProblem = 'Somebody else has signed in.';

/** Calls the listener when the session has ended. Returns a function that ends the subscription. */
export function onSessionEnd(listener: () => void): () => void {
  endListeners.add(listener);
  return () => endListeners.delete(listener);
}
