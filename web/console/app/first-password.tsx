import { useEffect, useState } from 'react';
import { problemText } from '../data/problems.ts';
import { Button } from '../parts/button.tsx';
import { FormError } from '../parts/feedback.tsx';
import styles from './password-form.module.css';
import { PasswordForm } from './password-form.tsx';
import { useSession } from './session-state.tsx';
import { Toasts } from './toasts.tsx';

/** In place of the console while the password of the user is one that somebody else chose. */
export function FirstPassword() {
  const { user, leave } = useSession();
  /** Why the session could not be ended. */
  const [failure, setFailure] = useState<unknown>();
  const signOut = () => {
    setFailure(undefined);
    leave().catch(setFailure);
  };
  useEffect(() => {
    document.title = 'New password · Surveys';
  }, []);
  return (
    <main className={styles.screen}>
      <div className={styles.card}>
        <h1>Choose a password of your own</h1>
        <p className="muted">
          {user?.email} signed in with a password that somebody else chose. Only you should know it from now on.
        </p>
        <PasswordForm email={user?.email ?? ''} isFirst>
          <Button look="quiet" onPress={signOut}>
            Sign out
          </Button>
        </PasswordForm>
        {failure !== undefined && <FormError>{`You are still signed in. ${problemText(failure).text}`}</FormError>}
      </div>
      <Toasts />
    </main>
  );
}
