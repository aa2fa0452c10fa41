import { Link, Outlet, useLocation, useRouter } from '@tanstack/react-router';
import { Command as CommandIcon } from 'lucide-react';
import { lazy, Suspense, useCallback, useEffect, useState, useSyncExternalStore } from 'react';
import { Button } from '../parts/button.tsx';
import { ErrorState, Loading } from '../parts/feedback.tsx';
import { focusIfLost } from '../parts/focus.ts';
import { Page } from '../parts/page.tsx';
import { useStandIn } from '../parts/use-stand-in.ts';
import { DialogLoading, listenForKeys, useKey } from './keys.tsx';
import { placesOf } from './navigation.ts';
import notices from './notices.module.css';
import { SessionProvider, useSession, useUser } from './session-state.tsx';
import styles from './shell.module.css';
import { Toasts } from './toasts.tsx';
import { Tray } from './tray.tsx';
import { useCurrentInView } from './use-current-in-view.ts';
import { UserMenuButton } from './user-menu-button.tsx';

const UserMenu = lazy(async () => ({ default: (await import('./user-menu.tsx')).UserMenu }));
const CommandPalette = lazy(async () => ({ default: (await import('./command-palette.tsx')).CommandPalette }));
const KeyList = lazy(async () => ({ default: (await import('./key-list.tsx')).KeyList }));
const FirstPassword = lazy(async () => ({ default: (await import('./first-password.tsx')).FirstPassword }));
const SignInAgain = lazy(async () => ({ default: (await import('./sign-in-again.tsx')).SignInAgain }));

/** The frame of every view behind the sign-in. */
export function Shell() {
  return (
    <SessionProvider>
      <Frame />
    </SessionProvider>
  );
}

function Frame() {
  const [open, setOpen] = useState<'commands' | 'keys'>();
  const { isExpired, isLoading, user, error, readAgain } = useSession();
  useEffect(listenForKeys, []);
  useFocusAfterNavigation();
  useKey(
    '?',
    'List the keys',
    useCallback(() => setOpen('keys'), []),
  );
  useKey(
    'Mod+k',
    'Go anywhere',
    useCallback(() => setOpen('commands'), []),
  );
  useKey('/', 'Search in this view', focusSearch);
  if (user?.mustChangePassword)
    return (
      <Suspense fallback={<Loading />}>
        <FirstPassword />
        {isExpired && <SignInAgain />}
      </Suspense>
    );
  return (
    <div className={styles.frame}>
      <a className={styles.skip} href="#content">
        Skip to the content
      </a>
      <SideNavigation onCommands={() => setOpen('commands')} onListKeys={() => setOpen('keys')} />
      <main id="content" aria-labelledby="view-title" className={styles.main} tabIndex={-1}>
        <OfflineBanner />
        {error && !user ? (
          <Page title="Console">
            <ErrorState error={error} onRetry={readAgain} />
          </Page>
        ) : isLoading ? (
          <Loading />
        ) : (
          <Outlet />
        )}
      </main>
      <Toasts />
      <Suspense fallback={<DialogLoading />}>
        {open === 'commands' && <CommandPalette onClose={() => setOpen(undefined)} />}
        {open === 'keys' && <KeyList onClose={() => setOpen(undefined)} />}
        {isExpired && <SignInAgain />}
      </Suspense>
    </div>
  );
}

/** The content takes the focus that was on something of the view before. The first view leaves it at the top. */
function useFocusAfterNavigation(): void {
  const router = useRouter();
  useEffect(
    () =>
      router.subscribe('onRendered', ({ fromLocation, pathChanged }) => {
        if (fromLocation && pathChanged) focusIfLost();
      }),
    [router],
  );
}

const focusSearch = () => document.querySelector<HTMLInputElement>('[data-main-search]')?.focus();

function SideNavigation({ onCommands, onListKeys }: { onCommands(): void; onListKeys(): void }) {
  const user = useUser();
  const { pathname } = useLocation();
  const { early, handlers } = useStandIn();
  const places = placesOf(user);
  const navigation = useCurrentInView(pathname, places.length);
  return (
    <div className={styles.side}>
      <nav ref={navigation} aria-label="Console" className={styles.places}>
        {places.map(({ title, path, icon: Icon }) => (
          <Link key={path} to={path} aria-current={pathname.startsWith(path) ? 'page' : undefined}>
            <Icon aria-hidden />
            {title}
          </Link>
        ))}
      </nav>
      <Tray />
      <Button look="quiet" icon={<CommandIcon aria-hidden />} onPress={onCommands}>
        Go to …
      </Button>
      <Suspense fallback={<UserMenuButton handlers={handlers} />}>
        <UserMenu early={early} onListKeys={onListKeys} />
      </Suspense>
    </div>
  );
}

function subscribeToNetwork(listener: () => void): () => void {
  addEventListener('online', listener);
  addEventListener('offline', listener);
  return () => {
    removeEventListener('online', listener);
    removeEventListener('offline', listener);
  };
}

function OfflineBanner() {
  const isOnline = useSyncExternalStore(subscribeToNetwork, () => navigator.onLine);
  if (isOnline) return null;
  return (
    <p className={notices.banner} role="status">
      There is no network. What you see may be out of date, and changes cannot be saved at the moment.
    </p>
  );
}
