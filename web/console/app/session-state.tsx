import { useQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useState } from 'react';
import { SurveyApiError } from '../data/api.ts';
import { type CurrentUser, meQuery } from '../data/me.ts';
import { queryClient } from '../data/query-client.ts';
import { hasSessionEnded, onSessionEnd, signOut } from './session.ts';
import { endUnsaved } from './unsaved.ts';

interface SessionState {
  user: CurrentUser | undefined;
  /** The session ended while a view was open: a dialog asks for the password and the view stays. */
  isExpired: boolean;
  /** After a sign-in. */
  renew(): void;
  /** Signs out, here or in all browsers. Where that fails it throws, and the session goes on. */
  leave(isEverywhere?: boolean): Promise<void>;
  /** The user is not known yet. */
  isLoading: boolean;
  /** Why the user could not be read. One that was read before stays. */
  error: unknown;
  readAgain(): void;
}

const Context = createContext<SessionState | undefined>(undefined);

/** Keeps the signed-in user for the views below it. */
export function SessionProvider({ children }: { children: ReactNode }) {
  const [isExpired, setExpired] = useState(false);
  const { data: user, isLoading, error, refetch } = useQuery(meQuery());
  const isLeaving = useRef(false);
  const router = useRouter();
  useEffect(() => onSessionEnd(() => setExpired(!isLeaving.current)), []);
  const state = useMemo(() => {
    const leave = async (isEverywhere = false) => {
      isLeaving.current = true;
      try {
        await endUnsaved();
        await signOut(isEverywhere);
      } catch (error) {
        isLeaving.current = false;
        // It may have ended elsewhere, and been noticed before the call that failed.
        if (hasSessionEnded() || (error instanceof SurveyApiError && error.status === 401)) setExpired(true);
        throw error;
      }
      await router.navigate({ to: '/sign-in' });
      queryClient.clear();
    };
    const readAgain = () => void refetch();
    return { user, isLoading, error, readAgain, isExpired, renew: () => setExpired(false), leave };
  }, [user, isLoading, error, refetch, isExpired, router]);
  return <Context value={state}>{children}</Context>;
}

export function useSession(): SessionState {
  const state = useContext(Context);
  if (!state) throw new Error('useSession needs a SessionProvider above it');
  return state;
}

/** The signed-in user; undefined until it is known. */
export const useUser = (): CurrentUser | undefined => useSession().user;
