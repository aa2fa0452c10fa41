import type { NoticeName, PageForm, PageQuestion } from '../../../src/http/page-state.ts';
import type { UploadState } from '../questions/contract.ts';
import { pageTypeOf } from '../questions/registry.ts';
import type { Words } from '../words/en.ts';
import { type Entries, type Entry, isTouched, noEntry } from './entries.ts';
import { outcomeOf } from './outcomes.ts';
import {
  type Circumstances,
  createPages,
  offeredOf,
  type QuestionAnswer,
  type ShownPage,
  type ShownQuestion,
  type ShownSurvey,
  withQuestion,
} from './pages.ts';

/** How far the answers are from the service. */
export type SavingStatus = 'none' | 'kept' | 'saving' | 'saved' | 'offline' | 'busy';

interface SessionOptions {
  form: PageForm;
  words: Words;
  language: string;
  /** Nobody answers: files are not sent. While an author edits (`edited`), the page leaves the focus where it is. */
  preview?: 'edited' | 'trial';
}

/** Where changes go. */
export interface Persistence {
  keep(questionId: string, entry: Entry): void;
  keepPage(key: string): void;
  /** The respondent has finished. */
  finish(): void;
}

/** What a respondent sees and has entered. Views draw it and call it; it knows neither the document nor the network. */
export class Session {
  readonly options: SessionOptions;
  persistence: Persistence | undefined;
  entries: Entries = {};
  errors: Readonly<Record<string, string>> = {};
  /** The question whose error came last by itself, while the respondent was elsewhere: screen readers say it. */
  lastMarked: string | undefined;
  /** Counts the attempts that found errors, so that each is announced and focuses the first of them. */
  failedAttempts = 0;
  status: SavingStatus = 'none';
  /** False where the browser keeps nothing. */
  isKept = true;
  /** The answers are on their way as a whole. */
  isFinishing = false;
  /** Shown instead of questions. */
  notice: NoticeName | undefined;
  /** The response has ended, and `notice` says how; false also where it ended somewhere else, nobody knows how. */
  isOutcomeKnown = false;
  shown: ShownSurvey;
  /** Those of `shown`, by id. */
  #shownQuestions: ReadonlyMap<string, ShownQuestion>;
  #circumstances: Circumstances;
  #pageKey: string | undefined;
  /** By question: uploads that run or have failed. */
  #uploads = new Map<string, UploadState>();
  /** By question: answers that the service has refused, as they were sent. */
  #refused = new Map<string, string>();
  #listeners = new Set<() => void>();
  readonly #questions: ReadonlyMap<string, PageQuestion>;
  readonly #pagesOf: ReturnType<typeof createPages>;

  constructor(options: SessionOptions) {
    this.options = options;
    const { form, language } = options;
    this.#questions = new Map(form.survey.questions.map((question) => [question.id, question]));
    this.#pagesOf = createPages(form, language);
    this.#circumstances = { responseId: form.responseId, metadata: form.metadata, demanded: new Map() };
    // Nothing is entered yet.
    this.shown = this.#pagesOf([], this.#circumstances);
    this.#shownQuestions = questionsIn(this.shown);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get pageIndex(): number {
    return this.#indexOf(this.#pageKey);
  }

  /** The index of a page; of one that has left the path, that of the nearest page before it as the survey is designed. */
  #indexOf(key: string | undefined): number {
    const { pages } = this.shown;
    const index = pages.findIndex((page) => page.key === key);
    if (index >= 0 || key === undefined) return Math.max(0, index);
    const place = this.#placeOf(key);
    const places = pages.map((page) => this.#placeOf(page.key));
    return Math.max(0, places.indexOf(Math.max(...places.filter((other) => other < place))));
  }

  /** Where a page begins among the questions of the survey. */
  #placeOf(key: string): number {
    return this.options.form.survey.questions.findIndex(({ id, sectionId }) => id === key || (sectionId ?? '') === key);
  }

  get page(): ShownPage | undefined {
    return this.shown.pages[this.pageIndex];
  }

  get isLastPage(): boolean {
    return this.pageIndex >= this.shown.pages.length - 1;
  }

  /** What was entered at a question, without what it does not offer any more: earlier answers decide that. */
  entryOf = (questionId: string): Entry => {
    const entry = this.entries[questionId] ?? noEntry;
    const shown = this.#shownQuestions.get(questionId);
    return shown ? offeredOf(shown, entry) : entry;
  };

  change = (questionId: string, entered: Entry): void => {
    const entry = { ...entered, at: Date.now() };
    this.entries = { ...this.entries, [questionId]: entry };
    this.#withoutError(questionId);
    this.#update();
    this.persistence?.keep(questionId, entry);
  };

  #withoutError(questionId: string): void {
    const { [questionId]: _, ...errors } = this.errors;
    this.errors = errors;
  }

  #mark(questionId: string, problem: string): void {
    this.errors = { ...this.errors, [questionId]: problem };
    this.lastMarked = questionId;
    this.#update();
  }

  /** A field was left: what is wrong with what stands in it is said. */
  leave = (questionId: string): void => {
    const problem = this.#problemOf(questionId, this.entryOf(questionId));
    const isShown = this.page?.questions.some(({ id }) => id === questionId);
    if (problem === undefined || !isShown) return;
    this.#mark(questionId, problem);
  };

  reportUpload = (questionId: string, state: UploadState): void => {
    if (state === 'none') this.#uploads.delete(questionId);
    else this.#uploads.set(questionId, state);
    this.#withoutError(questionId);
    this.#notify();
  };

  get isUploading(): boolean {
    return [...this.#uploads.values()].includes('running');
  }

  /**
   * Goes on, or sends if this is the last page. False: something on this page must be looked at first. `halfFilled`:
   * questions with something in their field that makes no value, such as a date without its year.
   */
  forward(halfFilled: readonly string[] = []): boolean {
    const errors = { ...this.#errorsOn(this.page), ...this.#errorsOfHalf(halfFilled) };
    if (Object.keys(errors).length > 0) {
      this.#leadTo(errors);
      return false;
    }
    const next = this.shown.pages[this.pageIndex + 1];
    if (next) this.goTo(next.key);
    else {
      // What earlier pages ask may have changed since they were left.
      const wrong = this.shown.pages.find((page) => Object.keys(this.#errorsOn(page)).length > 0);
      if (wrong) {
        this.#leadTo(this.#errorsOn(wrong));
        return false;
      }
      this.isFinishing = true;
      this.#update();
      this.persistence?.finish();
    }
    return true;
  }

  goTo(wanted: string): void {
    const key = this.shown.pages[this.#indexOf(wanted)]?.key;
    if (key === undefined || key === this.page?.key) return;
    this.#pageKey = key;
    this.errors = {};
    this.#update();
    this.persistence?.keepPage(key);
  }

  backward(): void {
    const previous = this.shown.pages[this.pageIndex - 1];
    if (previous) this.goTo(previous.key);
  }

  /**
   * Shows what the service refuses. It may need an answer to a question, option or row that the page passes by, since it
   * knows more, such as answers from another device: then that is asked.
   */
  showRefused(errors: Readonly<Record<string, string>>): void {
    const demanded = new Map(this.#circumstances.demanded);
    for (const id of Object.keys(errors))
      if (!demanded.has(id) || !this.#shownQuestions.has(id))
        demanded.set(id, this.#shownQuestions.has(id) ? 'offerAll' : 'ask');
    this.#circumstances = { ...this.#circumstances, demanded };
    this.#walk();
    this.#leadTo(errors);
  }

  /** Shows errors at their questions, on the page of the first. */
  #leadTo(errors: Readonly<Record<string, string>>): void {
    const page = this.shown.pages.find(({ questions }) => questions.some(({ id }) => errors[id] !== undefined));
    if (page) this.#pageKey = page.key;
    this.errors = errors;
    this.lastMarked = undefined;
    this.isFinishing = false;
    this.failedAttempts += 1;
    this.#update();
  }

  /** The service does not take these answers: they are marked, and left out of parts until they are changed. */
  refuse(questionId: string, answers: readonly { questionId: string }[], message: string): void {
    this.#refused.set(questionId, JSON.stringify(answers));
    if (this.#isRefused(questionId)) this.#mark(questionId, message);
  }

  /** What was kept before, or changed in another tab. */
  restore(kept: {
    entries: Entries;
    responseId: string;
    metadata?: Readonly<Record<string, string>> | undefined;
    page?: string | undefined;
    isFinishing: boolean;
  }): void {
    this.entries = Object.fromEntries(
      Object.entries(kept.entries).map(([id, entry]) => [id, this.#readHere(id, entry)]),
    );
    const { responseId, metadata = this.#circumstances.metadata } = kept;
    this.#circumstances = { ...this.#circumstances, responseId, metadata };
    this.#pageKey ??= kept.page;
    this.isFinishing = kept.isFinishing;
    this.#update();
    // From now on another tab that goes on leaves this one where it is.
    this.#pageKey ??= this.page?.key;
  }

  /**
   * Adds what was entered before that which was kept could be shown. Where the service would not take both together,
   * what was kept stays. Gives the entry with both.
   */
  add(questionId: string, entered: Entry): Entry {
    const early = this.#readHere(questionId, entered);
    const kept = this.entries[questionId];
    const question = this.#questions.get(questionId);
    if (question && kept) {
      const shown = this.#shownQuestions.get(questionId) ?? asShown(question);
      const joined = pageTypeOf(question.type).join?.(shown, kept, early) ?? early;
      const isTaken = !isTouched(kept) || this.#counts(questionId, offeredOf(shown, joined));
      if (!isTaken) return kept;
      this.entries = { ...this.entries, [questionId]: { ...joined, at: early.at } };
    } else this.entries = { ...this.entries, [questionId]: early };
    this.#update();
    return this.entries[questionId] as Entry;
  }

  /** What was no answer on a page in another language may be one in this. */
  #readHere(questionId: string, entry: Entry): Entry {
    const question = this.#questions.get(questionId);
    if (!question || entry.answers.length > 0 || !entry.raw) return entry;
    return { ...entry, ...pageTypeOf(question.type).read?.(entry.raw, this.options.language) };
  }

  setStatus(status: SavingStatus): void {
    if (status === this.status) return;
    this.status = status;
    this.#notify();
  }

  show(notice: NoticeName): void {
    this.notice = notice;
    this.#notify();
  }

  /** The response has ended, and an outcome that is known stays; undefined: how it ended is not known here. */
  end(notice: NoticeName | undefined): void {
    if (this.isOutcomeKnown) return;
    this.isOutcomeKnown = notice !== undefined && outcomeOf(notice) !== undefined;
    this.show(notice ?? 'thanks');
  }

  keepsNothing(): void {
    if (!this.isKept) return;
    this.isKept = false;
    this.#notify();
  }

  /**
   * The answers that the service would take: valid, and on the path. It is asked again about those that it refused when
   * the response is complete.
   */
  answersToSend(isComplete: boolean): QuestionAnswer[] {
    return this.shown.pages.flatMap(({ questions }) =>
      questions.flatMap(({ id }) => {
        const entry = this.entryOf(id);
        const isSent = this.#counts(id, entry) && (isComplete || !this.#isRefused(id));
        return isSent ? withQuestion(id, entry.answers) : [];
      }),
    );
  }

  #isRefused(questionId: string): boolean {
    return this.#refused.get(questionId) === JSON.stringify(withQuestion(questionId, this.entryOf(questionId).answers));
  }

  #counts(questionId: string, entry: Entry): boolean {
    return entry.answers.length > 0 && this.#problemOf(questionId, entry) === undefined;
  }

  /** What is wrong with a touched entry. */
  #problemOf(questionId: string, entry: Entry): string | undefined {
    const question = this.#questions.get(questionId);
    if (!question || !isTouched(entry)) return undefined;
    const { words, language } = this.options;
    const shown = this.#shownQuestions.get(questionId) ?? asShown(question);
    return pageTypeOf(question.type).problemOf?.(shown, entry, words, language);
  }

  #errorsOn(page: ShownPage | undefined): Record<string, string> {
    const { words } = this.options;
    const found = (page?.questions ?? []).flatMap((question): [string, string][] => {
      const entry = this.entryOf(question.id);
      const type = pageTypeOf(question.type);
      const isMissing = question.isRequired && entry.answers.length === 0;
      const isPartAsked = entry.raw !== undefined || (question.isRequired && isTouched(entry));
      const problem =
        this.#uploadProblem(question.id, entry) ??
        this.#problemOf(question.id, entry) ??
        (isPartAsked ? type.missingPart?.(question, entry, words) : undefined) ??
        (isMissing ? words.errorRequired : undefined);
      return problem === undefined ? [] : [[question.id, problem]];
    });
    return Object.fromEntries(found);
  }

  #uploadProblem(questionId: string, entry: Entry): string | undefined {
    const { words } = this.options;
    const state = this.#uploads.get(questionId);
    if (state === 'running') return words.errorUploading;
    // A file that another tab has sent stands for one that failed in this one.
    return state === 'failed' && entry.answers.length === 0 ? words.errorNotUploaded : undefined;
  }

  #errorsOfHalf(questionIds: readonly string[]): Record<string, string> {
    const { words, language } = this.options;
    const questions = (this.page?.questions ?? []).filter(({ id }) => questionIds.includes(id));
    return Object.fromEntries(
      questions.map((question) => [
        question.id,
        pageTypeOf(question.type).problemOf?.(question, noEntry, words, language) ?? words.errorOther,
      ]),
    );
  }

  /**
   * The path of the answers that would be sent. Which of them are offered follows from the path, but only from earlier
   * answers: each round settles one more question at least, so the rounds end.
   */
  #walk(): void {
    let answers: QuestionAnswer[];
    do {
      answers = this.#answersCounted();
      this.shown = this.#pagesOf(answers, this.#circumstances);
      this.#shownQuestions = questionsIn(this.shown);
    } while (JSON.stringify(this.#answersCounted()) !== JSON.stringify(answers));
  }

  /** The answers that the service would take. Those to questions off the path are among them; no condition reads them. */
  #answersCounted(): QuestionAnswer[] {
    return [...this.#questions.keys()].flatMap((id) => {
      const entry = this.entryOf(id);
      return this.#counts(id, entry) ? withQuestion(id, entry.answers) : [];
    });
  }

  #update(): void {
    this.#walk();
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

const questionsIn = ({ pages }: ShownSurvey): ReadonlyMap<string, ShownQuestion> =>
  new Map(pages.flatMap(({ questions }) => questions.map((question) => [question.id, question])));

/** A question that is not on the path, with all its options and rows. */
const asShown = (question: PageQuestion): ShownQuestion => ({
  ...question,
  rows: (question.settings.rows ?? []).map(({ id, text = '' }) => ({ id, text })),
});
