import { ImageUp } from 'lucide-react';
import { useState } from 'react';
import { problemText } from '../../data/problems.ts';
import { removeLogo, setLogo } from '../../data/survey-files.ts';
import type { SurveyWithQuestions } from '../../data/surveys.ts';
import { Button } from '../../parts/button.tsx';
import { FormError } from '../../parts/feedback.tsx';
import { FileButton } from '../../parts/file-button.tsx';
import { Card } from '../../parts/page.tsx';
import styles from './settings.module.css';

export interface CardProps {
  survey: SurveyWithQuestions;
  isReadOnly: boolean;
}

/** The picture above a survey; it is changed at once. */
export function LogoCard({ survey: { id, appearance }, isReadOnly }: CardProps) {
  const { logo } = appearance;
  const [isPending, setPending] = useState(false);
  const [problem, setProblem] = useState<string>();
  const run = async (action: Promise<void>) => {
    setPending(true);
    setProblem(undefined);
    try {
      await action;
    } catch (error) {
      const { text, details } = problemText(error);
      setProblem([text, ...details.map(({ message }) => message)].join(' '));
    } finally {
      setPending(false);
    }
  };
  return (
    <Card title="Logo">
      <div className={styles.logo}>
        <div className={styles.picture}>
          {logo ? <img src={logo.url} alt={`Logo, ${logo.width} × ${logo.height} pixels`} /> : 'No logo'}
        </div>
        {!isReadOnly && (
          <>
            <FileButton
              accept={['image/png', 'image/jpeg', 'image/webp']}
              icon={<ImageUp aria-hidden />}
              isPending={isPending}
              onFile={(file) => void run(setLogo(id, file))}
            >
              {logo ? 'Replace' : 'Choose a picture'}
            </FileButton>
            {logo && (
              <Button look="quiet" isDisabled={isPending} onPress={() => void run(removeLogo(id))}>
                Remove
              </Button>
            )}
            <span className="muted">PNG, JPEG or WebP of at most 256 KiB.</span>
          </>
        )}
      </div>
      {problem !== undefined && <FormError>{problem}</FormError>}
    </Card>
  );
}
