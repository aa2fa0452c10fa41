import { Link } from '@tanstack/react-router';
import type { AuditAction, AuditEntry } from '../../data/audit.ts';
import { objectText, surveyOf } from './event-words.ts';

type NameOf = (id: string) => string | undefined;

/** Actions whose actor the service does not know. */
const actionsOfUnknown: readonly AuditAction[] = ['session.refused', 'session.token-reused', 'api-key.refused'];

/** Who did it, as far as that is known. */
export function actorText({ action, actorKind, actorId }: AuditEntry, nameOf: NameOf): string {
  if (actionsOfUnknown.some((known) => known === action)) return 'An unknown caller';
  if (actorKind === 'SYSTEM' || actorId === null) return 'The service';
  const name = nameOf(actorId) ?? 'A former user';
  return actorKind === 'API_KEY' ? `${name}, with a key` : name;
}

interface ObjectLinkProps {
  event: AuditEntry;
  nameOf: NameOf;
  titleOf: NameOf;
}

/** What an event is about: a link where that still exists. */
export function ObjectLink({ event, nameOf, titleOf }: ObjectLinkProps) {
  const { objectKind, objectId } = event;
  const surveyId = surveyOf(event);
  const title = surveyId === undefined ? undefined : titleOf(surveyId);
  const kind = objectKind === 'survey' ? '' : `${objectText(objectKind)} in `;
  if (surveyId !== undefined)
    return title === undefined ? (
      `${kind}a survey that is gone`
    ) : (
      <>
        {kind}
        <Link to="/surveys/$surveyId" params={{ surveyId }}>
          {title}
        </Link>
      </>
    );
  return objectKind === 'user' ? (nameOf(objectId) ?? 'A user who is not there') : objectText(objectKind);
}
