import { useCallback, useEffect, useRef } from 'react';

/** Tells whether the component is still shown: a call that ends after its view was left leads nobody back there. */
export function useIsShown(): () => boolean {
  const isShown = useRef(true);
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
    };
  }, []);
  return useCallback(() => isShown.current, []);
}
