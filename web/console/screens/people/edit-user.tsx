import { useState } from 'react';
import { useUser } from '../../app/session-state.tsx';
import { changeUser, type Role, type User } from '../../data/users.ts';
import { RadioGroup } from '../../parts/choice-fields.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Form, FormActions } from '../../parts/form.tsx';
import { NumberField, TextField } from '../../parts/text-fields.tsx';
import { useSubmit } from '../../parts/use-submit.ts';
import { roleOptions } from './roles.ts';

/** Address, role and the ceiling of API keys of a user. */
export function EditUser({ user, onClose }: { user: User; onClose(): void }) {
  const isMe = useUser()?.id === user.id;
  const [email, setEmail] = useState(user.email);
  const [role, setRole] = useState(user.role);
  const [ceiling, setCeiling] = useState(user.apiKeyRequestsPerMinute);
  const { submit, isPending, problem, errorOf } = useSubmit(async () => {
    await changeUser(user.id, {
      ...(email.trim() !== user.email && { email: email.trim() }),
      ...(role !== user.role && { role }),
      ...(ceiling !== user.apiKeyRequestsPerMinute && { apiKeyRequestsPerMinute: ceiling }),
    });
    onClose();
  });
  return (
    <Dialog title={`Change ${user.email}`} isOpen onClose={onClose}>
      <Form onSubmit={submit}>
        <TextField
          label="E-mail"
          type="email"
          autoComplete="off"
          value={email}
          onChange={setEmail}
          error={errorOf('email')}
        />
        <RadioGroup
          label="Role"
          options={roleOptions}
          value={role}
          onChange={(next: Role) => setRole(next)}
          error={errorOf('role')}
          isDisabled={isMe}
          {...(isMe && { hint: 'Another ADMIN can change your own role.' })}
        />
        <NumberField
          label="API calls a minute"
          value={ceiling}
          onChange={setCeiling}
          minValue={1}
          maxValue={1_000_000}
          error={errorOf('apiKeyRequestsPerMinute')}
          hint="Of all keys of the user together. Empty: the ceiling of the service."
        />
        <FormActions action="Save" problem={problem} isPending={isPending} onCancel={onClose} />
      </Form>
    </Dialog>
  );
}
