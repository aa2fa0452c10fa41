/** For how long readiness fails before the port is closed. */
export interface DrainDelay {
  /** 0 where no balancer is to be waited for. */
  ms: number;
  /** Resolves after that time, or sooner where the port is needed. */
  wait(): Promise<void>;
}
