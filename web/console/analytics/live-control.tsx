import { Pause, Play } from 'lucide-react';
import { Button } from '../parts/button.tsx';
import { Badge, type Tone } from '../parts/feedback.tsx';
import type { LiveView } from './live-statistics.ts';

const words: Readonly<Record<LiveView, { text: string; tone: Tone }>> = {
  live: { text: 'Live', tone: 'success' },
  paused: { text: 'Paused', tone: 'neutral' },
  connecting: { text: 'Connecting', tone: 'neutral' },
  failing: { text: 'Not up to date', tone: 'warning' },
  away: { text: 'Not up to date: reconnecting', tone: 'warning' },
};

/** Whether figures move by themselves, with a button that holds them still. */
export function LiveControl({ view, onPause }: { view: LiveView; onPause(isPaused: boolean): void }) {
  const { text, tone } = words[view];
  const isPaused = view === 'paused';
  return (
    <>
      <span role="status">
        <Badge tone={tone}>{text}</Badge>
      </span>
      <Button
        look="quiet"
        icon={isPaused ? <Play aria-hidden /> : <Pause aria-hidden />}
        onPress={() => onPause(!isPaused)}
      >
        {isPaused ? 'Go on' : 'Pause'}
      </Button>
    </>
  );
}
