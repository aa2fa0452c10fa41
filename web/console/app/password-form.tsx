import { type ReactNode, useState } from 'react';
import { changePassword, shortestPassword } from '../data/account.ts';
import { Button } from '../parts/button.tsx';
import { Checkbox } from '../parts/choice-fields.tsx';
import { FormError } from '../parts/feedback.tsx';
import { TextField } from '../parts/text-fields.tsx';
import { type FieldErrors, useSubmit } from '../parts/use-submit.ts';
import styles from './password-form.module.css';
import { toast } from './toasts.tsx';

interface PasswordFormProps {
  email: string;
  /** Somebody else chose the present password. */
  isFirst?: boolean;
  /** Beside the main button. */
  children?: ReactNode;
}

const empty = { current: '', next: '', repeated: '' };

/** Asks for the present password and a new one, twice. */
export function PasswordForm({ email, isFirst = false, children }: PasswordFormProps) {
  const [typed, setTyped] = useState(empty);
  const [keepsKeys, setKeepsKeys] = useState(isFirst);
  const set = (name: keyof typeof empty) => (value: string) => setTyped((old) => ({ ...old, [name]: value }));
  const { submit, isPending, problem, errorOf } = useSubmit(
    async () => {
      await changePassword({ currentPassword: typed.current, newPassword: typed.next, keepApiKeys: keepsKeys });
      setTyped(empty);
      toast({ text: 'Your password is changed. Your other sessions have ended.' });
    },
    () => check(typed),
  );
  return (
    <form className={styles.form} onSubmit={(event) => void submit(event)} noValidate>
      {/* Password managers read whose password it is. */}
      <input type="hidden" name="email" autoComplete="username" value={email} readOnly />
      <TextField
        label={isFirst ? 'Password that you were given' : 'Present password'}
        type="password"
        autoComplete="current-password"
        value={typed.current}
        onChange={set('current')}
        error={errorOf('currentPassword')}
        autoFocus={isFirst}
      />
      <TextField
        label="New password"
        type="password"
        autoComplete="new-password"
        value={typed.next}
        onChange={set('next')}
        error={errorOf('newPassword')}
        hint={`At least ${shortestPassword} characters. Several words are easy to remember and hard to guess.`}
      />
      <TextField
        label="New password again"
        type="password"
        autoComplete="new-password"
        value={typed.repeated}
        onChange={set('repeated')}
        error={errorOf('repeated')}
      />
      {!isFirst && (
        <Checkbox isSelected={keepsKeys} onChange={setKeepsKeys}>
          Keep my API keys. Otherwise they are deleted, as they must be if somebody else knew the password.
        </Checkbox>
      )}
      {problem !== undefined && <FormError>{problem}</FormError>}
      <div className={styles.actions}>
        {children}
        <Button type="submit" look="primary" isPending={isPending}>
          {isFirst ? 'Set the password' : 'Change the password'}
        </Button>
      </div>
    </form>
  );
}

function check({ current, next, repeated }: typeof empty): FieldErrors {
  return {
    currentPassword: current === '' ? 'Please enter it.' : undefined,
    newPassword: next.length < shortestPassword ? `At least ${shortestPassword} characters.` : undefined,
    repeated: next === repeated ? undefined : 'This is not the same.',
  };
}
