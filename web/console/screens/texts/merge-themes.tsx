import { useEffect, useRef, useState } from 'react';
import type { Found } from '../../data/open-answers.ts';
import { CheckboxGroup } from '../../parts/choice-fields.tsx';
import { Form, FormActions } from '../../parts/form.tsx';
import { formatCount } from '../../parts/format.ts';
import { TextField } from '../../parts/text-fields.tsx';
import { useSubmit } from '../../parts/use-submit.ts';
import styles from './texts.module.css';

interface MergeThemesProps {
  themes: readonly Found[];
  /** The theme that is chosen at first. */
  first: string | undefined;
  onMerge(themes: readonly string[], name: string): Promise<void>;
  onCancel(): void;
}

/** Themes to choose, and the name that those chosen get. */
export function MergeThemes({ themes, first, onMerge, onCancel }: MergeThemesProps) {
  const [chosen, setChosen] = useState<readonly string[]>(first === undefined ? [] : [first]);
  const [typed, setTyped] = useState<string>();
  const choices = useRef<HTMLDivElement>(null);
  // The button that led here is gone.
  useEffect(() => choices.current?.querySelector<HTMLElement>('input:checked')?.focus(), []);
  // The most frequent one gives its name unless another is typed.
  const most = themes.find(({ value }) => chosen.includes(value))?.value ?? '';
  const name = typed ?? most;
  const { submit, isPending, problem, errorOf } = useSubmit(
    () => onMerge(chosen, name.trim()),
    () => ({ name: name.trim() === '' ? 'Please enter a name.' : undefined }),
  );
  const error = errorOf('name') ?? errorOf('names.0.name');
  return (
    <Form onSubmit={submit}>
      <div ref={choices} className={styles.choices}>
        <CheckboxGroup
          label="Themes to merge"
          options={themes.map(({ value, count: amount }) => ({ value, label: `${value} (${formatCount(amount)})` }))}
          value={chosen}
          onChange={setChosen}
        />
      </div>
      <TextField label="Name" maxLength={100} value={name} onChange={setTyped} error={error} />
      <FormActions
        action={chosen.length < 2 ? 'Merge' : `Merge ${chosen.length} themes`}
        problem={problem}
        isPending={isPending}
        isDisabled={chosen.length < 2}
        onCancel={onCancel}
      />
    </Form>
  );
}
