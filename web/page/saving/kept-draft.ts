import type { Entries, Entry } from '../survey/entries.ts';
import type { Session } from '../survey/session.ts';
import type { Draft, DraftStore } from './draft-store.ts';
import type { SubmitResult } from './submit.ts';
import type { SentRequest, UnwrittenStore } from './unwritten.ts';

/** A request that was sent when the page was hidden. */
export interface LastRequest extends SentRequest {
  result: Promise<SubmitResult>;
}

/** What other tabs are told of a draft: that it has changed, or that the service has refused what was sent of it. */
export type DraftNews = 'changed' | 'refused';

export interface KeptDraftOptions {
  session: Session;
  store: DraftStore;
  unwritten: UnwrittenStore;
  /** Tells other tabs with the same survey; that the draft has changed, if nothing else is said. */
  tellOthers(news?: DraftNews): void;
}

/** A submission takes no more pairs. */
const maxMetadataPairs = 20;

/** The metadata of a link, followed by that of former links. */
function joinedMetadata(former: Draft['metadata'], given: Readonly<Record<string, string>>): Record<string, string> {
  const pairs = Object.entries({ ...given, ...former, ...given });
  return Object.fromEntries(pairs.slice(0, maxMetadataPairs));
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
  #lastRequest: LastRequest | undefined;

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

  /** Sent when the page was hidden, and not written down yet. */
  get lastRequest(): LastRequest | undefined {
    return this.#lastRequest;
  }

  set lastRequest(request: LastRequest | undefined) {
    this.#lastRequest = request;
    this.#keepUnwritten();
  }

  read(): Promise<Draft | undefined> {
    return this.#options.store.read(this.#key);
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
    await this.change((draft) => ({ ...draft, entries: this.#options.session.entries, isFinishing: true }));
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

  /** The respondent goes on answering, without the request that was made and refused. */
  async withoutPending(): Promise<void> {
    await this.change(({ pending: _, ...draft }) => ({ ...draft, isFinishing: false }));
    this.#options.tellOthers('refused');
  }

  /** Makes a request that was sent at last the next one, unless the draft has gone on since without it. */
  async writeDown({ draft, pending }: SentRequest): Promise<void> {
    await this.#options.store.change(this.#key, (current = draft) => {
      const goesOn =
        current.pending === undefined &&
        current.responseId === draft.responseId &&
        current.resumeToken === draft.resumeToken &&
        current.savedRevision === draft.savedRevision;
      return goesOn ? { ...current, pending, isFinishing: draft.isFinishing } : current;
    });
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
   * Shows what was kept before, with what the pages before had not written, which counts more; adds what was entered
   * while a page was loading. If it was this one, the respondent stays on it. `keep` keeps an entry of those. Returns
   * the draft, and whether the respondent had finished without that being written: having seen all that was kept, or
   * not.
   */
  async begin(keep: (questionId: string, entry: Entry) => void) {
    const { unwritten, session } = this.#options;
    const left = unwritten.read();
    if (left.request) await this.writeDown(left.request);
    const draft = await this.#readWithMetadata();
    this.known = draft;
    const early = session.entries;
    const isEntered = Object.keys(early).length > 0;
    const finished = left.finished ?? (session.isFinishing ? 'unseen' : undefined);
    session.restore({
      ...(draft ?? { responseId: session.options.form.responseId, isFinishing: session.isFinishing }),
      entries: { ...draft?.entries, ...left.entries },
      page: isEntered ? session.page?.key : draft?.page,
    });
    this.#hasBegun = true;
    for (const [id, entry] of Object.entries(left.entries)) keep(id, entry);
    for (const entries of [...left.early, early])
      for (const [id, entry] of Object.entries(entries)) keep(id, session.add(id, entry));
    unwritten.forget();
    return { draft, finished };
  }

  /** The service refuses the response for now. Changes are kept until the page is loaded anew, such as a late upload. */
  rest(): void {
    this.#isRefused = true;
    this.#options.tellOthers('refused');
  }

  /** The response has ended in another tab, which cannot remove what only this one has. */
  endedElsewhere(): void {
    const { store, unwritten } = this.#options;
    this.#isEnded = true;
    this.known = undefined;
    unwritten.forget('own');
    if (!store.isLasting) void store.change(this.#key, () => undefined);
  }

  /** The service has the whole response: nothing of it stays here. */
  async forget(): Promise<void> {
    this.#isEnded = true;
    await this.#options.store.change(this.#key, () => undefined);
    this.known = undefined;
    this.#options.unwritten.forget('own');
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

  #blank(): Draft {
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
    const request = this.#lastRequest && { draft: this.#lastRequest.draft, pending: this.#lastRequest.pending };
    const finished = this.#isFinishWritten ? undefined : 'seen';
    const isNothing = this.#isEnded || !(request || finished || Object.keys(entries).length > 0);
    unwritten.write(isNothing ? undefined : { entries, finished, request });
  }
}
