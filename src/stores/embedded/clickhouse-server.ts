/**
 * The child process that serves the embedded ClickHouse: `node clickhouse-server.js <directory> <port> <memory in bytes>`.
 * A process of its own, because the engine takes threads and memory in any process that loads it, because several of the
 * service's processes share it, and because it can be killed and started again without them.
 */
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { readOrCreateSecretFile } from '../../platform/secrets.ts';
import { openEngine } from './engine/engine.ts';
import { createEngineServer } from './engine/http/server.ts';
import { logUncaughtErrors } from './engine/uncaught-errors.ts';

// Merges and long queries must not take the processor from who answers respondents. Threads inherit this, and the engine's come later.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

const [dir = '', port = '', memoryBytes = ''] = process.argv.slice(2);
const spoolDir = join(dir, 'spool');
rmSync(spoolDir, { recursive: true, force: true });
mkdirSync(spoolDir, { recursive: true, mode: 0o700 });

const engine = await openEngine({ dir: join(dir, 'data'), memoryBytes: Number(memoryBytes) });
const server = createEngineServer({ engine, password: readOrCreateSecretFile(join(dir, 'password')), spoolDir });
server.listen(Number(port), '127.0.0.1');
await once(server, 'listening');
// Until here an error ends the start. From here on none may: connections that cannot be accepted among them.
logUncaughtErrors();
server.on('error', (error) => console.error(`error: a connection could not be taken: ${error.message}`));

const gracePeriodMs = 3_000;
let isStopping = false;

/** Lets running requests end for a while, cancels the rest. Whoever started us kills us if this takes too long; that is safe too. */
async function stop(): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  server.close();
  server.closeIdleConnections();
  await Promise.race([once(server, 'close'), new Promise((resolve) => setTimeout(resolve, gracePeriodMs))]);
  // A reader that does not read must not keep its query, and us, alive.
  server.closeAllConnections();
  await engine.close();
  process.exit(0);
}

/** Nobody else would end a process that could not stop by the book. */
const end = (): void => void stop().catch(() => process.exit(1));

process.on('SIGTERM', end);
// A Ctrl-C meant for the service: it stops us itself, last.
process.on('SIGINT', () => {});
process.on('disconnect', end);
