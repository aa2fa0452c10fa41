/** The ids that there are, as `aria-describedby` takes them. */
export const idList = (...ids: readonly (string | false | undefined)[]): string | undefined =>
  ids.filter(Boolean).join(' ') || undefined;
