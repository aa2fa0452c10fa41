import type { Sql } from './client.ts';

/**
 * SQL: a column contains a text, in any case. To PostgreSQL the lower case of İ may be i, and a search for İ would find
 * every i: where İ is searched, it is compared by the lower case that Unicode gives it, an i with a dot above.
 */
export function containsText(sql: Sql, column: string, searched: string) {
  const hasDottedI = searched.includes('İ');
  const text = hasDottedI ? sql`replace(${sql(column)}, 'İ', ${dottedI})` : sql(column);
  return sql`strpos(lower(${text}), lower(${searched.replaceAll('İ', dottedI)})) > 0`;
}

const dottedI = 'i\u0307';
