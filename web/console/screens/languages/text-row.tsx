import { languageName } from '../../../../src/domain/translation/language-name.ts';
import { cx } from '../../parts/cx.ts';
import { Badge } from '../../parts/feedback.tsx';
import { TextArea } from '../../parts/text-fields.tsx';
import styles from './languages.module.css';
import type { SourceText } from './texts.ts';

interface TextRowProps {
  source: SourceText;
  /** What the field is, for screen readers. */
  label: string;
  own: string;
  language: string;
  direction: 'ltr' | 'rtl';
  /** Another translation that is shown beside it. */
  second: string | undefined;
  secondText: string | undefined;
  value: string;
  onChange(value: string): void;
  /** The original has changed since, or the text is not saved yet. */
  state: 'stale' | 'changed' | undefined;
  isReadOnly: boolean;
  error: string | undefined;
}

/** One text: the original, perhaps another translation, and the field for this one. */
export function TextRow(props: TextRowProps) {
  const { source, label, own, language, direction, second, secondText, value, state, isReadOnly } = props;
  return (
    <div className={cx(styles.row, second !== undefined && styles.three)}>
      <div>
        <span className={styles.part}>{source.part}</span>
        <p lang={own} dir="auto" className={styles.text}>
          {source.text}
        </p>
      </div>
      {second !== undefined && (
        <div>
          <span className={styles.part}>{languageName(second)}</span>
          <p lang={second} dir="auto" className={styles.text}>
            {secondText ?? '—'}
          </p>
        </div>
      )}
      <div>
        <span className={styles.part}>
          {state === 'stale' && <Badge tone="error">Out of date: the original has changed</Badge>}
          {state === 'changed' && <Badge tone="accent">Not saved</Badge>}
          {state === undefined && value === '' && <Badge tone="warning">Missing</Badge>}
        </span>
        <div lang={language} dir={direction}>
          <TextArea
            label={label}
            isLabelHidden
            rows={source.text.length > 90 ? 3 : 1}
            value={value}
            onChange={props.onChange}
            isReadOnly={isReadOnly}
            error={props.error}
          />
        </div>
      </div>
    </div>
  );
}
