import { useRouter } from '@tanstack/react-router';
import { useCallback, useEffect, useRef, useState } from 'react';

/**
 * Tells whether the component is still shown and the address still that of its view: a call that ends after the view
 * was left leads nobody back there. While the next view is being loaded the component is there, and the address is not.
 */
export function useIsShown(): () => boolean {
  const router = useRouter();
  const [pathname] = useState(() => router.latestLocation.pathname);
  const isThere = useRef(true);
  useEffect(() => {
    isThere.current = true;
    return () => {
      isThere.current = false;
    };
  }, []);
  return useCallback(() => isThere.current && router.latestLocation.pathname === pathname, [router, pathname]);
}
