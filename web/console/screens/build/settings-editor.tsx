import type { Question, QuestionSettings } from '../../data/questions.ts';
import { Checkbox } from '../../parts/choice-fields.tsx';
import { ListField } from '../../parts/list-field.tsx';
import { DateField, NumberField, TextField } from '../../parts/text-fields.tsx';
import styles from './build.module.css';
import { type Setting, typeOf } from './question-types.ts';

interface SettingsEditorProps {
  question: Question;
  onChange(settings: QuestionSettings): void;
  isReadOnly: boolean;
  problemOf(path: string): string | undefined;
}

/** The settings of a question's type. */
export function SettingsEditor({ question, onChange, isReadOnly, problemOf }: SettingsEditorProps) {
  const { settings } = typeOf(question.type);
  if (settings.length === 0) return null;
  const set = (name: string, value: unknown) => onChange({ ...question.settings, [name]: value });
  return (
    <section className={styles.part} aria-label="Settings">
      <h3>Settings</h3>
      <div className={styles.settings}>
        {settings.map((setting) => (
          <SettingField
            key={setting.name}
            setting={setting}
            value={question.settings[setting.name]}
            onChange={(value) => set(setting.name, value)}
            isDisabled={isReadOnly}
            error={problemOf(`settings.${setting.name}`)}
          />
        ))}
      </div>
    </section>
  );
}

interface SettingFieldProps {
  setting: Setting;
  value: unknown;
  onChange(value: unknown): void;
  isDisabled: boolean;
  error: string | undefined;
}

const bytesPerMegabyte = 1024 * 1024;

function SettingField({ setting, value, onChange, isDisabled, error }: SettingFieldProps) {
  const { label } = setting;
  const text = typeof value === 'string' ? value : '';
  const hint = 'hint' in setting ? setting.hint : undefined;
  switch (setting.kind) {
    case 'flag':
      return (
        <div className={styles.wide}>
          <Checkbox isSelected={value === true} onChange={onChange} isDisabled={isDisabled}>
            <span>
              {label}
              {hint !== undefined && <span className={styles.hint}>{hint}</span>}
            </span>
          </Checkbox>
        </div>
      );
    case 'number':
      return (
        <NumberField
          label={label}
          value={typeof value === 'number' ? value : (setting.initial ?? null)}
          onChange={(next) => onChange(next ?? undefined)}
          isDisabled={isDisabled}
          error={error}
          {...(setting.min !== undefined && { minValue: setting.min })}
          {...(setting.max !== undefined && { maxValue: setting.max })}
          {...(setting.isWhole && { step: 1 })}
        />
      );
    case 'megabytes':
      return (
        <NumberField
          label={label}
          hint={hint}
          value={typeof value === 'number' ? Number((value / bytesPerMegabyte).toPrecision(6)) : null}
          onChange={(next) => onChange(next === null ? undefined : Math.round(next * bytesPerMegabyte))}
          minValue={1 / bytesPerMegabyte}
          isDisabled={isDisabled}
          error={error}
        />
      );
    case 'date':
      return (
        <DateField
          label={label}
          value={text}
          onChange={(next) => onChange(next || undefined)}
          isDisabled={isDisabled}
          error={error}
        />
      );
    case 'mediaTypes':
      return (
        <ListField
          label={label}
          hint={hint}
          value={Array.isArray(value) ? value : []}
          onChange={(next) => onChange(next.length > 0 ? next : undefined)}
          isDisabled={isDisabled}
          error={error}
        />
      );
    default:
      return (
        <TextField
          label={label}
          hint={setting.kind === 'time' ? 'Such as 08:30.' : hint}
          value={text}
          onChange={(next) => onChange(next || undefined)}
          isDisabled={isDisabled}
          error={error}
        />
      );
  }
}
