import { Braces } from 'lucide-react';
import { useRef } from 'react';
import type { Definition } from '../../data/questions.ts';
import { IconButton } from '../../parts/button.tsx';
import { Menu, MenuItem } from '../../parts/menu.tsx';
import { short } from '../../parts/short.ts';
import { TextArea } from '../../parts/text-fields.tsx';
import styles from './build.module.css';
import { questionsBefore } from './logic-words.ts';

interface WordingFieldProps {
  label: string;
  survey: Definition;
  /** The question, section or survey that the text belongs to: it may name earlier questions only. */
  before: string;
  value: string;
  onChange(text: string): void;
  isReadOnly: boolean;
  maxLength: number;
  error: string | undefined;
}

/** A text that respondents see, with a menu of what can be inserted into it. */
export function WordingField({ survey, before, onChange, isReadOnly, ...field }: WordingFieldProps) {
  const root = useRef<HTMLDivElement>(null);
  const earlier = isReadOnly ? [] : questionsBefore(survey, before).filter(({ type }) => type !== 'FILE_UPLOAD');
  const insert = (placeholder: string) => {
    const area = root.current?.querySelector('textarea');
    const at = area?.selectionStart ?? field.value.length;
    onChange(`${field.value.slice(0, at)}${placeholder}${field.value.slice(area?.selectionEnd ?? at)}`);
    // After the menu has given the focus back to its button.
    requestAnimationFrame(() => requestAnimationFrame(() => area?.focus()));
  };
  return (
    <div ref={root} className={styles.wording}>
      <TextArea {...field} onChange={onChange} isReadOnly={isReadOnly} rows={2} dir="auto" />
      {!isReadOnly && (
        <span className={styles.insert}>
          <Menu
            label={`Insert into ${field.label}`}
            button={<IconButton label={`Insert into ${field.label}`} icon={<Braces aria-hidden />} />}
          >
            {earlier.flatMap(({ id, text, settings }) =>
              settings.rows
                ? settings.rows.map((row) => (
                    <MenuItem
                      key={`${id} ${row.id}`}
                      onAction={() => insert(`{{question:${id}:row:${row.id}|…}}`)}
                    >{`Answer to “${short(text)}”: ${short(row.text)}`}</MenuItem>
                  ))
                : [
                    <MenuItem key={id} onAction={() => insert(`{{question:${id}|…}}`)}>
                      {`Answer to “${short(text)}”`}
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
