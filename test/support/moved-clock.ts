/**
 * Loaded into a process before all else (`--import`): its wall clock shows the real time and so many milliseconds more
 * as MOVED_CLOCK_FILE says, read at the start and at every SIGUSR2. Timers and `performance.now` go on as they do when
 * a system's clock is set.
 */
import { readFileSync } from 'node:fs';

const file = process.env['MOVED_CLOCK_FILE'];
const real = Date;
let offsetMs = 0;

if (file !== undefined) {
  const read = () => {
    offsetMs = Number(readFileSync(file, 'utf8'));
  };
  read();
  process.on('SIGUSR2', read);
  const now = () => real.now() + offsetMs;
  globalThis.Date = new Proxy(real, {
    construct: (target, given, made) => Reflect.construct(target, given.length === 0 ? [now()] : given, made),
    apply: () => new real(now()).toString(),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  });
}
