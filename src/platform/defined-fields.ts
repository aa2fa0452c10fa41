type Defined<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> };

/** The fields of an object that are not undefined. */
export const definedFields = <T extends object>(given: T): Defined<T> =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Defined<T>;
