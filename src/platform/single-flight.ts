interface Loading<T> {
  work: Promise<T>;
  /** Begins when `work` is over. */
  next: Promise<T> | undefined;
}

/** Shares concurrent loads by id. `fresh` never returns data that was read before the call. */
export function createSingleFlight<T>(load: (id: string) => Promise<T>) {
  const loadings = new Map<string, Loading<T>>();

  const begin = (id: string): Promise<T> => {
    const loading: Loading<T> = {
      work: load(id).finally(() => loadings.get(id) === loading && loadings.delete(id)),
      next: undefined,
    };
    loadings.set(id, loading);
    return loading.work;
  };
  const shared = (id: string): Promise<T> => loadings.get(id)?.work ?? begin(id);

  return {
    isLoading: (id: string): boolean => loadings.has(id),
    /** Joins the load in progress or starts one. */
    shared,
    /**
     * Starts a load after the call: a load in progress may have read older data. Callers during a load share the next
     * one.
     */
    fresh(id: string): Promise<T> {
      const loading = loadings.get(id);
      if (!loading) return begin(id);
      loading.next ??= loading.work.then(
        () => shared(id),
        () => shared(id),
      );
      return loading.next;
    },
  };
}
