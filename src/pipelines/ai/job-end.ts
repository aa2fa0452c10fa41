/** Ends work that is no longer this process's to do. */
export interface JobEnd {
  signal: AbortSignal;
  /**
   * Throws if the job was cancelled, its survey deleted, or another process has claimed it. Call it immediately before
   * results are stored: the signal may come some seconds later.
   */
  confirmClaim(): Promise<void>;
}
