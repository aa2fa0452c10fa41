import {
  authorMakesOptions,
  changedSettings,
  type Draft,
  type Fields,
  isNewId,
  itemsIn,
  rowsIn,
  settingsFor,
  withIds,
  without,
} from './draft.ts';

/**
 * What is still to be saved of a draft when the service has stored what was sent, and the ids that items have now by
 * those that they had.
 */
export function leftAfterSave(
  { edits, base }: Pick<Draft, 'edits' | 'base'>,
  sent: Fields,
  stored: Fields,
): { left: Fields; givenIds: ReadonlyMap<string, string> } {
  const former = { ...base, ...sent };
  const givenIds = givenIdsOf('type' in sent ? former : sent, stored);
  const left: Fields = Object.fromEntries(
    Object.entries(edits)
      .filter(([field, value]) => value !== sent[field])
      .map(([field, value]) => [field, withIds(value, givenIds)]),
  );
  if (!('type' in sent)) return { left, givenIds };
  const type = left['type'] ?? stored['type'];
  const taken = 'options' in left && !authorMakesOptions(type) ? without(left, 'options') : left;
  if (!('settings' in left)) return { left: taken, givenIds };
  // Those that are taken back whole are those of the former type.
  const settings =
    edits['settings'] === base['settings']
      ? settingsFor(type, Object(left['settings']))
      : { ...Object(stored['settings']), ...settingsFor(type, changedSettings(former, left)) };
  return { left: { ...taken, settings }, givenIds };
}

/** Ids that the service gave to items which were added here, or to all, as those of another type are new. */
function givenIdsOf(sent: Fields, reply: Fields): Map<string, string> {
  const ids = new Map<string, string>();
  for (const list of [itemsIn, rowsIn])
    for (const [index, item] of (list(sent) ?? []).entries()) {
      const stored = list(reply) ?? [];
      const sameValue = 'type' in sent ? stored.find(({ value }) => value === item.value) : undefined;
      const given = isNewId(item.id) ? stored[index] : sameValue;
      if (given !== undefined && given.id !== item.id) ids.set(item.id, given.id);
    }
  return ids;
}
