import type { AuditEntry } from '../../data/audit.ts';

const objects: Readonly<Record<string, string>> = {
  'api-key': 'API key',
  ai: 'AI',
  'ai-provider': 'AI provider',
  'dead-letters': 'Dead letters',
};

const withCapital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** An action such as `survey.token-rotated` in words: “Survey token rotated”. */
export function actionText(action: string): string {
  const [object = '', what = ''] = action.split('.');
  return `${objects[object] ?? withCapital(object.replaceAll('-', ' '))} ${what.replaceAll('-', ' ')}`;
}

export const objectText = (kind: string): string => objects[kind] ?? withCapital(kind.replaceAll('-', ' '));

/** The survey that an event is about; it may be deleted. */
export function surveyOf({ objectKind, objectId, details }: AuditEntry): string | undefined {
  if (objectKind === 'survey') return objectId;
  return typeof details['surveyId'] === 'string' ? details['surveyId'] : undefined;
}

const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Ids that may be those of users: of who did it, of the object, and within the details. */
export function userIdsOf({ actorId, objectKind, objectId, details }: AuditEntry): string[] {
  const { surveyId: _, ...others } = details;
  return [actorId, objectKind === 'user' && objectId, ...Object.values(others)].filter(
    (value): value is string => typeof value === 'string' && idPattern.test(value),
  );
}

const isChange = (value: unknown): value is { from: unknown; to: unknown } =>
  typeof value === 'object' && value !== null && 'from' in value && 'to' in value;

function valueText(value: unknown): string {
  if (value === null || value === undefined || value === '') return '—';
  if (Array.isArray(value)) return value.map(valueText).join(', ');
  if (isChange(value)) return `${valueText(value.from)} → ${valueText(value.to)}`;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** `userId` → “User id”, `call` → “Call”. */
const nameText = (name: string): string =>
  withCapital(name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`));

/** The details of an event as names and values; `nameOf` gives the address of a user by id. */
export function detailRows(
  { details }: AuditEntry,
  nameOf: (id: string) => string | undefined,
): { name: string; value: string }[] {
  return Object.entries(details)
    .filter(([name]) => name !== 'surveyId')
    .map(([name, value]) => {
      const user = typeof value === 'string' && idPattern.test(value) ? nameOf(value) : undefined;
      return user === undefined
        ? { name: nameText(name), value: valueText(value) }
        : { name: nameText(name).replace(/ id$/, ''), value: user };
    });
}
