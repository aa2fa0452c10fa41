interface Loading<T> {
  work: Promise<T>;
  /** Begins when `work` is over. */
  next: Promise<T> | undefined;
}

/** Shares the loading of things by id, without giving anybody who knows of a change what was read before it. */
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
    /** What is being read already, or is read now. */
    shared,
    /** Read from now on: a reading that is under way may be of before the call. Who calls while it is shares the next one. */
    fresh(id: string): Promise<T> {
      const loading = loadings.get(id);
      if (!loading) return begin(id);
      return (loading.next ??= loading.work.then(
        () => shared(id),
        () => shared(id),
      ));
    },
  };
}
