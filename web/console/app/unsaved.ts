/** A part that holds what was typed or decided and the service does not have yet. */
interface Keeper {
  /** Sends it at once, where that needs no decision of the user. Never throws. */
  save?(): Promise<void>;
  /** Throws a UserError for what was typed into a survey and is saved only when the user says so. */
  refuse?(surveyId: string): void;
  /**
   * Does at once what was decided about a survey and waits only to be undone. Throws what the service refuses, and a
   * UserError for what could not be saved.
   */
  carryOut?(surveyId: string): Promise<void>;
  /** Forgets what belongs to a survey that is deleted or left. */
  forget?(surveyId: string): void;
  /** Ends what must not go on without the session. Throws if it goes on. */
  end?(): Promise<void>;
  /** Whether anything waits that can be saved (`canBeSaved`). */
  isUnsaved(): boolean;
  /** A sentence about what signing out loses; undefined: something that was typed. */
  loss?: string;
}

const keepers: Keeper[] = [];
/** Somebody who signs out does not wait longer for a slow network before being asked. */
const longestWaitMs = 8000;

export function addKeeper(keeper: Keeper): void {
  keepers.push(keeper);
}

/** Before the session ends: saves what can be saved. False: something of it is not saved. */
export async function saveUnsaved(): Promise<boolean> {
  const saving = Promise.all(keepers.map((keeper) => keeper.save?.()));
  await Promise.race([saving, new Promise((resolve) => setTimeout(resolve, longestWaitMs))]);
  return !keepers.some((keeper) => keeper.isUnsaved());
}

const typed = 'Some of what you have typed is not saved yet. It is lost unless you sign in again in this tab.';

/** What signing out would lose, as sentences. */
export const unsavedLosses = (): string[] => [
  ...new Set(keepers.filter((keeper) => keeper.isUnsaved()).map(({ loss = typed }) => loss)),
];

/** When the user signs out, whatever is lost by it. Throws if something goes on that must not. */
export async function endUnsaved(): Promise<void> {
  await Promise.all(keepers.map((keeper) => keeper.end?.()));
}

/**
 * Before others are shown a survey, or a copy of it: what can still be undone there counts from now on. Throws while
 * something of it is typed and not saved; what waits can still be undone then.
 */
export async function carryOut(surveyId: string): Promise<void> {
  for (const keeper of keepers) keeper.refuse?.(surveyId);
  await Promise.all(keepers.map((keeper) => keeper.carryOut?.(surveyId)));
}

/** Surveys that the service does not show to the user any more. */
const gone = new Set<string>();

/**
 * After a read of a survey. What was typed into one that is not there any more, or is no longer shared, is kept: it may
 * be shared again. Nobody who leaves is asked about it, since it cannot be saved.
 */
export function keepUnsaved(surveyId: string, { canBeSaved }: { canBeSaved: boolean }): void {
  if (canBeSaved) gone.delete(surveyId);
  else gone.add(surveyId);
}

/** Whether what was typed into a survey can be saved, as far as is known. */
export const canBeSaved = (surveyId: string): boolean => !gone.has(surveyId);

/** After the user has deleted or left a survey: nothing of it can be saved any more. */
export function forgetUnsaved(surveyId: string): void {
  for (const keeper of keepers) keeper.forget?.(surveyId);
}
