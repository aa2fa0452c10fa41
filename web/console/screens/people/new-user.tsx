import { useState } from 'react';
import { useShownOnce } from '../../app/shown-once.ts';
import { createUser, makePassword, type Role } from '../../data/users.ts';
import { RadioGroup } from '../../parts/choice-fields.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Form, FormActions } from '../../parts/form.tsx';
import { TextField } from '../../parts/text-fields.tsx';
import { useSubmit } from '../../parts/use-submit.ts';
import { HandOver } from './hand-over.tsx';
import { roleOptions } from './roles.ts';

/** Makes a user with a password that is handed over, and shows both once. */
export function NewUser({ onClose }: { onClose(): void }) {
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('EDITOR');
  const [password, setPassword] = useState(makePassword);
  const [made, setMade] = useState<string>();
  const { submit, isPending, problem, errorOf } = useSubmit(
    async () => setMade((await createUser({ email: email.trim(), password, role })).email),
    () => ({ email: email.trim() === '' ? 'Please enter an address.' : undefined }),
  );
  useShownOnce(isPending);
  if (made !== undefined)
    return <HandOver title="The user is made" email={made} password={password} onClose={onClose} />;
  return (
    <Dialog title="New user" isOpen onClose={onClose} isDismissable={!isPending}>
      <Form onSubmit={submit}>
        <TextField
          label="E-mail"
          type="email"
          autoComplete="off"
          value={email}
          onChange={setEmail}
          error={errorOf('email')}
          autoFocus
        />
        <RadioGroup
          label="Role"
          options={roleOptions}
          value={role}
          onChange={(next: Role) => setRole(next)}
          error={errorOf('role')}
        />
        <TextField
          label="First password"
          autoComplete="off"
          value={password}
          onChange={setPassword}
          error={errorOf('password')}
          hint="The user is asked for another at the first sign-in."
        />
        <FormActions action="Create the user" problem={problem} isPending={isPending} onCancel={onClose} />
      </Form>
    </Dialog>
  );
}
