import { newId } from '../../platform/ids.ts';

const requestIdPattern = /^[A-Za-z0-9._-]{1,64}$/;

/** The name of a call: the client's own if it is a plain one, else a new id. */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && requestIdPattern.test(given) ? given : newId();
}
