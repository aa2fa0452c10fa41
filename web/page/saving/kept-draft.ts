import { maxMetadataPairs } from '../../../src/domain/metadata.ts';
import { areSameEntries, type Entries, type Entry, withLeft } from '../survey/entries.ts';
import type { Session } from '../survey/session.ts';
import { type Draft, type DraftStore, maxAgeMs, type Pending } from './draft-store.ts';
import { perhapsSavedBy } from './requests.ts';
import type { FoundRequest, LeftByOthers, SentRequest, UnwrittenStore } from './unwritten.ts';

/** What other tabs are told of a draft: that it has changed, or that the service has refused what was sent of it. */
export type DraftNews = 'changed' | 'refused';

interface KeptDraftOptions {
  session: Session;
  store: DraftStore;
  unwritten: UnwrittenStore;
  /** Tells other tabs with the same survey; that the draft has changed, if nothing else is said. */
  tellOthers(news?: DraftNews): void;
}

/** The metadata of a link, followed by that of former links. */
function joinedMetadata(former: Draft['metadata'], given: Readonly<Record<string, string>>): Record<string, string> {
  const pairs = Object.entries({ ...given, ...former, ...given });
  return Object.fromEntries(pairs.slice(0, maxMetadataPairs));
}

/**
 * A draft after requests of its response that are forgotten without a reply: the service may have what they sent, so
 * what their pages had not written besides comes into the draft.
 */
function withPast(draft: Draft, past: readonly FoundRequest[]): Draft {
  const own = past.filter((request) => request.draft.responseId === draft.responseId);
  const unwritten = own.reduce((entries: Entries, request) => withLeft(entries, request.entries), {});
  const entries = withLeft(unwritten, draft.entries);
  return {
    ...draft,
    entries,
    revision: draft.revision + (areSameEntries(entries, draft.entries) ? 0 : 1),
    ...perhapsSavedBy(
      own.map(({ pending }) => pending),
      draft,
    ),
  };
}

/**
 * The draft of this page on its device. Changes are written into the database at once; meanwhile, and where the page is
 * left before they are, they lie where a page that is left can write.
 */
export class KeptDraft {
  /** As this page read or changed it last. */
  known: Draft | undefined;
  readonly #options: KeptDraftOptions;
  readonly #startedAt = new Date().toISOString();
  /** By question, changes that are being written; what another tab says of them is older. */
  readonly #writing = new Map<string, number>();
  #hasBegun = false;
  #isEnded = false;
  #isRefused = false;
  #isFinishWritten = true;

  constructor(options: KeptDraftOptions) {
    this.#options = options;
    if (!options.store.isLasting) options.session.keepsNothing();
  }

  get #here() {
    const { form, language } = this.#options.session.options;
    return { language, surveyVersion: form.survey.version };
  }

  get #key(): string {
    return this.#options.session.options.form.draftKey;
  }

  /** What was left by the pages before has been looked at. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Nothing is sent any more: the response has ended, or the service has refused it for now. */
  get isAtRest(): boolean {
    return this.#isEnded || this.#isRefused;
  }

  get isWriting(): boolean {
    return [...this.#writing.values()].some((count) => count > 0);
  }

  /** Answers would be lost with this page: neither the database nor the page that follows has them. */
  get isOnlyHere(): boolean {
    return !this.#options.store.outlivesPage && Object.keys(this.known?.entries ?? {}).length > 0;
  }

  async read(): Promise<Draft | undefined> {
    const draft = await this.#options.store.read(this.#key);
    this.#know(draft);
    return draft;
  }

  async readOrBlank(): Promise<Draft> {
    return (await this.read()) ?? this.#blank();
  }

  async change(edit: (draft: Draft) => Draft): Promise<Draft | undefined> {
    const { store, session } = this.#options;
    const changed = await store.change(this.#key, (draft) => {
      // After the end a late change must not begin a new response.
      if (this.#isEnded) return draft;
      return { ...edit(draft ?? this.#blank()), changedAt: Date.now() };
    });
    if (!store.isLasting) session.keepsNothing();
    this.known = changed;
    return changed;
  }

  keepEntry(questionId: string, entry: Entry): void {
    this.#writing.set(questionId, (this.#writing.get(questionId) ?? 0) + 1);
    this.#keepUnwritten();
    void this.change((draft) => ({
      ...draft,
      ...this.#here,
      entries: { ...draft.entries, [questionId]: entry },
      revision: draft.revision + 1,
    })).finally(() => {
      this.#writing.set(questionId, (this.#writing.get(questionId) ?? 1) - 1);
      this.#keepUnwritten();
      this.#options.tellOthers();
    });
  }

  /** The respondent has finished. */
  async keepFinish(): Promise<void> {
    this.#isFinishWritten = false;
    this.#keepUnwritten();
    const { entries } = this.#options.session;
    // What another tab has entered a moment before may not have been shown here.
    await this.change((draft) => ({
      ...draft,
      ...this.#here,
      entries: withLeft(entries, draft.entries),
      isFinishing: true,
    }));
    this.#isFinishWritten = true;
    this.#keepUnwritten();
    this.#options.tellOthers();
  }

  /** Tells other tabs that the service has a part of the draft now. */
  tellSaved(): void {
    this.#options.tellOthers();
  }

  /** Whether the last entry was changed in the language and version of this page. */
  isMadeHere({ language, surveyVersion }: Draft): boolean {
    return language === this.#here.language && surveyVersion === this.#here.surveyVersion;
  }

  /** Keeps for all tabs and later visits that the service does not want to be asked for this time. */
  async keepRest(seconds: number | undefined): Promise<void> {
    if (seconds === undefined) return;
    const notBefore = Date.now() + seconds * 1000;
    await this.#options.store.change(this.#key, (draft) => draft && { ...draft, notBefore });
  }

  /** A request has its last reply: what pages that were left keep of it does not make it the next one again. */
  forgetReplied({ body }: Pending): void {
    this.#options.unwritten.forgetReplied(body);
  }

  /**
   * Changes the draft when a request has its last reply, and is the next one no more. Where there are no locks, another
   * tab may have written one down meanwhile: that stays the next one, since the service may have it already.
   */
  changeAfter({ body }: Pending, edit: (draft: Draft) => Draft = (draft) => draft): Promise<Draft | undefined> {
    return this.change(({ pending: next, ...draft }) =>
      edit({ ...draft, ...(next && next.body !== body && { pending: next }) }),
    );
  }

  /**
   * The respondent goes on answering, without the request that was made and refused. Where another one is the next one
   * already, that refusal came a second time: what was made since stays as it is, be it after another *Send*.
   */
  async withoutRefused(refused: Pending): Promise<void> {
    const changed = await this.changeAfter(refused, (draft) =>
      draft.pending ? draft : { ...draft, isFinishing: false },
    );
    this.#options.tellOthers(changed?.pending ? 'changed' : 'refused');
  }

  /**
   * Makes a request that a page sent when it was left, perhaps this one, the next one, as the service may have it. Where
   * there is a next one already it makes none, unless that is `refused`. One that has become too old for that is
   * forgotten, but not what the service may have by it. True: there is another one to send now.
   */
  async takeSent(refused?: Pending): Promise<boolean> {
    const { store, unwritten } = this.#options;
    let requests = unwritten.readRequests();
    if (this.#isEnded || (requests.length === 0 && !refused)) return false;
    let taken: FoundRequest | undefined;
    let past: FoundRequest[] = [];
    let isOther = false;
    const changed = await store.change(this.#key, (current) => {
      // The response has ended in another tab meanwhile.
      if (this.#isEnded) return current;
      // Their pages may have gone on while the database was waited for.
      requests = unwritten.readRequests();
      const fitting = requests.filter((request) => this.goesOn(current, request));
      const hasNext = current?.pending?.body !== refused?.body;
      taken = hasNext ? undefined : fitting[0];
      // Without the database, other tabs have drafts of their own, which go on.
      past = requests.filter((request) => !fitting.includes(request) && (request.isOwn || store.isLasting));
      isOther = taken !== undefined || (hasNext && refused !== undefined);
      const known = current && withPast(current, past);
      if (!taken) return known;
      const { draft, pending, isFinished } = taken;
      const base = known ?? draft;
      // What that page had, or could not write, comes with it. The request need not have all that is there then.
      const entries = withLeft(withLeft(draft.entries, base.entries), taken.entries);
      const revision = Math.max(base.revision, draft.revision) + (areSameEntries(entries, draft.entries) ? 0 : 1);
      return { ...base, entries, revision, pending, isFinishing: isFinished || draft.isFinishing || base.isFinishing };
    });
    this.#know(changed);
    if (taken) unwritten.forgetTaken(taken);
    for (const request of past) unwritten.forgetRequest(request);
    return isOther;
  }

  /** The service has got nothing more of the draft since a request was made of it as it was then. */
  goesOn(now: Draft | undefined, { draft: then, isUnkept }: SentRequest): boolean {
    if (now)
      return (
        now.responseId === then.responseId &&
        now.resumeToken === then.resumeToken &&
        now.savedRevision === then.savedRevision &&
        now.acceptedCount === then.acceptedCount
      );
    return isUnkept === true || !this.#hasEnded(then);
  }

  /** Writes a request down before it is sent, unless another tab has: theirs is the next one then. */
  writeDown(pending: Pending): Promise<Draft | undefined> {
    return this.change((current) => ({ ...current, pending: current.pending ?? pending }));
  }

  /** Shows a draft, with what this page has not written into it yet. */
  show(draft: Draft): void {
    const isFinishing = draft.isFinishing || !this.#isFinishWritten;
    this.#options.session.restore({ ...draft, entries: this.withWriting(draft), isFinishing });
  }

  /** Entries with those that are not written yet. */
  withWriting(draft: Draft): Entries {
    return { ...draft.entries, ...this.#unwrittenEntries() };
  }

  /** The draft as it will be when everything is written, without the database. */
  get latest(): Draft {
    const base = this.known ?? this.#blank();
    const revision = base.revision + [...this.#writing.values()].reduce((sum, count) => sum + count, 0);
    return { ...base, entries: this.withWriting(base), revision, isFinishing: this.#options.session.isFinishing };
  }

  /**
   * Shows what was kept before, with what the pages before had not written; adds what was entered while a page was
   * loading. If it was this one, the respondent stays on it. `keep` keeps an entry of those. Returns
   * the draft, and whether the respondent had finished without that being written: having seen all that was kept, or
   * not.
   */
  async begin(keep: (questionId: string, entry: Entry) => void) {
    const { unwritten, session } = this.#options;
    let left: LeftByOthers;
    let draft: Draft | undefined;
    do {
      await this.takeSent();
      left = unwritten.read();
      draft = await this.#readWithMetadata();
      // A page that was left meanwhile may have left more.
    } while (!unwritten.isAsRead(left));
    this.known = draft;
    const early = session.entries;
    const isEntered = Object.keys(early).length > 0;
    const entries = withLeft(draft?.entries ?? {}, left.entries);
    const finished = left.finished ?? (session.isFinishing ? 'unseen' : undefined);
    session.restore({
      ...(draft ?? { responseId: session.options.form.responseId, isFinishing: session.isFinishing }),
      entries,
      page: isEntered ? session.page?.key : draft?.page,
    });
    this.#hasBegun = true;
    for (const [id, entry] of Object.entries(left.entries)) if (entries[id] === entry) keep(id, entry);
    for (const entries of [...left.early, early])
      for (const [id, entry] of Object.entries(entries)) keep(id, session.add(id, entry));
    unwritten.forget(left);
    return { draft, finished };
  }

  /** The service refuses the response for now. Changes are kept until the page is loaded anew, such as a late upload. */
  rest(): void {
    this.#isRefused = true;
    this.#options.tellOthers('refused');
  }

  /**
   * Reads the draft after a time in which this page heard nothing. True: the response has ended meanwhile, in a tab that
   * may have had the first reply to it too. A draft that has become too old may have been removed without an end.
   */
  async hasEndedUnheard(): Promise<boolean> {
    const { known } = this;
    if (!known || (await this.read())) return false;
    return Date.now() - known.changedAt <= maxAgeMs && this.#options.store.isLasting && !this.#isEnded;
  }

  /** The response has ended in another tab, which cannot remove what only this one has. */
  endedElsewhere(): void {
    const { store, unwritten } = this.#options;
    this.#isEnded = true;
    this.known = undefined;
    unwritten.forgetAll();
    if (!store.isLasting) void store.change(this.#key, () => undefined);
  }

  /** The response has ended: nothing of it stays here. */
  async forget(): Promise<void> {
    this.#isEnded = true;
    await this.#options.store.change(this.#key, () => undefined);
    this.known = undefined;
    this.#options.unwritten.forgetAll();
  }

  /** The link may be opened again with other metadata, which adds to the former, as on the service, or without any. */
  async #readWithMetadata(): Promise<Draft | undefined> {
    const { metadata } = this.#options.session.options.form;
    const draft = await this.read();
    const isNew = ([key, value]: [string, string]) => draft?.metadata?.[key] !== value;
    // A link that says nothing new makes a draft no newer.
    if (!draft || !Object.entries(metadata).some(isNew)) return draft;
    return this.change((current) => ({ ...current, metadata: joinedMetadata(current.metadata, metadata) }));
  }

  #know(draft: Draft | undefined): void {
    if (!this.#isEnded) this.known = draft;
  }

  #blank(): Draft {
    // A page that was left before it could write anything has begun the response.
    const sent = this.#options.unwritten.readRequests().find((request) => this.goesOn(undefined, request));
    if (sent) return sent.draft;
    const { responseId, metadata } = this.#options.session.options.form;
    return {
      key: this.#key,
      responseId,
      metadata,
      startedAt: this.#startedAt,
      changedAt: Date.now(),
      entries: {},
      revision: 0,
      savedRevision: 0,
      savedQuestions: [],
      savedAnswers: {},
      isFinishing: false,
    };
  }

  #unwrittenEntries(): Entries {
    const { entries } = this.#options.session;
    return Object.fromEntries(Object.entries(entries).filter(([id]) => (this.#writing.get(id) ?? 0) > 0));
  }

  #keepUnwritten(): void {
    const { unwritten } = this.#options;
    const entries = this.#unwrittenEntries();
    const finished = this.#isFinishWritten ? undefined : 'seen';
    const isNothing = this.#isEnded || !(finished || Object.keys(entries).length > 0);
    unwritten.write(isNothing ? undefined : { entries, finished });
  }

  /** A draft that the service had a part of, and that the database does not have any more, has ended. */
  #hasEnded({ resumeToken, savedRevision }: Draft): boolean {
    return this.#options.store.isLasting && (resumeToken !== undefined || savedRevision > 0);
  }
}
