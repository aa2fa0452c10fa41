import type { Log } from '../../log.ts';

/** With these, postgres.js takes the certificate of anybody. */
const uncheckedModes = ['require', 'prefer', 'allow'];

/** Warns of a DATABASE_URL whose `sslmode` leaves the server's certificate unchecked; the start goes on. */
export function warnOfUncheckedCertificate(url: string, log: Pick<Log, 'warn'>): void {
  const { searchParams } = new URL(url);
  const sslmode = searchParams.get('sslmode') ?? searchParams.get('ssl') ?? '';
  if (uncheckedModes.includes(sslmode) && searchParams.get('sslrootcert') !== 'system')
    log.warn(
      { sslmode },
      'DATABASE_URL does not check the certificate of PostgreSQL: whoever is on the way can pose as the server, and gets the password and all data; sslmode=verify-full checks it',
    );
}
