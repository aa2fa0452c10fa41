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
  // Addresses of this console only: `//host` and `/\host` would lead away from it.
  const target = next !== undefined && /^\/(?![/\\])/.test(next) ? next : '/surveys';
  return (
    <main className={styles.screen}>
      <div className={styles.card}>
        <h1>Sign in to Surveys</h1>
        <SignInForm onSignedIn={() => router.navigate({ href: target })} />
      </div>
    </main>
  );
}
