import { Braces } from 'lucide-react';
import { useRef } from 'react';
import { readable } from '../../../src/domain/path/placeholders.ts';
import type { Question } from '../data/questions.ts';
import { IconButton } from '../parts/button.tsx';
import { Menu, MenuItem } from '../parts/menu.tsx';
import { short } from '../parts/short.ts';
import { TextArea, TextField, type TextFieldProps } from '../parts/text-fields.tsx';
import { useTyped } from '../parts/use-typed.ts';
import styles from './wording-field.module.css';

interface WordingFieldProps {
  label: string;
  /** Questions whose answers it may name: those that come before it. */
  earlier: readonly Question[];
  value: string;
  onChange(text: string): void;
  isReadOnly: boolean;
  maxLength: number;
  error: string | undefined;
  hint?: string;
}

/**
 * What a field of a wording shows, and what it calls for each change. The service stores wordings without blanks around
 * them, and its reply must not take the blank away after which the author goes on.
 */
function useWording(value: string, onChange: (text: string) => void): [string, (text: string) => void] {
  const [shown, keepTyped] = useTyped(value, (typed) => typed.trim() === value.trim());
  return [
    shown,
    (text) => {
      keepTyped(text);
      onChange(text);
    },
  ];
}

/** One line of a wording. */
export function WordingLine({ value, onChange, ...field }: TextFieldProps) {
  const [shown, change] = useWording(value, onChange);
  return <TextField {...field} value={shown} onChange={change} />;
}

/** A text that respondents see, with a menu of what can be inserted into it. */
export function WordingField({ earlier, value, onChange, isReadOnly, ...field }: WordingFieldProps) {
  const [shown, change] = useWording(value, onChange);
  const root = useRef<HTMLDivElement>(null);
  const named = earlier.filter(({ type }) => type !== 'FILE_UPLOAD');
  const insert = (placeholder: string) => {
    const area = root.current?.querySelector('textarea');
    const at = area?.selectionStart ?? shown.length;
    change(`${shown.slice(0, at)}${placeholder}${shown.slice(area?.selectionEnd ?? at)}`);
    // After the menu has given the focus back to its button.
    requestAnimationFrame(() => requestAnimationFrame(() => area?.focus()));
  };
  return (
    <div ref={root} className={styles.wording}>
      <TextArea {...field} value={shown} onChange={change} isReadOnly={isReadOnly} rows={2} dir="auto" />
      {!isReadOnly && (
        <span className={styles.insert}>
          <Menu
            label={`Insert into ${field.label}`}
            button={<IconButton label={`Insert into ${field.label}`} icon={<Braces aria-hidden />} />}
          >
            {named.flatMap(({ id, text, settings }) =>
              settings.rows
                ? settings.rows.map((row) => (
                    <MenuItem
                      key={`${id} ${row.id}`}
                      onAction={() => insert(`{{question:${id}:row:${row.id}|…}}`)}
                    >{`Answer to “${short(readable(text))}”: ${short(readable(row.text))}`}</MenuItem>
                  ))
                : [
                    <MenuItem key={id} onAction={() => insert(`{{question:${id}|…}}`)}>
                      {`Answer to “${short(readable(text))}”`}
                    </MenuItem>,
                  ],
            )}
            <MenuItem onAction={() => insert('{{metadata:key|…}}')}>A value of the link</MenuItem>
            <MenuItem onAction={() => insert('{{invitation:key|…}}')}>A value of the invitation</MenuItem>
          </Menu>
        </span>
      )}
    </div>
  );
}
