import { useSyncExternalStore } from 'react';
import { liveState, onLiveState } from '../../data/live.ts';
import { Badge } from '../../parts/feedback.tsx';

/** Whether what is shown follows the responses. */
export function LiveState({ isStale }: { isStale: boolean }) {
  const state = useSyncExternalStore(onLiveState, liveState);
  if (isStale) return <Badge>Counting …</Badge>;
  if (state === 'open') return <Badge tone="success">Live</Badge>;
  return state === 'away' ? <Badge tone="warning">Not live: connecting again</Badge> : <Badge>Connecting …</Badge>;
}
