import { type FormEvent, useRef, useState } from 'react';
import { signIn } from '../../app/session.ts';
import { SurveyApiError } from '../../data/api.ts';
import { problemText } from '../../data/problems.ts';
import { Button } from '../../parts/button.tsx';
import { FormError } from '../../parts/feedback.tsx';
import { TextField } from '../../parts/text-fields.tsx';
import styles from './sign-in.module.css';

interface SignInFormProps {
  email?: string | undefined;
  onSignedIn(): unknown;
}

/** E-mail and password. A refusal never says which of them is wrong. */
export function SignInForm({ email: known = '', onSignedIn }: SignInFormProps) {
  const [email, setEmail] = useState(known);
  const [password, setPassword] = useState('');
  const [isPending, setPending] = useState(false);
  const [problem, setProblem] = useState<string>();
  const passwordInput = useRef<HTMLInputElement>(null);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (email.trim() === '' || password === '') {
      setProblem('Please enter your e-mail address and your password.');
      return;
    }
    setPending(true);
    setProblem(undefined);
    try {
      await signIn(email.trim(), password);
      await onSignedIn();
    } catch (error) {
      setProblem(refusal(error));
      passwordInput.current?.select();
    } finally {
      setPending(false);
    }
  };

  return (
    <form className={styles.form} onSubmit={(event) => void submit(event)} noValidate>
      <TextField
        label="E-mail"
        type="email"
        name="email"
        autoComplete="username"
        value={email}
        onChange={setEmail}
        autoFocus={known === ''}
      />
      <TextField
        label="Password"
        type="password"
        name="password"
        autoComplete="current-password"
        value={password}
        onChange={setPassword}
        autoFocus={known !== ''}
        inputRef={passwordInput}
      />
      {problem !== undefined && <FormError>{problem}</FormError>}
      <Button type="submit" look="primary" isPending={isPending}>
        Sign in
      </Button>
    </form>
  );
}

function refusal(error: unknown): string {
  const isRefused = error instanceof SurveyApiError && (error.status === 401 || error.status === 400);
  return isRefused ? 'E-mail or password is wrong.' : problemText(error).text;
}
