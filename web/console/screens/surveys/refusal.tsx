import { problemText } from '../../data/problems.ts';
import { FormError } from '../../parts/feedback.tsx';
import styles from './surveys.module.css';

/** Why the file was not taken, with every place that is wrong. */
export function Refusal({ error }: { error: unknown }) {
  const { text, details } = problemText(error);
  return (
    <>
      <FormError>{text}</FormError>
      {details.length > 1 && (
        <ul className={styles.issues} aria-label="What is wrong">
          {details.map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              <code>{path}</code> {message}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
