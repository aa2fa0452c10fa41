import { useLayoutEffect, useState } from 'preact/hooks';

let hasTakenOver = false;

/** Whether the script has taken over what the service drew: false at the first paint only. */
export function useIsReady(): boolean {
  const [isReady, setReady] = useState(hasTakenOver);
  useLayoutEffect(() => {
    hasTakenOver = true;
    setReady(true);
  }, []);
  return isReady;
}
