import { queryClient } from '../data/query-client.ts';
import { Dialog } from '../parts/dialog.tsx';
import { SignInForm } from '../screens/sign-in/sign-in-form.tsx';
import { useSession } from './session-state.tsx';

/** The session ended: sign in over the view, which keeps what was typed. */
export function SignInAgain() {
  const { user, renew } = useSession();
  const goOn = async () => {
    renew();
    await queryClient.invalidateQueries();
  };
  return (
    <Dialog title="Your session has ended" isOpen isDismissable={false} onClose={() => undefined}>
      <p>Sign in again to go on. What you have typed stays.</p>
      <SignInForm email={user?.email} onSignedIn={goOn} />
    </Dialog>
  );
}
