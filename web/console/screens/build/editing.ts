import { SurveyApiError } from '../../data/api.ts';
import { isChangedMeanwhile, isRefusal, problemText, UserError } from '../../data/problems.ts';
import { waitMs } from '../../data/query-client.ts';
import {
  changeQuestion,
  changeSection,
  changeSurveyTexts,
  type Definition,
  type EditOptions,
  keepReply,
} from '../../data/questions.ts';
import { noteChange } from '../../data/survey-changes.ts';
import { refreshSurvey, viewsAreTold } from '../../data/survey-reads.ts';
import { leftAfterSave } from './after-save.ts';
import {
  type BrokenPlace,
  bodyOf,
  type Draft,
  type Fields,
  invalidField,
  isSame,
  isStoredAs,
  type Kind,
  type Thing,
  thingOf,
  withIds,
  without,
  withoutSame,
} from './draft.ts';
import { SaveTimes } from './save-times.ts';

export const brokenPlacesOf = (error: unknown): BrokenPlace[] | undefined => {
  if (!(error instanceof SurveyApiError)) return undefined;
  const { reason, broken } = Object(error.details) as { reason?: string; broken?: BrokenPlace[] };
  return reason === 'CONDITION_BROKEN' ? broken : undefined;
};

const isGone = (error: unknown): boolean => error instanceof SurveyApiError && error.status === 404;

/** The fields of a question that another type changes. */
const ofType = ['options', 'settings'];

/** Drafts that are being sent, or need the author first. */
const unsendable: ReadonlySet<Draft['state']> = new Set(['saving', 'conflict', 'invalid', 'deleted']);

/** What an author has typed and the service does not have yet, for one survey. It outlives the view. */
export class Editing {
  readonly #surveyId: string;
  #drafts: ReadonlyMap<string, Draft> = new Map();
  readonly #times = new SaveTimes((id) => void this.save(id));
  readonly #listeners = new Set<() => void>();
  /** The first id of an item that was added here, by the one that the service gave it: its field keeps the focus. */
  readonly #firstIds = new Map<string, string>();
  /** The same the other way round: conditions that were made before name items by their first ids. */
  readonly #givenIds = new Map<string, string>();
  /** Edits that were sent and not answered, by the id of their draft: the service may have stored them. */
  readonly #unanswered = new Map<string, readonly Fields[]>();

  constructor(surveyId: string) {
    this.#surveyId = surveyId;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  drafts = (): ReadonlyMap<string, Draft> => this.#drafts;

  keyOf = (id: string): string => this.#firstIds.get(id) ?? id;

  /** Changes fields of a question, section or of the survey, and saves them after a pause. */
  edit(kind: Kind, current: Thing, version: number, changes: Fields): void {
    const { id } = current;
    const draft = this.#drafts.get(id) ?? {
      kind,
      id,
      base: current as unknown as Fields,
      version,
      edits: {},
      state: 'waiting' as const,
    };
    const all = { ...draft.edits, ...this.#withGivenIds(changes) };
    const stored = { ...draft.base, ...draft.theirs };
    // The service may have something else than the base by now: what goes back to the base is to be saved as well.
    const edits = draft.state === 'saving' || this.#unanswered.has(id) ? all : withoutSame(all, stored);
    if (Object.keys(edits).length === 0 && draft.state !== 'saving') {
      this.discard(id);
      return;
    }
    const invalid = invalidField(edits);
    const isHeld = draft.state === 'saving' || draft.state === 'conflict';
    this.#set(id, {
      ...draft,
      edits,
      state: isHeld ? draft.state : invalid ? 'invalid' : 'waiting',
      details: invalid ? [invalid] : undefined,
      problem: undefined,
      broken: undefined,
    });
    if (!isHeld && !invalid) this.#times.saveAfterPause(id);
    // What is typed as theirs is no conflict any more.
    for (const field of Object.keys(draft.theirs ?? {})) if (!(field in edits)) this.resolve(id, field, 'theirs');
  }

  /**
   * Takes back what was typed. Where a save without an answer may have stored some of it, that is stored again as it was
   * before, with what a change of the type takes away.
   */
  takeBack(id: string): void {
    const draft = this.#drafts.get(id);
    const sent = this.#unanswered.get(id);
    if (!draft || !sent) {
      this.discard(id);
      return;
    }
    const fields = sent.flatMap((edits) => [...Object.keys(edits), ...('type' in edits ? ofType : [])]);
    const edits = Object.fromEntries(fields.map((field) => [field, draft.base[field]]));
    this.#set(id, { ...draft, edits, state: 'waiting', problem: undefined, details: undefined, broken: undefined });
    this.#times.saveSoon(id);
  }

  discard(id: string): void {
    this.#times.cancel(id);
    this.#unanswered.delete(id);
    this.#set(id, undefined);
  }

  discardAll(): void {
    for (const id of this.#drafts.keys()) this.discard(id);
  }

  /** Takes a field of somebody else's instead of what was typed here, or keeps the own one over it. */
  resolve(id: string, field: string, choice: 'mine' | 'theirs'): void {
    const draft = this.#drafts.get(id);
    if (!draft?.theirs) return;
    const base = { ...draft.base, [field]: draft.theirs[field] };
    const edits = choice === 'mine' ? draft.edits : without(draft.edits, field);
    const theirs = without(draft.theirs, field);
    if (Object.keys(theirs).length > 0) {
      this.#set(id, { ...draft, base, edits, theirs });
      return;
    }
    if (Object.keys(edits).length === 0) {
      this.discard(id);
      return;
    }
    this.#set(id, { ...draft, base, edits, theirs: undefined, state: 'waiting' });
    this.#times.saveSoon(id);
  }

  /** Compares what is typed with what the service has now: fields that only one side changed are merged. */
  rebase(survey: Definition): void {
    for (const draft of this.#drafts.values()) {
      if (draft.state === 'deleted' || survey.version < draft.version) continue;
      const fresh = thingOf(survey, draft) as Fields | undefined;
      if (!fresh) this.#deleted(draft);
      else if (draft.state !== 'saving') this.#rebaseOne(draft, fresh, survey.version);
    }
  }

  /** Keeps a question or section in whose field somebody types, though nothing is unsaved, if it was deleted. */
  keepIfDeleted(survey: Definition, kind: Kind, typedIn: Thing): void {
    const draft: Draft = {
      kind,
      id: typedIn.id,
      base: typedIn as unknown as Fields,
      version: survey.version,
      edits: {},
      state: 'deleted',
    };
    if (!this.#drafts.has(draft.id) && !thingOf(survey, draft)) this.#deleted(draft);
  }

  /** What was typed stays, to be copied, until the author discards it. */
  #deleted(draft: Draft): void {
    this.#times.cancel(draft.id);
    this.#set(draft.id, { ...draft, state: 'deleted', problem: undefined, details: undefined, broken: undefined });
  }

  #rebaseOne(compared: Draft, fresh: Fields, version: number): void {
    const draft = this.#withUnanswered(compared, fresh);
    const { id } = draft;
    // What was taken back to the base needs no save where nothing else was stored.
    const edits = withoutSame(withoutSame(draft.edits, draft.base), fresh);
    const theirs = Object.fromEntries(
      Object.keys(edits)
        .filter((field) => !isSame(fresh[field], draft.base[field]))
        .map((field) => [field, fresh[field]]),
    );
    if (Object.keys(edits).length === 0) {
      this.discard(id);
      return;
    }
    if (Object.keys(theirs).length === 0) {
      const isOver = draft.state === 'conflict';
      this.#set(id, { ...draft, base: fresh, version, edits, theirs: undefined, ...(isOver && { state: 'waiting' }) });
      if (isOver) this.#times.saveAfterPause(id);
      return;
    }
    this.#times.cancel(id);
    // The base of a field in conflict stays until somebody chooses.
    const base = { ...fresh, ...Object.fromEntries(Object.keys(theirs).map((field) => [field, draft.base[field]])) };
    this.#set(id, { ...draft, base, version, edits, theirs, state: 'conflict' });
  }

  /** The draft after saves without an answer: what the service has of them was stored by them, not by others. */
  #withUnanswered(draft: Draft, fresh: Fields): Draft {
    const sent = this.#unanswered.get(draft.id) ?? [];
    const storedOf = (field: string) => sent.find((edits) => field in edits && isStoredAs(edits[field], fresh[field]));
    const stored = Object.fromEntries(
      Object.keys(draft.edits).flatMap((field) => {
        const edits = storedOf(field);
        return edits ? [[field, edits[field]]] : [];
      }),
    );
    if (Object.keys(stored).length === 0) return draft;
    const fields = [...Object.keys(stored), ...('type' in stored ? ofType : [])];
    const base = Object.fromEntries(fields.map((field) => [field, fresh[field]]));
    return { ...draft, base: { ...draft.base, ...base }, edits: this.#leftOf(draft, stored, fresh) };
  }

  /** Saves at once what waits for a pause in typing. */
  async flush(): Promise<void> {
    await Promise.all(
      [...this.#drafts.values()].filter(({ state }) => state === 'waiting').map(({ id }) => this.save(id)),
    );
  }

  /** Saves all that needs no decision of the author, also what is typed while something else is being saved. */
  async saveAll(): Promise<void> {
    await this.flush();
    while ([...this.#drafts.values()].some(({ state }) => state === 'saving' || state === 'waiting')) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      await this.flush();
    }
  }

  /** Saves all, also what failed before. Throws a UserError if something is not saved; of a deleted question it stays. */
  async saveWhole(): Promise<void> {
    const failed = [...this.#drafts.values()].filter(({ state }) => state === 'failed');
    await Promise.all(failed.map(({ id }) => this.save(id)));
    await this.saveAll();
    if ([...this.#drafts.values()].some(({ state }) => state !== 'deleted'))
      throw new UserError('Something that was typed in Build is not saved yet. Build says why.');
  }

  /** Saves what the service refused because the session had ended. */
  async saveSignedOut(): Promise<void> {
    const signedOut = [...this.#drafts.values()].filter(({ state, isSignedOut }) => state === 'failed' && isSignedOut);
    await Promise.all(signedOut.map(({ id }) => this.save(id)));
  }

  async save(id: string, options: Pick<EditOptions, 'removeConditions'> = {}): Promise<void> {
    this.#times.cancel(id);
    const draft = this.#drafts.get(id);
    if (!draft || unsendable.has(draft.state)) return;
    // It may have been typed while the edits before it were being saved.
    const invalid = invalidField(draft.edits);
    if (invalid) {
      this.#set(id, { ...draft, state: 'invalid', details: [invalid], problem: undefined });
      return;
    }
    this.#times.noteSaving();
    this.#set(id, { ...draft, state: 'saving', problem: undefined, details: undefined, broken: undefined });
    await noteChange(this.#surveyId, this.#saveDraft(draft, options));
  }

  async #saveDraft(draft: Draft, options: Pick<EditOptions, 'removeConditions'>): Promise<void> {
    const { id, edits: sent } = draft;
    try {
      const reply = await this.#send(draft, { ...options, ifUnchangedSince: draft.version });
      // The reply is shown before the survey is read anew: a field that is typed in stays.
      keepReply(this.#surveyId, draft.kind, reply);
      await viewsAreTold();
      this.#unanswered.delete(id);
      this.#times.noteTaken();
      this.#adopt(id, sent, reply);
    } catch (error) {
      if (!isSame(this.#withGivenIds(sent), sent)) {
        this.#sendAgain(id);
        return;
      }
      const isUnanswered = problemText(error).isTemporary && !isRefusal(error);
      if (isUnanswered && this.#drafts.has(id)) this.#unanswered.set(id, [...(this.#unanswered.get(id) ?? []), sent]);
      await this.#failed(id, error);
      return;
    }
    // What was sent is saved even if the survey cannot be read now: it is followed, and compared when it is read again.
    await this.#compareAgain(id).catch(() => this.#goOn(id));
  }

  /** After a save: sends what was typed meanwhile. */
  #goOn(id: string): void {
    this.#times.noteSaving();
    const draft = this.#drafts.get(id);
    if (draft?.state !== 'saving') return;
    if (Object.keys(draft.edits).length === 0) this.discard(id);
    else {
      this.#set(id, { ...draft, state: 'waiting' });
      this.#times.saveAfterPause(id);
    }
  }

  async #send({ kind, id, base, edits }: Draft, options: EditOptions): Promise<Fields> {
    const body = bodyOf(edits, base);
    if (kind === 'survey') return (await changeSurveyTexts(id, body, options)) as unknown as Fields;
    if (kind === 'section') return (await changeSection(this.#surveyId, id, body, options)) as unknown as Fields;
    return (await changeQuestion(id, body, options)) as unknown as Fields;
  }

  /** After a save: what was sent is the service's now; what was typed meanwhile is still to be saved. */
  #adopt(id: string, sent: Fields, reply: Fields): void {
    const draft = this.#drafts.get(id);
    if (!draft || draft.state === 'deleted') return;
    this.#set(id, { ...draft, base: { ...draft.base, ...reply }, edits: this.#leftOf(draft, sent, reply) });
    for (const other of this.#drafts.values()) {
      const edits = this.#withGivenIds(other.edits);
      if (other.id === id || isSame(edits, other.edits)) continue;
      if (other.state === 'failed') this.#sendAgain(other.id);
      else this.#set(other.id, { ...other, edits });
    }
  }

  #withGivenIds = (edits: Fields): Fields => withIds(edits, this.#givenIds) as Fields;

  /** After a refusal of what names a new item by its first id. */
  #sendAgain(id: string): void {
    const draft = this.#drafts.get(id);
    if (!draft || draft.state === 'deleted') return;
    this.#set(id, { ...draft, edits: this.#withGivenIds(draft.edits), state: 'waiting', problem: undefined });
    this.#times.saveSoon(id);
  }

  #leftOf(draft: Draft, sent: Fields, stored: Fields): Fields {
    const { left, givenIds } = leftAfterSave(draft, sent, stored);
    for (const [id, given] of givenIds) {
      this.#firstIds.set(given, this.keyOf(id));
      this.#givenIds.set(id, given);
    }
    return left;
  }

  async #compareAgain(id: string): Promise<void> {
    const survey = await refreshSurvey(this.#surveyId);
    this.#times.noteSaving();
    const draft = this.#drafts.get(id);
    if (!draft || draft.state === 'deleted') return;
    const fresh = thingOf(survey, draft) as Fields | undefined;
    if (!fresh) {
      this.#deleted(draft);
      return;
    }
    this.#set(id, { ...draft, state: 'waiting' });
    this.#rebaseOne({ ...draft, state: 'waiting' }, fresh, survey.version);
    if (this.#drafts.get(id)?.state === 'waiting') this.#times.saveAfterPause(id);
  }

  async #failed(id: string, error: unknown): Promise<void> {
    if (isChangedMeanwhile(error) || isGone(error))
      await this.#compareAgain(id).catch((failure: unknown) => this.#showFailure(id, failure));
    else this.#showFailure(id, error);
  }

  #showFailure(id: string, error: unknown): void {
    const draft = this.#drafts.get(id);
    if (!draft || draft.state === 'deleted') return;
    const { text, details, isTemporary } = problemText(error);
    const broken = brokenPlacesOf(error);
    const isSignedOut = error instanceof SurveyApiError && error.status === 401;
    this.#set(id, { ...draft, state: broken ? 'broken' : 'failed', problem: text, details, broken, isSignedOut });
    const refusedMs = waitMs(error) ?? 0;
    this.#times.noteRefused(refusedMs);
    if (isTemporary) this.#times.saveAgain(id, refusedMs);
  }

  #set(id: string, draft: Draft | undefined): void {
    const next = new Map(this.#drafts);
    if (draft) next.set(id, draft);
    else next.delete(id);
    this.#drafts = next;
    for (const listener of this.#listeners) listener();
  }
}
