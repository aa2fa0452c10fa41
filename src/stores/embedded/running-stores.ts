import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { clickhouseUrl } from './clickhouse.ts';
import { postgresUrl } from './postgres.ts';
import { redisUrl } from './redis.ts';

export interface RunningStores {
  redis: string | undefined;
  postgres: string | undefined;
  clickhouse: string | undefined;
}

/** The URLs of the stores that a running service has started under its DATA_DIR; undefined for those that are not there. */
export function runningStores(dataDir: string): RunningStores {
  const at = (folder: string, url: (port: string, password: string) => string): string | undefined => {
    try {
      const read = (name: string) => readFileSync(join(dataDir, folder, name), 'utf8').trim();
      return url(read('port'), read('password'));
    } catch {
      return undefined;
    }
  };
  return {
    redis: at('redis-intake', redisUrl),
    postgres: at('postgres', postgresUrl),
    clickhouse: at('clickhouse', clickhouseUrl),
  };
}
