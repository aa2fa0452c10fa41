import { msOfCall } from '../../data/query-client.ts';

/** The pause in typing after which an edit is saved. */
const pauseMs = 600;
/** The pause after a save, which makes two calls, as it reads the survey then, and on a slow network four. */
const betweenSavesMs = 2 * msOfCall;
const retryMs = 5000;

/** When each draft is saved. */
export class SaveTimes {
  readonly #save: (id: string) => void;
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();
  /** When a save was last under way, the read after it included. */
  #savingAtMs = Number.NEGATIVE_INFINITY;
  /** Before this the service, which has refused a save, takes none. */
  #refusedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(save: (id: string) => void) {
    this.#save = save;
  }

  /** A save, or the read after it, is under way. */
  noteSaving(): void {
    this.#savingAtMs = performance.now();
  }

  /** The service took a save. */
  noteTaken(): void {
    this.#refusedUntilMs = Number.NEGATIVE_INFINITY;
  }

  /** The service refused a save and takes none for so long. */
  noteRefused(ms: number): void {
    this.#refusedUntilMs = Math.max(this.#refusedUntilMs, performance.now() + ms);
  }

  /** Saves a draft when nobody has typed in it for a while. */
  saveAfterPause(id: string): void {
    const notBeforeMs = Math.max(this.#savingAtMs + betweenSavesMs, this.#refusedUntilMs);
    this.#saveIn(id, Math.max(pauseMs, notBeforeMs - performance.now()));
  }

  saveSoon(id: string): void {
    this.#saveIn(id, 0);
  }

  /** Tries again after a failure of the moment, not before the service takes saves again. */
  saveAgain(id: string, refusedMs: number): void {
    this.#saveIn(id, Math.max(retryMs, refusedMs));
  }

  cancel(id: string): void {
    clearTimeout(this.#timers.get(id));
  }

  #saveIn(id: string, ms: number): void {
    this.cancel(id);
    this.#timers.set(
      id,
      setTimeout(() => this.#save(id), ms),
    );
  }
}
