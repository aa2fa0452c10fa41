import { type FormEvent, useRef, useState } from 'react';
import { type ProblemText, problemText, sentence } from '../data/problems.ts';

/** What is wrong with fields, by the path of the field. */
export type FieldErrors = Readonly<Record<string, string | undefined>>;

export interface Submission {
  /** For `onSubmit` of a form, or a press. Resolves to whether it succeeded. */
  submit(event?: FormEvent): Promise<boolean>;
  isPending: boolean;
  /** What is wrong with the form as a whole, for a FormError. */
  problem: string | undefined;
  /** What is wrong with a field: by the check of the form, or by the service. */
  errorOf(path: string): string | undefined;
}

/**
 * The sending of a form. `check` runs before `action`, which is called only if it finds nothing; what `action` throws is
 * shown at the fields that the service names. What was typed stays whatever happens.
 */
export function useSubmit(action: () => Promise<unknown>, check?: () => FieldErrors): Submission {
  const [isPending, setPending] = useState(false);
  const [errors, setErrors] = useState<FieldErrors>({});
  const [failure, setFailure] = useState<ProblemText>();
  /** The paths of fields that the form shows. */
  const fields = useRef(new Set<string>());

  const submit = async (event?: FormEvent) => {
    event?.preventDefault();
    if (isPending) return false;
    const found = check?.() ?? {};
    setErrors(found);
    setFailure(undefined);
    if (hasErrors(found)) return false;
    setPending(true);
    try {
      await action();
      return true;
    } catch (error) {
      setFailure(problemText(error));
      return false;
    } finally {
      setPending(false);
    }
  };
  const errorOf = (path: string) => {
    fields.current.add(path);
    const detail = failure?.details.find((detail) => detail.path === path);
    return errors[path] ?? (detail && sentence(detail.message));
  };
  const { details = [], text } = failure ?? {};
  const isRefusedAtFields = details.length > 0 && details.every(({ path }) => fields.current.has(path));
  const isAtFields = hasErrors(errors) || isRefusedAtFields;
  return { submit, isPending, problem: isAtFields ? 'Please correct what is marked.' : text, errorOf };
}

const hasErrors = (errors: FieldErrors): boolean => Object.values(errors).some((error) => error !== undefined);
