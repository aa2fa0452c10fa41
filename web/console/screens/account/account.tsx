import { useRef, useState } from 'react';
import { PasswordForm } from '../../app/password-form.tsx';
import { useSession } from '../../app/session-state.tsx';
import { saveUnsaved, unsavedLosses } from '../../app/unsaved.ts';
import { UserError } from '../../data/problems.ts';
import { Button } from '../../parts/button.tsx';
import { ConfirmDialog } from '../../parts/dialog.tsx';
import { Loading } from '../../parts/feedback.tsx';
import { Card, Page } from '../../parts/page.tsx';
import styles from './account.module.css';

const roleTexts = {
  ADMIN: 'ADMIN: may do everything',
  EDITOR: 'EDITOR: makes surveys, and changes those that are shared for it',
  VIEWER: 'VIEWER: reads the surveys that are shared',
} as const;

const day = new Intl.DateTimeFormat('en', { dateStyle: 'long' });

/** The signed-in user: who it is, the password, and the sessions. */
export function Screen() {
  const { user, leave } = useSession();
  const [isLeaving, setLeaving] = useState(false);
  /** The user knows what is lost, and may sign out all the same. */
  const isWarned = useRef(false);
  const leaveEverywhere = async () => {
    if (!(await saveUnsaved()) && !isWarned.current) {
      isWarned.current = true;
      throw new UserError(`You are still signed in. ${unsavedLosses().join(' ')}`);
    }
    await leave(true);
  };
  return (
    <Page title="Account">
      {user ? (
        <div className={styles.cards}>
          <Card title="You">
            <dl className={styles.facts}>
              <dt>E-mail</dt>
              <dd>{user.email}</dd>
              <dt>Role</dt>
              <dd>{roleTexts[user.role]}</dd>
              <dt>Since</dt>
              <dd>{day.format(new Date(user.createdAt))}</dd>
            </dl>
          </Card>
          <Card title="Password">
            <PasswordForm email={user.email} />
          </Card>
          <Card title="Sessions">
            <p>
              Ends every session of yours, in all browsers and programs, this one too. API keys go on; they are under
              Keys.
            </p>
            <div>
              <Button look="danger" onPress={() => setLeaving(true)}>
                Sign out everywhere
              </Button>
            </div>
          </Card>
        </div>
      ) : (
        <Loading />
      )}
      <ConfirmDialog
        title="Sign out everywhere?"
        isOpen={isLeaving}
        onClose={() => {
          isWarned.current = false;
          setLeaving(false);
        }}
        action="Sign out everywhere"
        isDangerous
        onConfirm={leaveEverywhere}
      >
        Whoever has this console open with your account must sign in again. What was not saved there is lost.
      </ConfirmDialog>
    </Page>
  );
}
