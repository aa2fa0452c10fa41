import { useState } from 'react';
import { useShownOnce } from '../../app/shown-once.ts';
import { changeUser, makePassword, type User } from '../../data/users.ts';
import { Checkbox } from '../../parts/choice-fields.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Form, FormActions } from '../../parts/form.tsx';
import { TextField } from '../../parts/text-fields.tsx';
import { useSubmit } from '../../parts/use-submit.ts';
import { HandOver } from './hand-over.tsx';

/** Gives a user who cannot sign in a new first password. */
export function SetPassword({ user, onClose }: { user: User; onClose(): void }) {
  const [password, setPassword] = useState(makePassword);
  const [keepApiKeys, setKeepApiKeys] = useState(false);
  const [isSet, setIsSet] = useState(false);
  const { submit, isPending, problem, errorOf } = useSubmit(async () => {
    await changeUser(user.id, { password, keepApiKeys });
    setIsSet(true);
  });
  useShownOnce(isPending);
  if (isSet) return <HandOver title="The password is set" email={user.email} password={password} onClose={onClose} />;
  return (
    <Dialog title={`Set a password of ${user.email}`} isOpen onClose={onClose} isDismissable={!isPending}>
      <Form onSubmit={submit}>
        <p>All sessions of the user end. The user is asked for another password at the next sign-in.</p>
        <TextField
          label="New password"
          autoComplete="off"
          value={password}
          onChange={setPassword}
          error={errorOf('password')}
        />
        <Checkbox isSelected={keepApiKeys} onChange={setKeepApiKeys}>
          Keep the API keys of the user. Otherwise they are deleted.
        </Checkbox>
        <FormActions action="Set the password" problem={problem} isPending={isPending} onCancel={onClose} />
      </Form>
    </Dialog>
  );
}
