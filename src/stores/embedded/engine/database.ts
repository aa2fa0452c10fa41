/** What unqualified table names mean, and what `database=` means where a request has none. */
export const defaultDatabase = 'survey';
