import { getRouteApi, useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';
import styles from './sign-in.module.css';
import { SignInForm } from './sign-in-form.tsx';

const route = getRouteApi('/sign-in');

export function Screen() {
  const { next } = route.useSearch();
  const router = useRouter();
  useEffect(() => {
    document.title = 'Sign in · Surveys';
  }, []);
  const target = ownAddress(next) ?? '/surveys';
  return (
    <main className={styles.screen}>
      <div className={styles.card}>
        <h1>Sign in to Surveys</h1>
        <SignInForm onSignedIn={() => router.navigate({ href: target })} />
      </div>
    </main>
  );
}

/** The address if it is of this console: `//host`, `/\host` and a tab between the slashes would lead away from it. */
function ownAddress(next: string | undefined): string | undefined {
  if (!next?.startsWith('/') || !URL.canParse(next, location.origin)) return undefined;
  const { origin, pathname, search, hash } = new URL(next, location.origin);
  // `/.//host` is normalised to a path of two slashes.
  return origin === location.origin && !pathname.startsWith('//') ? pathname + search + hash : undefined;
}
