import { connect, type Socket } from 'node:net';

export interface PacedLoadOptions {
  port: number;
  /** The whole request, head and body. */
  request: Buffer;
  /** Requests a second. */
  rate: number;
  seconds: number;
}

const connections = 64;

/**
 * Sends at a steady rate over keep-alive connections, or as fast as replies come where that is slower; gives how many
 * were sent.
 */
export async function sendPaced({ port, request, rate, seconds }: PacedLoadOptions): Promise<number> {
  const free: Socket[] = await Promise.all(Array.from({ length: connections }, () => openSender(port)));
  for (const socket of free) socket.on('data', () => free.push(socket));
  const all = [...free];
  const startedAt = performance.now();
  let sent = 0;
  while (performance.now() - startedAt < seconds * 1000) {
    const due = Math.floor(((performance.now() - startedAt) / 1000) * rate);
    while (sent < due) {
      const socket = free.pop();
      if (!socket) break;
      socket.write(request);
      sent += 1;
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await until(() => free.length >= all.length, 3000);
  for (const socket of all) socket.destroy();
  return sent;
}

export async function until(isTrue: () => boolean, withinMs: number): Promise<void> {
  const end = performance.now() + withinMs;
  while (!isTrue() && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 5));
}

function openSender(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}
