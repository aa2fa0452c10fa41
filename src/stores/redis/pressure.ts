import type { Redis } from 'ioredis';
import { unavailable, type Problem } from '../../errors.ts';

export interface Pressure {
  /** A refusal while the intake is too full to take more; undefined while there is room. */
  refusal(): Problem | undefined;
  /** Whether there is memory for more than must be held. */
  hasRoom(): boolean;
  /** How much of what need not be held is to be given back, in bytes; 0 while there is room. */
  surplusBytes(): number;
  /** So much has been given back since the server was last asked. */
  freed(bytes: number): void;
  stop(): void;
}

const watchMs = 500;
/** Past this share submissions are refused: what is accepted must still find room for its bookkeeping. */
const hardMark = 0.8;
/** Up to this share, what is stored already is kept for those who may ask for it again. */
const roomyMark = 0.5;

/** Watches how full the intake's Redis is, and tells it each time. */
export function watchPressure(redis: Redis, tell: (share: number) => void): Pressure {
  // 0 where the server has no bound.
  let share = 0;
  let surplus = 0;
  const look = async () => {
    const text = await redis.info('memory');
    const figure = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)?.[1] ?? 0);
    const bound = figure('maxmemory');
    share = bound === 0 ? 0 : figure('used_memory') / bound;
    surplus = bound === 0 ? 0 : Math.max(0, figure('used_memory') - bound * roomyMark);
    tell(share);
  };
  const timer = setInterval(() => void look().catch(() => undefined), watchMs);
  timer.unref();
  void look().catch(() => undefined);
  return {
    refusal: () => (share > hardMark ? unavailable('The intake is full for the moment', 1 + Math.floor(Math.random() * 10)) : undefined),
    hasRoom: () => share < roomyMark,
    surplusBytes: () => surplus,
    freed: (bytes) => void (surplus -= bytes),
    stop: () => clearInterval(timer),
  };
}
