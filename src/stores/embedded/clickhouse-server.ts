/**
 * The child process of the embedded ClickHouse: `node clickhouse-server.js <directory> <port> <memory in bytes> <display
 * name>`. It is separate, because the engine takes threads and memory, several processes of the service share it, and it
 * can be restarted alone.
 */
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { readOrCreateSecretFile } from '../../platform/secrets.ts';
import { openEngine } from './engine/engine.ts';
import { createEngineServer } from './engine/http/server.ts';
import { logUncaughtErrors } from './engine/uncaught-errors.ts';

// Lower priority than the processes that answer respondents. The engine's threads are created later and inherit it.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

const [dir = '', port = '', memoryBytes = '', displayName = ''] = process.argv.slice(2);
const spoolDir = join(dir, 'spool');
rmSync(spoolDir, { recursive: true, force: true });
mkdirSync(spoolDir, { recursive: true, mode: 0o700 });

const engine = await openEngine({ dir: join(dir, 'data'), memoryBytes: Number(memoryBytes) });
const password = readOrCreateSecretFile(join(dir, 'password'));
const server = createEngineServer({ engine, password, displayName, spoolDir });
server.listen(Number(port), '127.0.0.1');
await once(server, 'listening');
// Up to here an error ends the start; from here on no error ends the process.
logUncaughtErrors();
server.on('error', (error) => console.error(`error: a connection could not be taken: ${error.message}`));

const gracePeriodMs = 3_000;
let isStopping = false;
const repliesUnderWay = new Set<ServerResponse>();
for (const event of ['request', 'checkContinue'])
  server.on(event, (_: IncomingMessage, reply: ServerResponse) => {
    repliesUnderWay.add(reply);
    reply.once('close', () => repliesUnderWay.delete(reply));
  });

/** Resolves when no request is answered any more; connections that have sent none are not waited for. */
async function lastReply(): Promise<void> {
  for (const reply of repliesUnderWay) await new Promise((resolve) => reply.once('close', resolve));
}

/**
 * Waits for running requests for a while and cancels the rest. If this takes too long, the parent kills the process,
 * which is safe.
 */
async function stop(): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  server.close();
  await Promise.race([lastReply(), new Promise((resolve) => setTimeout(resolve, gracePeriodMs))]);
  // A client that does not read must not keep its query and this process alive.
  server.closeAllConnections();
  await engine.close();
  process.exit(0);
}

/** Ends the process even if stopping fails. */
const end = (): void => void stop().catch(() => process.exit(1));

process.on('SIGTERM', end);
// Ctrl-C goes to the service, which stops this process last.
process.on('SIGINT', () => {});
process.on('disconnect', end);
