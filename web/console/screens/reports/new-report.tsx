import { useState } from 'react';
import { languageName } from '../../../../src/domain/translation/language-name.ts';
import { AiProblem } from '../../app/ai-problem.tsx';
import { AiProviderSelect } from '../../app/ai-provider-select.tsx';
import { useIsShown } from '../../app/use-is-shown.ts';
import type { AiProviderName } from '../../data/ai-jobs.ts';
import { createReport } from '../../data/reports.ts';
import type { SurveyWithQuestions } from '../../data/surveys.ts';
import { Button } from '../../parts/button.tsx';
import { ComboBox, Switch } from '../../parts/choice-fields.tsx';
import { Dialog, DialogActions } from '../../parts/dialog.tsx';
import { ProgressBar } from '../../parts/feedback.tsx';
import styles from './reports.module.css';

/** The languages in which the PDF file has words of its own; a report can be asked for in others over the API. */
const languages = ['ar', 'de', 'en', 'es', 'fr', 'he', 'it', 'ja', 'ko', 'nl', 'pl', 'pt', 'ru', 'zh-Hans', 'zh-Hant'];

interface NewReportProps {
  survey: SurveyWithQuestions;
  onClose(): void;
  onWritten(reportId: string): void;
}

/** Asks for a report. It goes on in the tray when the dialog is closed. */
export function NewReport({ survey, onClose, onWritten }: NewReportProps) {
  const [provider, setProvider] = useState<AiProviderName>();
  const [language, setLanguage] = useState(survey.language);
  const [includeRecommendations, setRecommendations] = useState(true);
  const [isPending, setPending] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const isShown = useIsShown();

  const ask = async () => {
    setPending(true);
    setFailure(undefined);
    try {
      const { reportId } = await createReport(survey.id, survey.title, { includeRecommendations, language, provider });
      if (!isShown()) return;
      onWritten(reportId);
      onClose();
    } catch (error) {
      setFailure(error);
      setPending(false);
    }
  };
  const offered = languages.includes(survey.language) ? languages : [survey.language, ...languages];
  return (
    <Dialog title="New report" isOpen onClose={onClose}>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (!isPending) void ask();
        }}
      >
        <AiProviderSelect value={provider} onChange={setProvider} isDisabled={isPending} />
        <ComboBox
          label="Language"
          options={offered.map((value) => ({ value, label: languageName(value) }))}
          value={language}
          onChange={(next) => next !== null && setLanguage(next)}
          isDisabled={isPending}
        />
        <Switch isSelected={includeRecommendations} onChange={setRecommendations} isDisabled={isPending}>
          With recommendations
        </Switch>
        <p className={styles.muted}>
          The provider receives counts and, if they were analysed, themes of open answers; never single answers.
        </p>
        {isPending && <ProgressBar label="The report is being written" />}
        {failure !== undefined && <AiProblem error={failure} />}
        <DialogActions>
          <Button onPress={onClose}>{isPending ? 'Go on in the background' : 'Cancel'}</Button>
          <Button type="submit" look="primary" isPending={isPending}>
            {isPending ? 'Writing …' : 'Write the report'}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
