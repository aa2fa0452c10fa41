import { useState } from 'react';
import { Button } from '../../parts/button.tsx';
import { FormError } from '../../parts/feedback.tsx';
import { TextField } from '../../parts/text-fields.tsx';
import { useSubmit } from '../../parts/use-submit.ts';
import styles from './texts.module.css';

interface RenameThemeProps {
  theme: string;
  /** The names of all themes. */
  names: readonly string[];
  onRename(name: string): Promise<void>;
  onCancel(): void;
}

/** The name of a theme as a field, in its place. */
export function RenameTheme({ theme, names, onRename, onCancel }: RenameThemeProps) {
  const [name, setName] = useState(theme);
  const wanted = name.trim();
  const { submit, isPending, problem, errorOf } = useSubmit(
    async () => (wanted === theme ? onCancel() : onRename(wanted)),
    () => ({ name: wanted === '' ? 'Please enter a name.' : undefined }),
  );
  const other = names.find((known) => known !== theme && known.toLowerCase() === wanted.toLowerCase());
  const error = errorOf('name') ?? errorOf('names.0.name');
  return (
    <form
      className={styles.rename}
      noValidate
      onSubmit={(event) => void submit(event)}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !event.nativeEvent.isComposing) onCancel();
      }}
    >
      <TextField
        label={`New name of ${theme}`}
        isLabelHidden
        autoFocus
        maxLength={100}
        value={name}
        onChange={setName}
        error={error}
        hint={other === undefined ? undefined : 'There is a theme of this name: both become one.'}
      />
      {problem !== undefined && <FormError>{problem}</FormError>}
      <div className={styles.renameActions}>
        <Button onPress={onCancel}>Cancel</Button>
        <Button type="submit" look="primary" isPending={isPending}>
          {other === undefined ? 'Rename' : 'Merge'}
        </Button>
      </div>
    </form>
  );
}
