import type { Chance } from './chance.ts';

/** Ids that the service has given, by what they name: `surveyId`, `questionId` … */
export interface KnownIds {
  add(kind: string, id: string): void;
  /** A known id of the kind; one of nothing where none is known. */
  of(kind: string): string;
  /** Takes what a creation's reply names. */
  harvest(path: string, body: unknown): void;
}

const keptOfAKind = 60;
const ofNothing = '01900000-0000-7000-8000-00000000abcd';

export function createKnownIds(chance: Chance): KnownIds {
  const known = new Map<string, string[]>();
  const add = (kind: string, id: string) => {
    const ids = known.get(kind) ?? [];
    known.set(kind, [...ids, id].slice(-keptOfAKind));
  };
  return {
    add,
    of: (kind) => {
      const ids = known.get(kind.replace(/Ids$/, 'Id'));
      return ids ? chance.pick(ids) : ofNothing;
    },
    harvest(path, body) {
      const data = (body as { data?: Record<string, unknown> } | undefined)?.data;
      if (typeof data !== 'object' || data === null) return;
      for (const [name, value] of Object.entries(data)) {
        if (typeof value !== 'string') continue;
        if (name === 'id') add(kindOfId(path), value);
        else if (/^(export|response|upload|job)Id$/.test(name)) add(name, value);
      }
    },
  };
}

/** What an `id` below a path names: `/surveys/{id}` → surveyId, `/surveys/{surveyId}/questions` → questionId. */
export function kindOfId(path: string): string {
  const words = path.split('/').filter((word) => word !== '' && !word.startsWith('{'));
  const last =
    words.find((word) => word === 'questions' || word === 'api-keys' || word === 'users' || word === 'webhooks') ??
    'surveys';
  return (
    { questions: 'questionId', 'api-keys': 'keyId', users: 'userId', webhooks: 'webhookId', surveys: 'surveyId' }[
      last
    ] ?? 'surveyId'
  );
}
