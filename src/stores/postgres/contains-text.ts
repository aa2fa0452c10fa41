import { dottedI } from '../../domain/questions/words.ts';
import type { Sql } from './client.ts';

/** `pg_c_utf8` exists from PostgreSQL 17 on, `und-x-icu` where the server was built with ICU. The first is preferred. */
const caseCollations = ['pg_c_utf8', 'und-x-icu'];

/**
 * Makes what finds the collation that `containsText` needs; undefined where the locale of the database knows the lower
 * case of all letters, or the server has no collation that does. The answer of the server is kept.
 */
export function createCaseCollation(sql: Sql): () => Promise<string | undefined> {
  let known: { collation: string | undefined } | undefined;
  return async () => {
    known ??= { collation: await findCaseCollation(sql) };
    return known.collation;
  };
}

async function findCaseCollation(sql: Sql): Promise<string | undefined> {
  const rows = await sql<{ name: string }[]>`
    SELECT collname AS name FROM pg_collation
    WHERE lower('Ä') <> 'ä' AND collnamespace = 'pg_catalog'::regnamespace AND collname = ANY(${caseCollations})`;
  return caseCollations.find((wanted) => rows.some(({ name }) => name === wanted));
}

/**
 * SQL: a column contains a text, in any case and in composed or decomposed letters, with σ for ς at the end of a word.
 * To PostgreSQL the lower case of İ may be i, and a search for İ would find
 * every i: where İ is searched, it is compared by the lower case that Unicode gives it, an i with a dot above.
 */
export function containsText(sql: Sql, column: string, searched: string, collation: string | undefined) {
  const text = searched.includes('İ') ? sql`replace(${sql(column)}, 'İ', ${dottedI})` : sql`${sql(column)}`;
  const collate = collation === undefined ? sql`` : sql`COLLATE ${sql(collation)}`;
  const folded = (given: typeof text) => sql`replace(normalize(lower(${given} ${collate}), NFC), 'ς', 'σ')`;
  return sql`strpos(${folded(text)}, ${folded(sql`${searched.replaceAll('İ', dottedI)}`)}) > 0`;
}
