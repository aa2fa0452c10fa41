import { lostResponsesText, type SurveyListItem } from '../../data/surveys.ts';
import { ConfirmDialog } from '../../parts/dialog.tsx';

interface DeleteSurveyProps {
  survey: SurveyListItem;
  onDelete(): void;
  onClose(): void;
}

/** Asks before a survey with responses is deleted. */
export const DeleteSurvey = ({ survey: { title, responseCount }, onDelete, onClose }: DeleteSurveyProps) => (
  <ConfirmDialog
    title={`Delete “${title}”?`}
    isOpen
    onClose={onClose}
    action="Delete the survey"
    isDangerous
    onConfirm={async () => onDelete()}
  >
    {lostResponsesText(responseCount)}
  </ConfirmDialog>
);
